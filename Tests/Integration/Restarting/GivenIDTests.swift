// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

@Suite("Ids", .timeLimit(.minutes(15)))
struct GivenIDTests {
  private let bus: RestartedBus
  private let client: RawClient

  init() throws {
    bus = try RestartedBus(configuration: LogFilling.configuration())
    client = try RawClient.observing("load.*", on: bus)
  }

  private struct IDs {
    let connection, query, delegate: UInt64
  }

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

  enum Damage: CaseIterable { case none, log, ids, logAndIDs }

  @Test("are not given again if the log is damaged", arguments: Damage.allCases)
  func damage(_ damage: Damage) throws {
    for serial in 10..<1000 as Range<Serial> { try client.ask("unanswered.shouldB", serial: serial) }
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
    #expect(try bus.log().contains("in its last ids") == [.ids, .logAndIDs].contains(damage))
    try expectMore(than: before)
    try bus.crash()
    try expectMore(than: before)
  }
}
