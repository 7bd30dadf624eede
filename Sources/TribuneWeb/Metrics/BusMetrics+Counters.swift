// SPDX-License-Identifier: Apache-2.0

import Tribune

/// What the bus counts by name, by participant, and by user and unit. The busiest have time series of their own, and the others
/// one together, so that nobody who uses the bus can make many.
nonisolated extension BusMetrics {
  /// What stands for all others: no name, and no number of a user.
  private static let others = "(other)"

  /// The first so many, and all others together.
  private static func busiest<Entry>(
    _ entries: [Entry], _ countMax: Int, isOthers: (Entry) -> Bool, add: (inout Entry, Entry) -> Void
  ) -> (own: ArraySlice<Entry>, others: Entry?) {
    let own = entries.filter { !isOthers($0) }
    let rest = own.dropFirst(countMax) + entries.filter(isOthers)
    guard var sum = rest.first else { return (own[...], nil) }
    for entry in rest.dropFirst() { add(&sum, entry) }
    return (own.prefix(countMax), sum)
  }

  static func names(_ names: [NameStatistics], _ countMax: Int, _ text: inout MetricsText) {
    let (own, others) = busiest(names, countMax, isOthers: { $0.name == nil }, add: { $0.add($1) })
    let all =
      own.map { (labels: [(name: "name", value: $0.name ?? "")], counts: $0) }
      + (others.map { [(labels: [(name: "name", value: Self.others)], counts: $0)] } ?? [])
    text.counter(
      "tribune_query_verdicts", "Verdicts, without dry runs.",
      all.flatMap { labels, counts in
        [
          (labels + [("verdict", "allowed")], Double(counts.asked - counts.vetoed)),
          (labels + [("verdict", "vetoed")], Double(counts.vetoed)),
        ]
      })
    text.counter(
      "tribune_query_overrides", "Verdicts that would have been vetoes without an override.",
      all.map { ($0.labels, Double($0.counts.overridden)) })
    text.counter(
      "tribune_query_cancellations", "Queries that ended without a verdict.",
      all.map { ($0.labels, Double($0.counts.cancelled)) })
    text.counter(
      "tribune_query_outcomes", "Outcomes of holds and delegates.",
      all.flatMap { outcomes($0.counts.outcomes, $0.labels) })
    text.histogram(
      "tribune_query_duration_seconds", unit: "seconds", "Time from question to verdict.",
      all.map { ($0.labels, $0.counts.durations) })
  }

  static func participants(
    _ participants: [ParticipantStatistics], _ countMax: Int, _ text: inout MetricsText
  ) {
    let (own, others) = busiest(participants, countMax, isOthers: { $0.uid == nil }, add: { $0.add($1) })
    func labels(_ one: ParticipantStatistics, _ uid: String) -> MetricsText.Labels {
      [("role", one.role.rawValue), ("label", one.label), ("unit", one.unit), ("uid", uid)]
    }
    let together: MetricsText.Labels = [("role", ""), ("label", ""), ("unit", ""), ("uid", Self.others)]
    let all =
      own.map { (labels: labels($0, $0.uid.map { "\($0)" } ?? ""), counts: $0) }
      + (others.map { [(labels: together, counts: $0)] } ?? [])
    text.counter(
      "tribune_participant_outcomes", "Outcomes of delegates and awaited observers.",
      all.flatMap { outcomes($0.counts.outcomes, $0.labels) })
    text.histogram(
      "tribune_participant_duration_seconds", unit: "seconds",
      "Time from the question, or the notification, to the outcome.",
      all.map { ($0.labels, $0.counts.durations) })
  }

  static func users(_ users: [UserStatistics], _ countMax: Int, _ text: inout MetricsText) {
    let (own, others) = busiest(users, countMax, isOthers: { $0.uid == nil }, add: { $0.add($1) })
    let all: [(labels: MetricsText.Labels, counts: UserStatistics)] =
      own.map { ([("uid", $0.uid.map { "\($0)" } ?? ""), ("unit", $0.unit)], $0) }
      + (others.map { [([("uid", Self.others), ("unit", "")], $0)] } ?? [])
    func samples(_ count: (UserStatistics) -> Int) -> [(labels: MetricsText.Labels, value: Double)] {
      all.map { ($0.labels, Double(count($0.counts))) }
    }
    text.gauge("tribune_user_connections", "Connections of a user in a unit.", samples { $0.connections })
    text.counter(
      "tribune_user_notifications_posted", "Notifications that they posted.", samples { $0.posted })
    text.counter(
      "tribune_user_posted_bytes", unit: "bytes", "Bytes of the notifications that they posted.",
      samples { $0.postedBytes })
    text.counter("tribune_user_notifications_delivered", "Copies queued for them.", samples { $0.delivered })
    text.counter("tribune_user_notifications_lost", "Copies that they lost.", samples { $0.lost })
    text.counter("tribune_user_queries_asked", "Queries that they asked.", samples { $0.asked })
    text.counter("tribune_user_requests_denied", "Frames that the policy refused.", samples { $0.denied })
    text.counter(
      "tribune_user_requests_refused", "Frames that were refused for another reason.", samples { $0.refused })
  }

  private static func outcomes(
    _ counts: OutcomeCounts, _ labels: MetricsText.Labels
  ) -> [(labels: MetricsText.Labels, value: Double)] {
    [
      ("approved", counts.approved), ("vetoed", counts.vetoed), ("abstained", counts.abstained),
      ("timed_out", counts.timedOut), ("gone", counts.gone), ("failed", counts.failed), ("held", counts.held),
      ("answered", counts.answered),
    ].map { (labels + [("outcome", $0.0)], Double($0.1)) }
  }
}

nonisolated extension OutcomeCounts {
  fileprivate mutating func add(_ other: OutcomeCounts) {
    for path in [\.approved, \.vetoed, \.abstained, \.timedOut, \.gone, \.failed, \.held, \.answered]
      as [WritableKeyPath<OutcomeCounts, Int>]
    {
      self[keyPath: path] += other[keyPath: path]
    }
  }
}

nonisolated extension NameStatistics {
  fileprivate mutating func add(_ other: NameStatistics) {
    (asked, vetoed) = (asked + other.asked, vetoed + other.vetoed)
    (overridden, cancelled) = (overridden + other.overridden, cancelled + other.cancelled)
    outcomes.add(other.outcomes)
    durations.add(other.durations)
  }
}

nonisolated extension ParticipantStatistics {
  fileprivate mutating func add(_ other: ParticipantStatistics) {
    outcomes.add(other.outcomes)
    durations.add(other.durations)
  }
}

nonisolated extension UserStatistics {
  fileprivate mutating func add(_ other: UserStatistics) {
    for path in [\.connections, \.posted, \.postedBytes, \.delivered, \.lost, \.asked, \.denied, \.refused]
      as [WritableKeyPath<UserStatistics, Int>]
    {
      self[keyPath: path] += other[keyPath: path]
    }
  }
}
