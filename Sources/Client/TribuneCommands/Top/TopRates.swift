// SPDX-License-Identifier: Apache-2.0

import Tribune

/// How much a bus did in a second, between two snapshots of it.
struct TopRates: Equatable, Sendable {
  /// All nil if the counters do not belong together, because the bus began anew.
  var posts: Double?
  var deliveries: Double?
  var asks: Double?
  var vetoes: Double?
  var losses: Double?
  /// The part of the time in which the bus worked, from 0 to 1.
  var busy: Double?

  init(from earlier: BusSnapshot, to later: BusSnapshot) {
    let span = earlier.moment.duration(to: later.moment)
    guard span > .zero, let growth = BusGrowth(from: earlier.status, to: later.status) else { return }
    func rate(_ count: Int) -> Double { Double(count) / (span / .seconds(1)) }
    (posts, deliveries, losses) = (rate(growth.posted), rate(growth.delivered), rate(growth.lost))
    (asks, vetoes) = (rate(growth.asked), rate(growth.vetoed))
    busy = min(1, growth.busy / span)
  }
}
