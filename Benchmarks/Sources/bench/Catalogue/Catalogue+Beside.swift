// SPDX-License-Identifier: Apache-2.0

import CBusDriver

extension Catalogue {
  /// What a policy costs.
  static func policyWorks(_ effort: Effort) -> [Work] {
    let alone = Subject.variant("alone", "own bus")
    let governed = Subject.variant("governed", "policy of 1,000 lines", on: .governed)
    let note = "On a bus of one's own, and on one whose policy of 1,000 lines says what its clients may do."
    func target(_ title: String, _ most: Double) -> [Target] {
      [
        Target(
          title: "\(title), under a policy", subject: governed, reference: .subject(alone),
          bound: .atMost(most))
      ]
    }
    return [
      Work(
        name: "post-policy", title: "One post at a time, under a policy", note: note, unit: .nanoseconds,
        subjects: [alone, governed], baseline: alone, turns: effort.tripTurns, targets: target("a post", 1.1),
        measure: .posts(effort.trips)),
      Work(
        name: "new-names-policy", title: "One post at a time under a new name, under a policy", note: note,
        unit: .nanoseconds, subjects: [alone, governed], baseline: alone, turns: effort.tripTurns,
        targets: target("a post under a new name", 1.2), measure: .posts(effort.trips, haveNewNames: true)),
      Work(
        name: "ask-policy", title: "Ask under a policy", note: note, unit: .nanoseconds,
        subjects: [alone, governed], baseline: alone, turns: effort.tripTurns, targets: target("`ask`", 1.1),
        measure: .roundTrips(effort.trips)),
    ]
  }

  /// What other clients cost that observe nothing of it.
  static func besideWorks(_ effort: Effort) -> [Work] {
    let crowd = effort.bystanders
    let alone = Subject.variant("alone", "alone")
    let names = Subject.variant("names", "beside \(crowd.observations) names", on: .crowded)
    let stars = Subject.variant("stars", "beside \(crowd.observations) patterns with stars", on: .starred)
    let idle = Subject.variant("idle", "beside \(effort.idleConnections) idle connections", on: .idle)
    let others = [names, stars, idle]
    let aside = """
      Alone, and on daemons where others are: \(crowd.observations) observations of other names on \
      \(crowd.connections) connections, as many of patterns that do not match, or \(effort.idleConnections) \
      connections that do nothing. Nothing may come to any of them.
      """
    return [
      Work(
        name: "post-beside", title: "One post at a time, beside others", note: aside,
        unit: .nanoseconds, subjects: [alone] + others, baseline: alone, turns: effort.tripTurns,
        targets: others.map {
          Target(title: "a post \($0.title)", subject: $0, reference: .subject(alone), bound: .atMost(1.2))
        },
        measure: .posts(effort.trips)),
      Work(
        name: "new-names-beside", title: "One post at a time under a new name, beside others",
        note:
          "Each has a name that the bus has not seen before: what it knows of the last ones is no use to it.",
        unit: .nanoseconds, subjects: [alone] + others, baseline: alone, turns: effort.tripTurns,
        targets: others.map {
          Target(
            title: "a post under a new name \($0.title)", subject: $0, reference: .subject(alone),
            bound: .atMost(1.2))
        },
        measure: .posts(effort.trips, haveNewNames: true)),
      Work(
        name: "stream-beside", title: "Notifications 1 → 1, 128 B, beside others",
        note: "As fast as they go.",
        unit: .messagesPerSecond, subjects: [alone] + others, baseline: alone, turns: effort.rateTurns,
        targets: others.map {
          Target(
            title: "notifications 1 → 1 \($0.title)", subject: $0, reference: .subject(alone),
            bound: .atLeast(1 / 1.2))
        },
        measure: .stream(of: Int(driver_stream_bytes), to: 1, worth: 1)),
    ]
  }
}
