// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@Suite("Departed connections", .timeLimit(.minutes(15)))
struct DepartedConnectionsTests {
  private static func connection(_ id: UInt64, left: UInt64) -> DepartedConnection {
    DepartedConnection(
      id: ConnectionID(rawValue: id), peer: .gone(of: 34), connected: Instant(nanoseconds: 0),
      left: Instant(nanoseconds: left), reason: nil, traffic: TrafficCounts())
  }

  @Test("are known for 60 s", arguments: [(0, true), (60_000_000_000, true), (60_000_000_001, false)])
  func time(after nanoseconds: UInt64, isKnown: Bool) {
    var departed = DepartedConnections()
    departed.remember(Self.connection(7, left: 5))
    let now = Instant(nanoseconds: 5 + nanoseconds)
    #expect((departed.connection(ConnectionID(rawValue: 7), at: now) != nil) == isKnown)
    #expect(departed.all(at: now).map(\.id.rawValue) == (isKnown ? [7] : []))
    #expect(departed.connection(ConnectionID(rawValue: 8), at: now) == nil)
  }

  @Test("are the latest of any number, in order, and take bounded memory", arguments: Seeds.all)
  func bound(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var departed = DepartedConnections()
    var model: [(id: UInt64, left: UInt64)] = []
    var now: UInt64 = 0
    for id in 1...5000 as ClosedRange<UInt64> {
      now += random.oneIn(100) ? 20_000_000_000 : UInt64.random(in: 0..<50_000_000, using: &random)
      departed.remember(Self.connection(id, left: now))
      model.append((id, now))
      #expect(departed.storedCount < 2 * DepartedConnections.countMax + 1)
      guard random.oneIn(50) else { continue }
      let kept = model.suffix(DepartedConnections.countMax).filter { now - $0.left <= 60_000_000_000 }
      let at = Instant(nanoseconds: now)
      #expect(departed.all(at: at).map(\.id.rawValue) == kept.map(\.id))
      let probe = UInt64.random(in: 1...id, using: &random)
      #expect(
        (departed.connection(ConnectionID(rawValue: probe), at: at) != nil)
          == kept.contains { $0.id == probe })
    }
  }
}
