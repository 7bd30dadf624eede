// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("tribunectl log of a bus without a journal", .timeLimit(.minutes(15)))
struct KeptVerdictsTests {
  private let bus: TestBus
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
    try folder.write(
      """
      allow ask,delegate,hold ** user:*
      deny list secret.** user:65534
      allow list ** user:*

      """, to: "etc/policy.d/all.policy")
    bus = try TestBus(folder: folder)
  }

  private func ask(_ name: String, _ options: String..., status: Int32) throws {
    let asked = try TestBus.tribunectl(["ask", name] + options, address: bus.address)
    #expect(asked.status == status)
  }

  private func names(_ arguments: String...) throws -> [String] {
    try TestBus.tribunectl(["log", "-j"] + arguments, address: bus.address).lines
      .map { try jsonObject($0)["name"] as? String ?? "" }
  }

  @Test("shows the bus's stored verdicts, selected as from a journal")
  func shown() throws {
    try bus.staying("hold", "backup.shouldPrune", "--why=a restore runs")
    try ask("backup.shouldPrune", "--object=repo", status: 1)
    try ask("backup.shouldPrune", "--dry-run", status: 1)
    try ask("a.shouldB", status: 0)
    try ask("a.shouldC", status: 0)

    let shown = try bus.tribunectl("log", "backup.*", environment: ["NO_COLOR": "1"])
    #expect(shown.lines.count == 2)
    #expect(shown.output.contains("vetoed: backup.shouldPrune repo  asked by tribunectl, pid"))
    #expect(shown.output.contains("a restore runs"))
    #expect(try names() == ["backup.shouldPrune", "a.shouldB", "a.shouldC"])
    #expect(try names("--vetoed") == ["backup.shouldPrune"])
    #expect(try names("--object=repo") == ["backup.shouldPrune"])
    #expect(try names("-n", "1") == ["a.shouldC"])
    #expect(try names("-n", "0").isEmpty)
    #expect(try names("--until=1h").isEmpty)
    #expect(try bus.tribunectl("log", "b.shouldC").output == "No verdicts.\n")
    #expect(try bus.tribunectl("log", "--summary").output.contains("backup.shouldPrune"))
  }

  @Test("prints further verdicts with --follow, in order")
  func followed() throws {
    let gate = try ShellGate()
    let program = try bus.start("log", "--follow", "-j")
    #expect(try program.errors.line() == "following the verdicts of the bus, on \(bus.address)")
    try bus.staying("delegate", "a.shouldB", "--exec", "sh", "-c", gate.wait)
    let slow = try bus.start("ask", "a.shouldB")
    try ask("a.shouldC", status: 0)
    #expect(try program.output.object()["name"] as? String == "a.shouldC")
    try gate.open()
    #expect(try program.output.object()["name"] as? String == "a.shouldB")
    #expect(slow.status() == 0)
    #expect(try bus.tribunectl("log", "b.*").output == "No verdicts.\n")
  }

  @Test("shows users their own questions, and those that they may list")
  func othersVerdicts() throws {
    let other = try OtherUser(65_534, on: bus.address, in: folder)
    try ask("secret.shouldA", status: 0)
    try ask("a.shouldB", status: 0)
    #expect(try other.tribunectl("ask", "secret.shouldC").status == 0)
    let seen = try other.tribunectl("log", "-j").lines.map { try jsonObject($0)["name"] as? String }
    #expect(seen == ["a.shouldB", "secret.shouldC"])
    #expect(try names() == ["secret.shouldA", "a.shouldB", "secret.shouldC"])
  }
}
