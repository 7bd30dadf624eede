// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("Users under systemd", .timeLimit(.minutes(15)))
struct SystemdUserTests {
  @Test(
    "a service with a dynamic user is a client like any other, listed with its unit, which is the label of its hold"
  )
  func dynamicUser() throws {
    let machine = try Container()
    let list = try machine.does(
      "systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--unit=visitor",
      "--property=DynamicUser=yes",
      "tribunectl", "-j", "list")
    #expect(list.contains("\"unit\":\"visitor.service\""), "\(list)")
    let object = try jsonObject(list)
    // systemd takes the uids of dynamic users from this range.
    #expect((61184...65519).contains(try #require(object["uid"] as? Int)))
    try machine.does(
      "systemd-run", "--quiet", "--unit=holder", "--property=Type=notify", "tribunectl", "hold", "a.shouldB",
      "--why=x")
    #expect(try machine.does("tribunectl", "holds", "-o", "{label}") == "holder.service")
  }

  @Test("a unit of a user's service manager does not pass for the system's unit of the same name")
  func sameUnit() throws {
    let machine = try Container(files: [
      "/etc/tribune/policy.d/backup.policy": """
      allow hold disk.** unit:backup.service
      allow delegate disk.shouldWipe user:*

      """,
      "/etc/tribune/tribuned.conf": "[Query \"disk.shouldWipe\"]\nRequireDelegate=unit:backup.service\n",
    ])
    let uid = try machine.addUser("tester")
    let run = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--unit=backup"]
    let hold = ["tribunectl", "--system", "hold", "disk.shouldPrune", "--why=x", "--", "true"]
    let delegate = ["tribunectl", "--system", "delegate", "--approve", "--label=backup", "disk.shouldWipe"]
    let ownHold = try machine.start(as: "tester", uid, run + ["--user"] + hold)
    #expect(
      try ownHold.errors.rest().contains("may not hold disk.shouldPrune: no line of the policy allows it"))
    try machine.does(run + ["--property=DynamicUser=yes"] + hold)

    func start(_ program: RunningProgram) throws -> RunningProgram {
      let line = try program.errors.line()
      try #require(line?.hasPrefix("attached ") == true, "\(line ?? "")")
      return program
    }
    let own = try start(machine.start(as: "tester", uid, run + ["--user"] + delegate))
    let missing = try machine.run("tribunectl", "ask", "disk.shouldWipe")
    #expect(missing.status == 1 && missing.output.contains("unit:backup.service"), "\(missing)")
    let right = try start(machine.start(run[0], run.dropFirst() + ["--property=DynamicUser=yes"] + delegate))
    try machine.does("tribunectl", "ask", "disk.shouldWipe")
    withExtendedLifetime((own, right)) {}
  }

  private func machineWithUser() throws -> (Container, uid: String) {
    let machine = try Container(enabled: [])
    let uid = try machine.addUser("tester")
    try machine.does(as: "tester", uid, "systemctl", "--user", "enable", "--now", "tribuned.socket")
    return (machine, uid)
  }

  @Test("a user's first client starts the user's own bus, which other users cannot reach")
  func ownBus() throws {
    let (machine, uid) = try machineWithUser()
    #expect(try machine.property("ActiveState", ofBusOf: "tester", uid) == "inactive")
    let status = try machine.does(as: "tester", uid, "tribunectl", "status")
    #expect(status.contains("unix:/run/user/\(uid)/tribune/bus"))
    #expect(try machine.does("stat", "--format=%U %a", "/run/user/\(uid)/tribune/bus") == "tester 600")
    let pid = try machine.property("MainPID", ofBusOf: "tester", uid)
    #expect(try machine.does("stat", "--format=%U", "/proc/\(pid)") == "tester")
    #expect(try machine.property("ActiveState") == "inactive")

    try machine.does("useradd", "stranger")
    let stranger = try machine.run(
      "runuser", "-u", "stranger", "--", "tribunectl", "--address=unix:/run/user/\(uid)/tribune/bus", "status"
    )
    #expect(stranger.status != 0)
    #expect(stranger.errors.contains("Permission denied"))
  }

  @Test("a user's bus has its own keeper, and returns with its clients after it was killed")
  func comesBack() throws {
    let (machine, uid) = try machineWithUser()
    func property(_ name: String) throws -> String { try machine.property(name, ofBusOf: "tester", uid) }
    try machine.does(as: "tester", uid, "systemctl", "--user", "start", "tribuned.service")
    #expect(try property("LimitNOFILE") == "32768")
    #expect(
      try machine.does("stat", "--format=%U %a", "/run/user/\(uid)/tribune-keeper/socket") == "tester 600")
    let observer = try machine.start(as: "tester", uid, "tribunectl", "--reconnect=0", "observe", "disk.*")
    #expect(try observer.errors.line()?.hasPrefix("observing ") == true)
    // Once the bus has served these, its keeper has the observer's connection.
    for _ in 0..<2 { try machine.does(as: "tester", uid, "tribunectl", "list") }
    let run = try property("InvocationID")
    try machine.does("kill", "-KILL", try property("MainPID"))
    try machine.does(as: "tester", uid, "tribunectl", "status")
    try machine.does(as: "tester", uid, "systemctl", "--user", "start", "tribuned.service")
    #expect(try property("InvocationID") != run)
    #expect(try property("ActiveState") == "active")
    try machine.does(as: "tester", uid, "tribunectl", "post", "disk.didMount")
    #expect(try observer.output.line()?.contains("disk.didMount") == true)
  }
}
