// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneCommands

/// How long a bus is waited for that goes meanwhile.
@Suite("A bus's presence", .timeLimit(.minutes(15)))
struct BusPresenceTests {
  private static let loss = ConnectionEvent.disconnected(TribuneError(.connectionLost, "gone"))

  @Test("While the bus is looked for, its time for an answer does not run")
  func away() async throws {
    let presence = BusPresence()
    presence.note(Self.loss)
    #expect(presence.isAway)
    let (events, event) = AsyncStream<Void>.makeStream()
    let answer = try await bounded(by: .milliseconds(1), while: presence) {
      () async throws(TribuneError) -> Int in
      // Another limit, which is far longer.
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

  @Test("Once it is there, it is waited for no longer than that", arguments: [false, true])
  func back(wasAway: Bool) async {
    let presence = BusPresence()
    if wasAway { presence.note(Self.loss) }
    let (events, event) = AsyncStream<Void>.makeStream()
    let error = await #expect(throws: TribuneError.self) {
      try await bounded(by: .milliseconds(1), while: presence) { () async throws(TribuneError) in
        presence.note(.reconnected(lost: nil))
        for await _ in events {}
      }
    }
    #expect(error?.code == .unreachable)
    #expect(!presence.isAway)
    event.finish()
  }
}
