// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// The metrics of a bus. The settings limit the number of time series, regardless of what users do.
nonisolated package enum BusMetrics {
  package struct Own: Sendable {
    package var pages = 0
    package var verdictsSeen = 0
    package var framesMissed = 0
    package var busLosses = 0
    fileprivate var latencies = Durations()

    package init() {}

    mutating func record(latency: Duration) {
      latencies.record(microseconds: UInt64(max(0, latency.wholeMicroseconds)))
    }
  }

  package static func text(
    of picture: BusPicture, _ counters: BusCounters, _ own: Own, _ format: MetricsText.Format
  ) -> [UInt8] {
    var text = MetricsText(format)
    text.gauge(
      "tribune_up", "Whether tribune-web is connected to the bus, and the bus answers.",
      picture.isConnected ? 1 : 0)
    if picture.isConnected, let status = counters.status {
      bus(status, startSeconds: counters.startSeconds, &text)
      connections(picture.connections, &text)
      names(counters.names, &text)
      participants(counters.participants, &text)
      users(counters.users, &text)
      holds(counters, &text)
    }
    text.gauge("tribune_web_pages", "Open pages.", own.pages)
    text.counter("tribune_web_verdicts", "Verdicts that tribune-web has seen.", own.verdictsSeen)
    text.counter(
      "tribune_web_frames_missed", "Frames that the bus dropped because tribune-web did not read.",
      own.framesMissed)
    text.counter("tribune_web_bus_losses", "How often the connection to the bus was lost.", own.busLosses)
    text.histogram(
      "tribune_web_verdict_duration_seconds", unit: "seconds",
      "Time from question to verdict, of the verdicts seen.",
      [(MetricsText.Labels(), DurationHistogram(own.latencies))])
    return text.finish()
  }

  private static func bus(_ status: BusStatus, startSeconds: Int, _ text: inout MetricsText) {
    text.info("tribune_bus", "The version of the bus.", MetricsText.Labels([("version", status.software)]))
    text.gauge(
      "tribune_bus_start_time_seconds", unit: "seconds", "When the bus started, in seconds since 1970.",
      startSeconds)
    text.gauge("tribune_connections", "Connections.", status.connections)
    text.gauge("tribune_observations", "Registered observations.", status.observations)
    text.gauge("tribune_delegates", "Attached delegates.", status.delegates)
    text.gauge("tribune_holds", "Standing holds.", status.holds)
    text.gauge("tribune_actions", "Actions under way.", status.actions)
    text.gauge("tribune_queries_pending", "Queries under way.", status.queries)
    text.counter("tribune_notifications_posted", "Notifications taken from posters.", status.posted)
    text.counter(
      "tribune_notifications_delivered", "Copies of notifications queued for observers.", status.delivered)
    text.counter(
      "tribune_notifications_lost", "Copies of notifications dropped because an observer did not read.",
      status.lost)
    text.counter(
      "tribune_queries_asked", "Queries for permission that have a verdict, without dry runs.", status.asked)
    text.counter(
      "tribune_queries_vetoed", "Queries for permission that were vetoed, without dry runs.", status.vetoed)
    text.counter("tribune_requests_denied", "Frames that the policy refused.", status.denied)
    text.counter("tribune_requests_refused", "Frames that were refused for another reason.", status.refused)
    text.counter(
      "tribune_posted_bytes", unit: "bytes", "Bytes of the notifications taken.", status.postedBytes)
    text.counter("tribune_loop_iterations", "Iterations of the event loop.", status.iterations)
    text.counter(
      "tribune_busy_seconds", unit: "seconds", "Processor time of the thread of the bus.",
      status.busy / .seconds(1))
    text.gauge(
      "tribune_loop_longest_seconds", unit: "seconds", "The longest iteration in the last minute.",
      status.longestIteration / .seconds(1))
    text.gauge("tribune_log_used_bytes", unit: "bytes", "Bytes of the log in use.", status.logUsed)
    text.gauge("tribune_log_max_bytes", unit: "bytes", "Bytes that the log may use.", status.logMax)
    text.gauge("tribune_kept_descriptors", "Descriptors that the keeper has.", status.kept)
  }

  private static func connections(_ connections: [ConnectionInfo], _ text: inout MetricsText) {
    let states: [(name: String, isSo: (ConnectionInfo) -> Bool)] = [
      ("paused", \.isPaused), ("lossy", \.isLossy), ("suspended", \.isSuspended),
      ("not_surviving", { !$0.isSurviving }),
    ]
    text.gauge(
      "tribune_connections_limited", "Connections in a state in which something waits or is lost.",
      states.map { state in
        (MetricsText.Labels([("state", state.name)]), Double(connections.count(where: state.isSo)))
      })
    text.gauge(
      "tribune_queued_bytes", unit: "bytes", "Bytes that wait for connections to read them.",
      connections.reduce(0) { $0 + $1.queuedBytes })
    text.gauge(
      "tribune_buffered_bytes", unit: "bytes", "Bytes that are buffered for suspended connections.",
      connections.reduce(0) { $0 + $1.bufferedBytes })
  }
}
