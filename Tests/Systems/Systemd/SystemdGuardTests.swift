// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("Units that use the bus", .timeLimit(.minutes(15)))
struct SystemdGuardTests {
  private let machine: Container

  init() throws {
    machine = try Container()
    try machine.copy(
      "systemd/examples/ask-first.conf", to: "/etc/systemd/system/job.service.d/ask-first.conf")
    try machine.write(
      unit: "job.service", "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo ran >>/var/lib/job'\n")
  }

  private var runs: Int {
    get throws {
      try machine.does("sh", "-c", "touch /var/lib/job; cat /var/lib/job").split(separator: "\n").count
    }
  }

  private func state(of unit: String = "job.service") throws -> [String] {
    try [machine.property("ActiveState", of: unit), machine.property("Result", of: unit)]
  }

  @Test("a unit that asks first is skipped on a veto, which the journal has, and starts without one")
  func vetoed() throws {
    let hold = try machine.staying(
      "hold", "unit.shouldStart", "--object=unit/job.service", "--why=a restore is running")
    try machine.does("systemctl", "start", "job.service")
    #expect(try runs == 0)
    // systemd forgets the unit's result, but the journal has it.
    try machine.waitForEntry("UNIT=job.service") { $0["UNIT_RESULT"] as? String == "exec-condition" }
    #expect(try state() == ["inactive", "success"])
    try machine.waitForMessage("a restore is running", of: "job.service")
    try machine.write(unit: "other.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n")
    try machine.copy(
      "systemd/examples/ask-first.conf", to: "/etc/systemd/system/other.service.d/ask-first.conf")
    try machine.does("systemctl", "start", "other.service")
    #expect(try state(of: "other.service") == ["inactive", "success"])
    hold.signal(SIGKILL)
    _ = try hold.output.rest()
    try machine.does("systemctl", "start", "job.service")
    #expect(try runs == 1)
    #expect(try state() == ["inactive", "success"])
  }

  @Test("a unit that asks first fails without a bus, and starts its OnFailure=, unless configured otherwise")
  func busGone() throws {
    try machine.write(unit: "alarm.service", "[Service]\nType=oneshot\nExecStart=/bin/touch /var/lib/alarm\n")
    try machine.write(unit: "job.service.d/alarm.conf", "[Unit]\nOnFailure=alarm.service\n")
    // The next client cannot start a masked unit.
    try machine.does("systemctl", "mask", "--now", "--runtime", "tribuned.socket", "tribuned.service")
    #expect(try machine.run("systemctl", "start", "job.service").status != 0)
    #expect(try runs == 0)
    #expect(try state() == ["failed", "exit-code"])
    #expect(try machine.property("ExecCondition", of: "job.service").contains("status=255"))
    try machine.waitForEntry("UNIT=alarm.service") { $0["JOB_RESULT"] as? String == "done" }
    try machine.does("test", "-e", "/var/lib/alarm")
    try machine.write(
      unit: "job.service.d/nevertheless.conf",
      "[Service]\nExecCondition=\nExecCondition=tribunectl ask unit.shouldStart --if-unreachable=allow\n")
    try machine.does("systemctl", "start", "job.service")
    #expect(try runs == 1)
  }

  @Test("a unit that is stopped while it waits is failed, unless it takes that for a success")
  func stopped() throws {
    let hold = try machine.staying("hold", "unit.shouldStart", "--why=a restore is running")
    for (index, (settings, expected)) in [
      ("Type=oneshot", ["failed", "signal"]), ("Type=simple", ["failed", "signal"]),
      ("Type=oneshot\nSuccessExitStatus=SIGTERM", ["inactive", "success"]),
    ].enumerated() {
      let unit = "waiter\(index).service"
      try machine.write(
        unit: unit,
        "[Service]\n\(settings)\nExecCondition=tribunectl ask unit.shouldStart --wait-until-allowed\n"
          + "ExecStart=/bin/touch /var/lib/job\n")
      try machine.does("systemctl", "start", "--no-block", unit)
      try machine.waitForMessage("waiting until", of: unit)
      try machine.does("systemctl", "stop", unit)
      #expect(try state(of: unit) == expected, "\(settings)")
    }
    #expect(try runs == 0)
    withExtendedLifetime(hold) {}
  }

  @Test("a unit that asks first at boot also asks the delegates in files")
  func boot() throws {
    let example = try Script.text(of: "systemd/examples/ask-first.conf")
    let machine = try Container(
      enabled: ["tribuned.service", "tribune-delegates.service", "early.service"],
      files: [
        "/etc/systemd/system/early.service": """
        [Service]
        Type=oneshot
        ExecStart=/bin/touch /var/lib/early
        [Install]
        WantedBy=multi-user.target

        """,
        "/etc/systemd/system/early.service.d/ask-first.conf": example,
        // Delays the delegates: a unit that does not wait for them asks too early.
        "/etc/systemd/system/tribune-delegates.service.d/late.conf": """
        [Service]
        ExecStartPre=/bin/sh -c 'while systemctl list-jobs --no-legend early.service | grep running; do :; done'

        """,
      ],
      programs: [
        "/etc/tribune/delegates.d/unit.shouldStart/50-maintenance":
          "#!/bin/sh\necho 'maintenance until noon'\nexit 1\n"
      ])
    try #require(try machine.run("test", "-e", "/var/lib/early").status == 1)
    try machine.waitForEntry("UNIT=early.service") { $0["UNIT_RESULT"] as? String == "exec-condition" }
    try machine.waitForMessage("maintenance until noon", of: "early.service")
  }

  @Test("the failure of a unit is posted and retained")
  func failure() throws {
    try machine.copy(
      "systemd/examples/tell-failure@.service", to: "/etc/systemd/system/tell-failure@.service")
    try machine.copy(
      "systemd/examples/tell-failure.conf", to: "/etc/systemd/system/broken.service.d/tell-failure.conf")
    try machine.write(unit: "broken.service", "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'exit 3'\n")
    let observer = try machine.staying("observe", "unit.didFail", "-j")
    #expect(try machine.run("systemctl", "start", "broken.service").status != 0)
    let line = try #require(try observer.output.line())
    for part in [
      #""name":"unit.didFail""#, #""object":"unit/broken.service""#, #""result":"exit-code""#,
      #""status":"3""#,
    ] { #expect(line.replacing(": ", with: ":").contains(part), "\(line)") }
    #expect(try machine.does("tribunectl", "list", "--retained").contains("unit/broken.service"))
  }

  @Test("a timer's job runs and is announced if allowed, and does not run on a veto")
  func timer() throws {
    for unit in ["nightly-prune.timer", "nightly-prune.service"] {
      try machine.copy("systemd/examples/\(unit)", to: "/etc/systemd/system/\(unit)")
    }
    try machine.write(
      "#!/bin/sh\necho \"$1\" >>/var/lib/pruned\n", to: "/usr/local/bin/prune-backups", mode: 0o755)
    try machine.write(
      unit: "nightly-prune.timer.d/now.conf",
      "[Timer]\nOnCalendar=\nRandomizedDelaySec=0\nOnActiveSec=0\nAccuracySec=1us\n")
    let observer = try machine.staying("observe", "backup.*", "-j")
    try machine.does("systemctl", "start", "nightly-prune.timer")
    for name in ["backup.willPrune", "backup.didPrune"] {
      #expect(try observer.output.line()?.contains("\"\(name)\"") == true)
    }
    #expect(try machine.read("/var/lib/pruned") == "/home\n")

    let hold = try machine.staying("hold", "backup.shouldPrune", "--why=a restore is running")
    try machine.does("systemctl", "start", "nightly-prune.service")
    #expect(try state(of: "nightly-prune.service") == ["inactive", "success"])
    #expect(try machine.read("/var/lib/pruned") == "/home\n")
    withExtendedLifetime(hold) {}
  }

  @Test("a drop-in lets the bus and its keeper have more connections")
  func moreConnections() throws {
    try machine.write("[Bus]\nConnectionsMax=50000\n", to: "/etc/tribune/tribuned.conf")
    let units = ["tribuned.service", "tribuned-keeper.service"]
    for unit in units {
      try machine.copy(
        "systemd/examples/more-connections.conf", to: "/etc/systemd/system/\(unit).d/more-connections.conf")
    }
    try machine.does("systemctl", "start", "tribuned.service")
    for unit in units { #expect(try machine.number("LimitNOFILE", of: unit) >= 50_000 + 1024) }
    let said = try machine.does("journalctl", "--unit=tribuned.service", "--output=cat")
    #expect(said.contains("listening on") && !said.contains("survive"), "\(said)")
  }
}
