// SPDX-License-Identifier: Apache-2.0

import Tribune

/// How much a bus did in a second, between two samples of it.
struct TopRates: Equatable, Sendable {
  /// All nil if the counters do not belong together, because the bus began anew.
  var posts: Double?
  var deliveries: Double?
  var asks: Double?
  var vetoes: Double?
  var losses: Double?
  /// The part of the time in which the bus worked, from 0 to 1.
  var busy: Double?

  init(from earlier: TopSample, to later: TopSample) {
    func rate(_ counter: KeyPath<BusStatus, Int>) -> Double? {
      perSecond(
        from: earlier.status[keyPath: counter], to: later.status[keyPath: counter],
        earlier.moment.duration(to: later.moment))
    }
    (posts, deliveries, losses) = (rate(\.posted), rate(\.delivered), rate(\.lost))
    (asks, vetoes) = (rate(\.asked), rate(\.vetoed))
    let span = earlier.moment.duration(to: later.moment)
    let worked = later.status.busy - earlier.status.busy
    if span > .zero, worked >= .zero { busy = min(1, worked / span) }
  }
}

/// How fast a counter grows; nil if it began anew meanwhile.
func perSecond(from earlier: Int?, to later: Int, _ span: Duration) -> Double? {
  guard let earlier, later >= earlier, span > .zero else { return nil }
  return Double(later - earlier) / (span / .seconds(1))
}
