// SPDX-License-Identifier: Apache-2.0

import Tribune

nonisolated extension BusMetrics {
  private typealias Labelled<Row> = [(labels: MetricsText.Labels, row: Row)]
  private typealias Samples = [(labels: MetricsText.Labels, value: Double)]

  /// The label of combined rows. It is neither a valid name nor a user id, so no other row can have it.
  private static let others = "(other)"

  static func names(_ rows: SeriesRows<NameStatistics>, _ text: inout MetricsText) {
    let all = labelled(rows.own, rows.others, ["name"], others: [others])
    text.counter(
      "tribune_query_verdicts", "Verdicts, without dry runs.",
      all.flatMap { labels, row in
        [
          (labels.adding("verdict", "allowed"), Double(row.asked - row.vetoed)),
          (labels.adding("verdict", "vetoed"), Double(row.vetoed)),
        ]
      })
    text.counter(
      "tribune_query_overrides", "Verdicts that would have been vetoes without an override.",
      samples(all, \.overridden))
    text.counter(
      "tribune_query_cancellations", "Queries that ended without a verdict.", samples(all, \.cancelled))
    text.counter(
      "tribune_query_outcomes", "Outcomes of holds and delegates.",
      outcomes(all.map { ($0, $1.outcomes) }))
    text.histogram(
      "tribune_query_duration_seconds", unit: "seconds",
      "Time from question to verdict, if a delegate was asked.",
      all.map { ($0, $1.durations) })
  }

  static func participants(_ rows: SeriesRows<ParticipantStatistics>, _ text: inout MetricsText) {
    let all = labelled(
      rows.own, rows.others, ["role", "label", "unit", "uid"], others: ["", "", "", others])
    text.counter(
      "tribune_participant_outcomes", "Outcomes of delegates and awaited observers.",
      outcomes(all.map { ($0, $1.outcomes) }))
    text.histogram(
      "tribune_participant_duration_seconds", unit: "seconds",
      "Time from the question, or the notification, to the outcome.", all.map { ($0, $1.durations) })
  }

  static func users(_ rows: SeriesRows<UserStatistics>, _ text: inout MetricsText) {
    let (labels, others) = (["uid", "unit"], [others, ""])
    text.gauge(
      "tribune_user_connections", "Connections of a user in a unit.",
      samples(labelled(rows.own, rows.rest, labels, others: others), \.connections))
    let all = labelled(rows.own, rows.others, labels, others: others)
    text.counter(
      "tribune_user_notifications_posted", "Notifications that they posted.", samples(all, \.posted))
    text.counter(
      "tribune_user_posted_bytes", unit: "bytes", "Bytes of the notifications that they posted.",
      samples(all, \.postedBytes))
    text.counter(
      "tribune_user_notifications_delivered", "Copies queued for them.", samples(all, \.delivered))
    text.counter("tribune_user_notifications_lost", "Copies that they lost.", samples(all, \.lost))
    text.counter(
      "tribune_user_queries_asked", "Queries that they asked, including dry runs and value queries.",
      samples(all, \.asked))
    text.counter("tribune_user_requests_denied", "Frames that the policy refused.", samples(all, \.denied))
    text.counter(
      "tribune_user_requests_refused", "Frames that were refused for another reason.",
      samples(all, \.refused))
  }

  static func holds(_ counters: BusCounters, _ text: inout MetricsText) {
    let others = counters.oldestOtherHold.map { [(pattern: Self.others, age: $0)] } ?? []
    text.gauge(
      "tribune_hold_oldest_seconds", unit: "seconds", "Age of the oldest hold of a pattern.",
      (counters.oldestHolds + others).map { (MetricsText.Labels([("pattern", $0)]), $1 / .seconds(1)) })
  }

  private static func labelled<Row: CounterRow>(
    _ own: [Row], _ rest: Row?, _ names: [String], others: [String]
  ) -> Labelled<Row> {
    own.map { (MetricsText.Labels(zip(names, $0.labels)), $0) }
      + [rest].compactMap(\.self).map { (MetricsText.Labels(zip(names, others)), $0) }
  }

  private static func samples<Row>(_ all: Labelled<Row>, _ counter: KeyPath<Row, Int>) -> Samples {
    all.map { ($0.labels, Double($0.row[keyPath: counter])) }
  }

  private static func outcomes(_ all: [(labels: MetricsText.Labels, counts: OutcomeCounts)]) -> Samples {
    all.flatMap { labels, counts in
      OutcomeCounts.all.map { (labels.adding("outcome", $0.key), Double(counts[keyPath: $0.value])) }
    }
  }
}
