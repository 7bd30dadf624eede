// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

@Suite("Shutdown under systemd", .timeLimit(.minutes(15)))
struct SystemdShutdownTests {
  /// Services that ask while they stop. None names the bus's units: they stop in systemd's default order.
  private static let askers = (1...8).map { "asker\($0).service" }
  private static let vetoed = askers[4...]

  private static func asking(_ unit: String) -> String {
    """
    [Service]
    Type=oneshot
    RemainAfterExit=yes
    ExecStart=/bin/true
    ExecStop=-/bin/sh -c 'tribunectl ask host.shouldPowerOff >/var/lib/\(unit) 2>&1; echo "status $?" >>/var/lib/\(unit)'

    """
  }

  @Test(
    "stopping the service or its socket dismisses the clients, and cancels their queries",
    arguments: ["tribuned.service", "tribuned.socket"])
  func stop(unit: String) throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let (asker, delegate) = (try RawClient.greeted(machine), try RawClient.greeted(machine))
    try delegate.attach(Attach(timeout: 60_000, patterns: ["a.shouldB"]), serial: 1)
    try asker.send(Ask(deadline: 60_000), serial: 1, name: "a.shouldB")
    _ = try delegate.nextQuestion()
    for restarted in ["tribuned.service", "tribuned.socket"] {
      try machine.does("systemctl", "restart", restarted)
      try asker.settle(serial: 2)
    }

    try machine.does("systemctl", "stop", unit)
    let (answers, words) = (try asker.readToEnd(), try delegate.readToEnd())
    #expect(answers.map(\.kind) == [.error])
    #expect(words.map(\.kind) == [.concluded, .error])
    #expect(try words.first?.decode(Concluded.self).conclusion == .cancelled)
    for frames in [answers, words] { #expect(try frames.last?.decode(Refusal.self).code == .shuttingDown) }
    #expect(try machine.property("ActiveState") == "inactive")
    #expect(try machine.property("Result") == "success")
  }

  @Test("services that ask while they stop get a verdict, and the bus stops after them, in order")
  func asksWhileStopping() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    for unit in Self.askers { try machine.write(Self.asking(unit), to: "/etc/systemd/system/\(unit)") }
    // This delegate stops after half of them, which vetoes their queries.
    try machine.write(
      """
      [Unit]
      Before=\(Self.vetoed.joined(separator: " "))
      [Service]
      Type=notify
      ExecStart=tribunectl delegate host.shouldPowerOff --veto=again --label=steward
      ExecStop=/bin/sh -c 'tribunectl ask host.shouldPowerOff >/var/lib/steward; true'

      """, to: "/etc/systemd/system/steward.service")
    try machine.does("systemctl", "daemon-reload")
    try machine.does(["systemctl", "start", "steward.service"] + Self.askers)

    #expect(try machine.powerOff(by: "systemctl", "poweroff") == 0)

    for unit in Self.askers {
      let answer = try machine.left("/var/lib/\(unit)")
      // The delegate may have stopped before the others asked; either verdict shows that the bus has answered.
      let isAllowed = !Self.vetoed.contains(unit) && answer.hasSuffix("status 0\n")
      #expect(isAllowed || answer.hasSuffix("status 1\n"), "\(unit): \(answer)")
      #expect(
        answer.hasPrefix("\(isAllowed ? "allowed" : "vetoed"): host.shouldPowerOff"), "\(unit): \(answer)")
    }
    #expect(try machine.left("/var/lib/steward").contains("again"))

    let stops = try machine.journalLeft(
      "MESSAGE_ID=de5b426a63be47a7b6ac3eaac82e2f6f", "MESSAGE_ID=9d1aaa27d60140bd96365438aad20286")
    func moment(_ unit: String, _ message: String) throws -> Int {
      let entry = try #require(
        stops.last {
          $0["UNIT"] as? String == unit && ($0["MESSAGE"] as? String)?.hasPrefix(message) == true
        },
        "\(message) \(unit) is not in the journal")
      return try #require(Int(entry["__MONOTONIC_TIMESTAMP"] as? String ?? ""))
    }
    let began = try moment("tribuned.service", "Stopping")
    for unit in Self.askers + ["steward.service"] { #expect(try moment(unit, "Stopped") <= began, "\(unit)") }
    #expect(try moment("tribuned.service", "Stopped") >= began)
    #expect(try moment("tribuned.socket", "Closed") >= began)
    for unit in ["tribuned.service", "tribuned-keeper.service"] {
      let last = try machine.journalLeft("UNIT=\(unit)").compactMap { $0["MESSAGE"] as? String }
      #expect(last.contains { $0.contains("Deactivated successfully") })
      #expect(
        !last.contains { $0.contains("Failed") || $0.contains("timed out") || $0.contains("Killing") },
        "\(last)")
    }
  }
}
