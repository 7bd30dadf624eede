// SPDX-License-Identifier: Apache-2.0

package import Tribune
import TribuneWire

// What the bus counts by name, by participant, and by user and unit: the columns of each list, and their names as metrics.

nonisolated extension CounterRow {
  package init(_ name: NameStatistics) {
    self.init(
      labels: name.name.map { [$0] } ?? [],
      counts: [name.asked - name.vetoed, name.vetoed, name.overridden, name.cancelled]
        + Self.counts(name.outcomes) + Self.counts(name.durations))
  }

  package init(_ participant: ParticipantStatistics) {
    self.init(
      labels: participant.uid.map { uid in
        [participant.role.rawValue, participant.label, participant.unit, "\(uid)"]
      } ?? [],
      counts: Self.counts(participant.outcomes) + Self.counts(participant.durations))
  }

  package init(_ user: UserStatistics) {
    self.init(
      labels: user.uid.map { ["\($0)", user.unit] } ?? [], connections: user.connections,
      counts: [
        user.posted, user.postedBytes, user.delivered, user.lost, user.asked, user.denied, user.refused,
      ])
  }

  fileprivate static let outcomes = [
    "approved", "vetoed", "abstained", "timed_out", "gone", "failed", "held", "answered",
  ]

  private static func counts(_ counts: Tribune.OutcomeCounts) -> [Int] {
    [
      counts.approved, counts.vetoed, counts.abstained, counts.timedOut, counts.gone, counts.failed,
      counts.held, counts.answered,
    ]
  }

  /// The fine intervals of the bus, in few.
  fileprivate static let boundsSeconds = [
    0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30,
  ]

  /// How many took no longer than each bound, how many there are, and the microseconds of all.
  private static func counts(_ durations: DurationHistogram) -> [Int] {
    var counts: [Int] = []
    var count = 0
    var rest = durations.buckets[...]
    for bound in boundsSeconds {
      while let next = rest.first, next.upperBound <= .seconds(bound) {
        count += next.count
        rest.removeFirst()
      }
      counts.append(count)
    }
    return counts + [durations.count, Int(durations.sum.wholeMicroseconds)]
  }
}

nonisolated extension BusMetrics {
  private typealias Samples = [(labels: MetricsText.Labels, value: Double)]

  /// What stands for all others: no name, and no number of a user.
  private static let others = "(other)"

  static func names(_ rows: SeriesRows, _ text: inout MetricsText) {
    let all = labelled(rows, ["name"], others: [others])
    text.counter(
      "tribune_query_verdicts", "Verdicts, without dry runs.",
      samples(all, from: 0, by: "verdict", ["allowed", "vetoed"]))
    text.counter(
      "tribune_query_overrides", "Verdicts that would have been vetoes without an override.", samples(all, 2))
    text.counter("tribune_query_cancellations", "Queries that ended without a verdict.", samples(all, 3))
    text.counter(
      "tribune_query_outcomes", "Outcomes of holds and delegates.",
      samples(all, from: 4, by: "outcome", CounterRow.outcomes))
    durations("tribune_query_duration_seconds", "Time from question to verdict.", all, from: 12, &text)
  }

  static func participants(_ rows: SeriesRows, _ text: inout MetricsText) {
    let all = labelled(rows, ["role", "label", "unit", "uid"], others: ["", "", "", others])
    text.counter(
      "tribune_participant_outcomes", "Outcomes of delegates and awaited observers.",
      samples(all, from: 0, by: "outcome", CounterRow.outcomes))
    durations(
      "tribune_participant_duration_seconds", "Time from the question, or the notification, to the outcome.",
      all, from: 8, &text)
  }

  static func users(_ rows: SeriesRows, _ text: inout MetricsText) {
    let all = labelled(rows, ["uid", "unit"], others: [others, ""])
    text.gauge(
      "tribune_user_connections", "Connections of a user in a unit.",
      all.map { ($0.labels, Double($0.row.connections)) })
    text.counter("tribune_user_notifications_posted", "Notifications that they posted.", samples(all, 0))
    text.counter(
      "tribune_user_posted_bytes", unit: "bytes", "Bytes of the notifications that they posted.",
      samples(all, 1))
    text.counter("tribune_user_notifications_delivered", "Copies queued for them.", samples(all, 2))
    text.counter("tribune_user_notifications_lost", "Copies that they lost.", samples(all, 3))
    text.counter("tribune_user_queries_asked", "Queries that they asked.", samples(all, 4))
    text.counter("tribune_user_requests_denied", "Frames that the policy refused.", samples(all, 5))
    text.counter(
      "tribune_user_requests_refused", "Frames that were refused for another reason.", samples(all, 6))
  }

  private typealias Labelled = [(labels: MetricsText.Labels, row: CounterRow)]

  private static func labelled(_ rows: SeriesRows, _ names: [String], others: [String]) -> Labelled {
    (rows.own + [rows.others].compactMap(\.self)).map { row in
      (MetricsText.Labels(zip(names, row.isOthers ? others : row.labels)), row)
    }
  }

  private static func samples(_ all: Labelled, _ column: Int) -> Samples {
    all.map { ($0.labels, Double($0.row.counts[column])) }
  }

  /// Neighbouring columns, which a label tells apart.
  private static func samples(
    _ all: Labelled, from column: Int, by label: String, _ values: [String]
  ) -> Samples {
    all.flatMap { labels, row in
      zip(values, row.counts[column...]).map { (labels.adding(label, $0), Double($1)) }
    }
  }

  private static func durations(
    _ name: String, _ help: String, _ all: Labelled, from column: Int, _ text: inout MetricsText
  ) {
    text.histogram(
      name, unit: "seconds", help, bounds: CounterRow.boundsSeconds,
      all.map { labels, row in
        (labels, Array(row.counts[column...].dropLast()), Double(row.counts.last ?? 0) / 1e6)
      })
  }
}
