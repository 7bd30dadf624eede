// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

/// An id is never given twice, whatever becomes of the log: an answer to one question is none to another.
@Suite("Ids", .timeLimit(.minutes(2)))
struct GivenIDTests {
  private let bus: RestartedBus
  private let client: RawClient

  init() throws {
    bus = try RestartedBus(configuration: LogFilling.configuration)
    client = try RawClient.observing("load.*", on: bus)
  }

  private struct IDs {
    let connection, query, delegate: UInt64
  }

  /// Those that a new client is given.
  private func given() throws -> IDs {
    let (other, welcome) = try RawClient.welcomed(bus)
    let delegate = try other.attach(Attach(patterns: ["given.shouldB"]), serial: 1)
    let verdict = try other.ask("unanswered.shouldB", serial: 2)
    return IDs(
      connection: welcome.connection.rawValue, query: verdict.query.rawValue, delegate: delegate.rawValue)
  }

  private func expectMore(than before: IDs) throws {
    let after = try given()
    #expect(after.connection > before.connection)
    #expect(after.query > before.query)
    #expect(after.delegate > before.delegate)
  }

  /// What is damaged: bytes of the header, or of the log, the first record of which is none then.
  enum Damage: CaseIterable { case none, log, ids, logAndIDs }

  @Test("are not given again where the log is damaged", arguments: Damage.allCases)
  func damage(_ damage: Damage) throws {
    // No entry has them once those who had them have gone and the log was compacted.
    for serial in 10..<1000 as Range<Serial> {
      try client.ask("unanswered.shouldB", serial: serial)
    }
    for _ in 0..<20 { _ = try given() }
    let before = try given()
    try bus.restart()
    try bus.die()
    try bus.changeLog { state in
      if [.log, .logAndIDs].contains(damage) { state.flip(1, at: state.log.lowerBound + 40) }
      guard [.ids, .logAndIDs].contains(damage) else { return }
      for word in 0..<3 { state.flip(1, at: 97 + 8 * word) }
    }
    try bus.start()
    #expect(try bus.log().contains("the log is damaged: ") == [.log, .logAndIDs].contains(damage))
    #expect(try bus.log().contains("which ids were given") == [.ids, .logAndIDs].contains(damage))
    try expectMore(than: before)
    try bus.crash()
    try expectMore(than: before)
  }

  @Test("of a query that cannot be written down: it is refused, and no answer decides another one")
  func query() throws {
    let delegate = try RawClient.greeted(bus)
    try delegate.attach(Attach(timeout: 60_000, patterns: ["a.shouldB"]), serial: 1)
    let asker = try RawClient.greeted(bus)
    try asker.send(Ask(deadline: 60_000), serial: 1, name: "a.shouldB", text: "small")
    let (_, first) = try delegate.nextQuestion()
    let filling = try LogFilling(bus)
    try filling.fill()
    let text = String(repeating: "p", count: 60_000)
    try asker.send(Ask(deadline: 60_000), serial: 2, name: "a.shouldB", text: text)
    let refusal = try asker.next(.error)
    #expect(try refusal.decode(Refusal.self).code == .limitExceeded)
    #expect(refusal.payload.contains("LogMax="))
    // Neither is its connection worse off for it, nor does the delegate know of it.
    try delegate.expectSilence(serial: 2)
    try filling.empty()
    try bus.crash()
    try asker.send(Ask(deadline: 60_000), serial: 2, name: "a.shouldB", text: "reboot")
    let (_, second) = try delegate.nextQuestion()
    #expect(second.query.rawValue > first.query.rawValue)
    try delegate.answer(first, .veto, "no")
    #expect(try asker.next(.verdict).header.serial == 1)
    try delegate.answer(second, .approve)
    #expect(try asker.next(.verdict).header.serial == 2)
  }
}
