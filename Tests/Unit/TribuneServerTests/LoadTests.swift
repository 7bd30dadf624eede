// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@testable import TribuneServer

@Suite("The bus's counts of its load")
@MainActor
struct LoadTests {
  private static func seconds(_ seconds: UInt64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

  @Test("have the longest iteration of the last minute, or of up to a minute more")
  func longest() {
    var times = LongestIteration()
    func iterate(_ milliseconds: UInt64, at second: UInt64) {
      let began = Self.seconds(second)
      times.record(from: began, to: began.advanced(byNanoseconds: milliseconds * 1_000_000))
    }
    func longest(at second: UInt64) -> UInt64 {
      times.nanoseconds(at: Self.seconds(second)) / 1_000_000
    }
    iterate(5, at: 1000)
    iterate(900, at: 1001)
    iterate(7, at: 1002)
    #expect(longest(at: 1003) == 900)
    #expect(longest(at: 1059) == 900)
    iterate(3, at: 1070)
    #expect(longest(at: 1071) == 900)
    #expect(longest(at: 1140) == 3)
    #expect(longest(at: 1400) == 0)
  }

  @Test("have how often a state occurred, and for how long")
  func times() {
    var times = TimesCount()
    #expect(times.count == 0 && times.nanoseconds(at: Self.seconds(5)) == 0)
    times.begin(at: Self.seconds(10))
    #expect(times.nanoseconds(at: Self.seconds(12)) == 2_000_000_000)
    times.end(at: Self.seconds(13))
    times.begin(at: Self.seconds(20))
    times.end(at: Self.seconds(21))
    #expect(times.count == 2 && times.nanoseconds(at: Self.seconds(30)) == 4_000_000_000)
  }

  @Test("count deliveries beyond a 32-bit counter")
  func deliveries() {
    var traffic = TrafficCounts()
    traffic.countDelivered(upTo: 5)
    traffic.countDelivered(upTo: .max)
    traffic.countDelivered(upTo: 4)
    #expect(traffic.delivered == 1 << 32 + 4)
    traffic.countDelivered(upTo: 4)
    #expect(traffic.delivered == 1 << 32 + 4)
  }

  @Test("have users and their units, the busiest first, and all others together")
  func users() {
    var gone = Busiest<TrafficKey, TrafficCounts>()
    func peer(_ uid: UInt32, _ unit: String) -> PeerIdentity {
      PeerIdentity(pid: 1, uid: uid, gid: uid, process: "p", units: PeerUnits(system: unit))
    }
    gone.tally(of: TrafficKey(peer(1, "a.service")), for: 1).update { $0.posted += 5 }
    var listed = UserTraffic(with: gone, visible: .all)
    listed.add(TrafficCounts(posted: 3), of: peer(1, "a.service"))
    listed.add(TrafficCounts(posted: 1), of: peer(1, "a.service"))
    listed.add(TrafficCounts(delivered: 90), of: peer(2, ""))
    for number in 0..<1100 { listed.add(TrafficCounts(posted: 2), of: peer(3, "\(number).service")) }
    listed.add(TrafficCounts(posted: 1), of: peer(4, "d.service"))
    let entries = listed.entries
    #expect(entries.count == 1001)
    #expect(entries[0].uid == 2 && entries[0].delivered == 90)
    #expect(entries[1].unit == "a.service" && entries[1].posted == 9 && entries[1].connections == 2)
    #expect(entries[1000].uid == .max && entries[1000].connections == 103 && entries[1000].posted == 206)
    #expect(entries.contains { $0.uid == 4 })
    let own = UserTraffic(with: gone, visible: .only(3)).entries
    #expect(own.isEmpty)
  }
}
