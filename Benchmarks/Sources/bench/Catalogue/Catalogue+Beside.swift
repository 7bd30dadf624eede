// SPDX-License-Identifier: Apache-2.0

import CBusDriver

extension Catalogue {
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
