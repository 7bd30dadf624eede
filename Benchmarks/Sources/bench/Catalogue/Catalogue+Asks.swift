// SPDX-License-Identifier: Apache-2.0

import CBusDriver

extension Catalogue {
  static func askWorks(_ effort: Effort) -> [Work] {
    [roundTrip(effort), askUnderLoad(effort), chain(effort)]
  }

  private static func roundTrip(_ effort: Effort) -> Work {
    Work(
      name: "round-trip", title: "Round trip, 64 B",
      note: """
        A request to one responder and its answer, one after the other: for Tribune an `ask` with one delegate \
        that approves, for D-Bus a method call, for NATS and ZeroMQ a request; for Redis and MQTT a publication each way.
        """,
      unit: .nanoseconds, subjects: Subject.servers, baseline: .tribune, turns: effort.tripTurns,
      targets: [
        Target(
          title: "`ask`, one delegate, p50", subject: .tribune, reference: .subject(.relay),
          bound: .atMost(1.15)),
        Target(
          title: "`ask`, one delegate, p50", subject: .tribune, reference: .bestPeer, bound: .atMost(1)),
      ],
      measure: .roundTrips(effort.trips))
  }

  private static func askUnderLoad(_ effort: Effort) -> Work {
    let alone = Subject.variant("alone", "ask, alone")
    let loaded = Subject.variant("loaded", "ask, beside \(effort.backgroundRate) posts/s")
    return Work(
      name: "ask-under-load", title: "Ask beside a background of posts",
      note: """
        The same `ask` while one connection posts \(effort.backgroundRate) notifications a second, evenly, to \
        one observer, under names that have nothing to do with it.
        """,
      unit: .nanoseconds, subjects: [alone, loaded], baseline: alone, turns: effort.tripTurns,
      targets: [
        Target(
          title: "`ask`, p99 beside \(effort.backgroundRate) posts/s to others, over the p50 alone",
          subject: loaded,
          figure: .tail,
          reference: .subject(alone), bound: .atMost(3))
      ],
      measure: .trips(2 * effort.trips, warmUp: Int(driver_warm_up)) { place, count in
        let server = try place.server()
        guard place.subject == loaded else { return try Driver.roundTrips(count, through: server) }
        let (durations, rate) = try Driver.besidePosts(aSecond: effort.backgroundRate, on: server) {
          try Driver.roundTrips(count, through: server)
        }
        guard !effort.isTimed || rate > 0.9 * Double(effort.backgroundRate) else {
          throw Absence(reason: "the background came to \(Int(rate)) posts/s only")
        }
        return durations
      })
  }

  private static func chain(_ effort: Effort) -> Work {
    let single = Subject.variant("single", "one delegate")
    let spread = Subject.variant("spread", "100 delegates, a connection each")
    let together = Subject.variant("together", "100 delegates, one connection")
    return Work(
      name: "chain", title: "Ask through a chain of 100 delegates",
      note:
        "All are asked at once, and all approve. 100 single asks, one after the other, are what it replaces.",
      unit: .nanoseconds, subjects: [single, spread, together], baseline: single, turns: effort.tripTurns,
      targets: [spread, together].map {
        Target(
          title: "`ask`, \($0.title)", subject: $0, reference: .subject(single, times: 100), bound: .atMost(1)
        )
      },
      measure: .trips(effort.chainAsks, warmUp: Int(driver_chain_warm_up)) { place, count in
        let chain =
          switch place.subject {
          case spread: Chain(connections: 100, delegatesEach: 1)
          case together: Chain(connections: 1, delegatesEach: 100)
          default: Chain(connections: 1, delegatesEach: 1)
          }
        return try Driver.asks(count, through: chain, of: place.server())
      })
  }
}
