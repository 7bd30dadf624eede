// SPDX-License-Identifier: Apache-2.0

import CBusDriver

extension Catalogue {
  /// The subjects of growth over observers and payloads.
  private static let compared: [Subject] = [.tribune, .redis, .nats, .dbusBroker]

  static func growth(_ effort: Effort) -> [Curve] {
    [observers(effort), observations(effort), payload(effort), connections(effort), delegates(effort)]
  }

  /// 1, 10, 100, … but no more than `most`, nor than the effort allows.
  private static func decades(to most: Int, _ effort: Effort) -> [Int] {
    var all = [1]
    while let last = all.last, last < min(most, effort.growthMax) { all.append(last * 10) }
    return all
  }

  private static func observers(_ effort: Effort) -> Curve {
    Curve(
      name: "growth-observers", title: "Delivered over observers",
      note: "One connection posts messages of 128 B as fast as they go, and all observe them.",
      xTitle: "observers", yTitle: "delivered",
      points: decades(to: 1_000, effort).map { count in
        Curve.Point(
          x: count,
          work: Work(
            name: "growth-observers \(count)", title: "\(count) observers", note: "",
            unit: .messagesPerSecond, subjects: compared, baseline: .tribune, turns: 1,
            measure: .stream(of: Int(driver_stream_bytes), to: count, worth: Double(count))))
      })
  }

  private static func payload(_ effort: Effort) -> Curve {
    // 16 B, 64 B, 256 B, … 16 MiB.
    let sizes = (2...12).map { 1 << (2 * $0) }.filter { $0 <= effort.payloadMax }
    return Curve(
      name: "growth-payload", title: "Bytes over the size of a message",
      note: """
        One connection to one. From 64 KiB on, Tribune sends a file in memory: messages handed on, of which the \
        receiver maps what it compares.
        """,
      xTitle: "bytes in a message", yTitle: "delivered", isOverBytes: true,
      points: sizes.map { bytes in
        Curve.Point(
          x: bytes,
          work: Work(
            name: "growth-payload \(bytes)", title: "\(bytes) bytes", note: "", unit: .bytesPerSecond,
            subjects: compared, baseline: .tribune, turns: 1,
            measure: .stream(of: bytes, to: 1, worth: Double(bytes))))
      })
  }

  private static func observations(_ effort: Effort) -> Curve {
    let names = Subject.variant("names", "names", on: .growing)
    let stars = Subject.variant("stars", "patterns with stars", on: .growing)
    return Curve(
      name: "growth-observations", title: "One post over others' observations",
      note:
        "Posts to one observer, one at a time, beside observations of others, 100 on a connection, that do not match.",
      xTitle: "observations of others", yTitle: "p50",
      points: decades(to: 100_000, effort).map { count in
        let crowd = Crowd(connections: max(1, count / 100), observationsEach: min(count, 100))
        return Curve.Point(
          x: count,
          work: Work(
            name: "growth-observations \(count)", title: "\(count) observations", note: "",
            unit: .nanoseconds, subjects: [names, stars], baseline: names, turns: 3,
            measure: .trips(3 * effort.trips, warmUp: Int(driver_warm_up)) { place, trips in
              let server = try place.server()
              return try await crowd.around(server, haveStars: place.subject == stars) {
                try Driver.posts(trips, newNames: false, through: server)
              }
            }))
      })
  }

  private static func connections(_ effort: Effort) -> Curve {
    let post = Subject.variant("post", "a post to one observer", on: .growing)
    let ask = Subject.variant("ask", "an ask of one delegate", on: .growing)
    return Curve(
      name: "growth-connections", title: "One post, one ask over idle connections",
      note: "One at a time, while other connections are there and do nothing.",
      xTitle: "idle connections", yTitle: "p50",
      points: decades(to: 10_000, effort).map { count in
        let crowd = Crowd(connections: count, observationsEach: 0)
        return Curve.Point(
          x: count,
          work: Work(
            name: "growth-connections \(count)", title: "\(count) connections", note: "",
            unit: .nanoseconds, subjects: [post, ask], baseline: post, turns: 3,
            measure: .trips(3 * effort.trips, warmUp: Int(driver_warm_up)) { place, trips in
              let server = try place.server()
              return try await crowd.around(server) {
                place.subject == ask
                  ? try Driver.roundTrips(trips, through: server)
                  : try Driver.posts(trips, newNames: false, through: server)
              }
            }))
      })
  }

  private static func delegates(_ effort: Effort) -> Curve {
    let whole = Subject.variant("ask", "an ask")
    return Curve(
      name: "growth-chain", title: "One ask over the delegates of its chain",
      note: """
        All are asked, and all approve. They are spread over ten connections at most. A connection with more than 64 \
        is asked the next as it answers.
        """,
      xTitle: "delegates", yTitle: "p50",
      points: decades(to: 10_000, effort).map { count in
        let connections = min(count, 10)
        let chain = Chain(connections: connections, delegatesEach: count / connections)
        return Curve.Point(
          x: count,
          work: Work(
            name: "growth-chain \(count)", title: "\(count) delegates", note: "", unit: .nanoseconds,
            subjects: [whole], baseline: whole, turns: 1,
            // As many as make some 30,000 questions, but some at least.
            measure: .trips(
              min(3 * effort.trips, max(10, 30_000 / count)), warmUp: Int(driver_chain_warm_up)
            ) { place, asks in
              try Driver.asks(asks, through: chain, of: place.server())
            }))
      })
  }
}
