// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The bus of a user, and the system's bus for users that systemd makes up.
@Suite("Users under systemd", .timeLimit(.minutes(5)))
struct SystemdUserTests {
  @Test("a service with a dynamic user is a client like any other, and is known by its unit")
  func dynamicUser() throws {
    let machine = try Container()
    let list = try machine.does(
      "systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--unit=visitor",
      "--property=DynamicUser=yes",
      "tribunectl", "-j", "list")
    #expect(list.contains("\"unit\":\"visitor.service\""), "\(list)")
    let object = try jsonObject(list)
    // The ids that systemd takes dynamic users from.
    #expect((61184...65519).contains(try #require(object["uid"] as? Int)))
  }

  /// A machine with a user whose manager runs, and who has enabled a bus.
  private func machineWithUser() throws -> (Container, uid: String) {
    let machine = try Container(enabled: [])
    try machine.does("useradd", "--create-home", "tester")
    let uid = try machine.does("id", "--user", "tester")
    try machine.does("loginctl", "enable-linger", "tester")
    try machine.does("systemctl", "start", "user@\(uid).service")
    _ = try asTester(machine, uid, "systemctl", "--user", "enable", "--now", "tribuned.socket")
    return (machine, uid)
  }

  @discardableResult
  private func asTester(_ machine: Container, _ uid: String, _ command: String...) throws -> String {
    try machine.does(
      ["runuser", "-u", "tester", "--", "env", "XDG_RUNTIME_DIR=/run/user/\(uid)"] + command)
  }

  @Test("a user's first client starts the user's own bus, which is nobody else's")
  func ownBus() throws {
    let (machine, uid) = try machineWithUser()
    #expect(
      try asTester(machine, uid, "systemctl", "--user", "show", "-P", "ActiveState", "tribuned") == "inactive"
    )
    let status = try asTester(machine, uid, "tribunectl", "status")
    #expect(status.contains("unix:/run/user/\(uid)/tribune/bus"))
    #expect(try machine.does("stat", "--format=%U %a", "/run/user/\(uid)/tribune/bus") == "tester 600")
    let pid = try asTester(machine, uid, "systemctl", "--user", "show", "-P", "MainPID", "tribuned")
    #expect(try machine.does("stat", "--format=%U", "/proc/\(pid)") == "tester")
    // The system's bus is another, which was not started.
    #expect(try machine.property("ActiveState") == "inactive")

    try machine.does("useradd", "stranger")
    let stranger = try machine.run(
      "runuser", "-u", "stranger", "--", "tribunectl", "--address=unix:/run/user/\(uid)/tribune/bus", "status"
    )
    #expect(stranger.status != 0)
    #expect(stranger.errors.contains("Permission denied"))
  }

  @Test("a user's bus has a keeper of its own, and comes back with its clients when it is killed")
  func comesBack() throws {
    let (machine, uid) = try machineWithUser()
    func property(_ name: String) throws -> String {
      try asTester(machine, uid, "systemctl", "--user", "show", "-P", name, "tribuned.service")
    }
    try asTester(machine, uid, "systemctl", "--user", "start", "tribuned.service")
    #expect(try property("LimitNOFILE") == "32768")
    #expect(
      try machine.does("stat", "--format=%U %a", "/run/user/\(uid)/tribune-keeper/socket") == "tester 600")
    let observer = try machine.start(
      as: "tester", uid, "tribunectl", "--reconnect=0", "observe", "disk.*")
    #expect(try observer.errors.line()?.hasPrefix("observing ") == true)
    // What the bus has had from others since, its keeper has as well.
    for _ in 0..<2 { try asTester(machine, uid, "tribunectl", "list") }
    let run = try property("InvocationID")
    try machine.does("kill", "-KILL", try property("MainPID"))
    // It answers when it is back; and the manager knows, once it has.
    try asTester(machine, uid, "tribunectl", "status")
    try asTester(machine, uid, "systemctl", "--user", "start", "tribuned.service")
    #expect(try property("InvocationID") != run)
    #expect(try property("ActiveState") == "active")
    try asTester(machine, uid, "tribunectl", "post", "disk.didMount")
    #expect(try observer.output.line()?.contains("disk.didMount") == true)
  }
}
