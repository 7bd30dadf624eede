// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneCommands

@Suite("The presence of a bus", .timeLimit(.minutes(15)))
struct BusPresenceTests {
  private static let loss = ConnectionEvent.disconnected(TribuneError(.connectionLost, "gone"))

  @Test("The time for an answer does not run while the connection looks for the bus")
  func away() async throws {
    let presence = BusPresence()
    presence.update(for: Self.loss)
    #expect(presence.isUnreachable)
    let (events, event) = AsyncStream<Void>.makeStream()
    let answer = try await bounded(by: .milliseconds(1), while: presence) {
      () async throws(TribuneError) -> Int in
      do throws(TribuneError) {
        try await bounded(by: .milliseconds(200)) { for await _ in events {} }
        return 0
      } catch {
        return 1
      }
    }
    #expect(answer == 1)
    event.finish()
  }

  @Test("Once the bus is there, the time for an answer runs", arguments: [false, true])
  func back(wasAway: Bool) async {
    let presence = BusPresence()
    if wasAway { presence.update(for: Self.loss) }
    let (events, event) = AsyncStream<Void>.makeStream()
    let error = await #expect(throws: TribuneError.self) {
      try await bounded(by: .milliseconds(1), while: presence) { () async throws(TribuneError) in
        presence.update(for: .reconnected(lost: nil))
        for await _ in events {}
      }
    }
    #expect(error?.code == .unreachable)
    #expect(!presence.isUnreachable)
    event.finish()
  }

  @Test(
    "Only a bus without its predecessor's log has to settle",
    arguments: [(nil, true), (0, false), (3, false)] as [(UInt64?, Bool)])
  func settling(lost: UInt64?, settles: Bool) async {
    let presence = BusPresence(settling: settles ? .milliseconds(20) : .seconds(3600))
    await presence.waitUntilSettled()
    let start = ContinuousClock.now
    presence.update(for: .reconnected(lost: lost))
    await presence.waitUntilSettled()
    if settles { #expect(start.duration(to: .now) >= .milliseconds(20)) }
  }
}
