// SPDX-License-Identifier: Apache-2.0

import Tribune
package import TribuneJSON
import TribuneWire

/// Rates and latencies of the last hour, in intervals of ten seconds.
nonisolated package struct History: Sendable {
  /// Counters of the bus at a moment.
  package struct Counters: Equatable, Sendable {
    package var posted = 0
    package var delivered = 0
    package var lost = 0
    package var asked = 0
    package var vetoed = 0

    package init() {}

    init(_ status: BusStatus) {
      (posted, delivered, lost) = (status.posted, status.delivered, status.lost)
      (asked, vetoed) = (status.asked, status.vetoed)
    }

    /// What has come since `earlier`; nil if the counters began anew meanwhile.
    func since(_ earlier: Counters) -> Counters? {
      var difference = Counters()
      for path in Self.all {
        guard self[keyPath: path] >= earlier[keyPath: path] else { return nil }
        difference[keyPath: path] = self[keyPath: path] - earlier[keyPath: path]
      }
      return difference
    }

    mutating func add(_ other: Counters) {
      for path in Self.all { self[keyPath: path] += other[keyPath: path] }
    }

    private static var all: [WritableKeyPath<Counters, Int>] {
      [\.posted, \.delivered, \.lost, \.asked, \.vetoed]
    }
  }

  private struct Interval {
    /// Counted in intervals since 1970.
    var number: Int
    var counters = Counters()
    var latencies = Durations()
  }

  package static let secondsPerInterval = 10
  package static let intervalsMax = 360

  private var intervals: [Interval] = []
  private var last: Counters?

  package init() {}

  /// The bus is gone, and its counters with it.
  package mutating func interrupt() { last = nil }

  package mutating func note(_ counters: Counters, at seconds: Int) {
    if let change = last.flatMap({ counters.since($0) }) { current(at: seconds) { $0.counters.add(change) } }
    last = counters
  }

  package mutating func note(latency: Duration, at seconds: Int) {
    current(at: seconds) { $0.latencies.note(microseconds: UInt64(max(0, latency.wholeMicroseconds))) }
  }

  private mutating func current(at seconds: Int, _ change: (inout Interval) -> Void) {
    let number = seconds / Self.secondsPerInterval
    // A clock that was set back adds to the latest.
    if number > intervals.last?.number ?? .min {
      intervals.append(Interval(number: number))
      intervals.removeAll { $0.number <= number - Self.intervalsMax }
      if intervals.count > Self.intervalsMax { intervals.removeFirst(intervals.count - Self.intervalsMax) }
    }
    change(&intervals[intervals.count - 1])
  }

  /// The finished intervals: when each began, in seconds since 1970, events in a second of each kind, and the median and the
  /// longest of the times to a verdict, in seconds.
  package func json(at seconds: Int) -> JSONValue {
    let finished = intervals.filter { $0.number < seconds / Self.secondsPerInterval }
    let latencies = finished.map { DurationHistogram($0.latencies) }
    func rates(_ path: KeyPath<Counters, Int>) -> JSONValue {
      .array(finished.map { .number(Double($0.counters[keyPath: path]) / Double(Self.secondsPerInterval)) })
    }
    return .object([
      ("interval", .integer(Self.secondsPerInterval)),
      ("times", .array(finished.map { .integer($0.number * Self.secondsPerInterval) })),
      ("posted", rates(\.posted)), ("delivered", rates(\.delivered)), ("lost", rates(\.lost)),
      ("asked", rates(\.asked)), ("vetoed", rates(\.vetoed)),
      ("median", .array(latencies.map { $0.quantile(0.5).map { .seconds($0) } ?? .null })),
      ("longest", .array(latencies.map { $0.count == 0 ? .null : .seconds($0.longest) })),
    ])
  }
}
