// SPDX-License-Identifier: Apache-2.0

package import Tribune
package import TribuneJSON
import TribuneWire

/// Rates and latencies of the last hour, in intervals of ten seconds.
nonisolated package struct History: Sendable {
  private struct Interval {
    var number: Int
    var growth = BusGrowth()
    var latencies = Durations()
  }

  package static let secondsPerInterval = 10
  package static let intervalsMax = 360

  private var intervals: [Interval] = []
  private var last: BusStatus?

  package init() {}

  package mutating func interrupt() { last = nil }

  package mutating func record(_ status: BusStatus, at seconds: Int) {
    if let last, let growth = BusGrowth(from: last, to: status) {
      current(at: seconds) { $0.growth.add(growth) }
    }
    last = status
  }

  package mutating func record(latency: Duration, at seconds: Int) {
    current(at: seconds) { $0.latencies.record(microseconds: UInt64(max(0, latency.wholeMicroseconds))) }
  }

  private mutating func current(at seconds: Int, _ change: (inout Interval) -> Void) {
    let number = seconds / Self.secondsPerInterval
    // If the clock was set back, `change` applies to the latest interval.
    if number > intervals.last?.number ?? .min {
      intervals.append(Interval(number: number))
      intervals.removeAll { $0.number <= number - Self.intervalsMax }
      if intervals.count > Self.intervalsMax { intervals.removeFirst(intervals.count - Self.intervalsMax) }
    }
    change(&intervals[intervals.count - 1])
  }

  /// The finished intervals, with their starts in seconds since 1970, their events per second, and their
  /// median and maximum times to a verdict in seconds.
  package func json(at seconds: Int) -> JSONValue {
    let finished = intervals.filter { $0.number < seconds / Self.secondsPerInterval }
    let latencies = finished.map { DurationHistogram($0.latencies) }
    func rates(_ path: KeyPath<BusGrowth, Int>) -> JSONValue {
      .array(finished.map { .number(Double($0.growth[keyPath: path]) / Double(Self.secondsPerInterval)) })
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
