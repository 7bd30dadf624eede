// SPDX-License-Identifier: Apache-2.0

/// How many of something took how long, in few intervals.
nonisolated package struct LatencyHistogram: Equatable, Sendable {
  /// The upper bounds of the intervals, in seconds; the last one has none.
  package static let boundsSeconds = [
    0.0001, 0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
  ]

  /// One for each bound, and one beyond.
  package private(set) var counts = [Int](repeating: 0, count: boundsSeconds.count + 1)
  package private(set) var count = 0
  package private(set) var sumSeconds = 0.0
  package private(set) var maxSeconds = 0.0

  package init() {}

  package mutating func add(_ seconds: Double) {
    let index = Self.boundsSeconds.firstIndex { seconds <= $0 } ?? Self.boundsSeconds.count
    counts[index] += 1
    count += 1
    sumSeconds += seconds
    maxSeconds = max(maxSeconds, seconds)
  }

  /// How many do not exceed each bound, and how many there are.
  package var cumulative: [Int] {
    var sum = 0
    return counts.map { count in
      sum += count
      return sum
    }
  }

  /// A time that this share of them does not exceed, to the accuracy of the intervals; nil if there are none.
  package func quantile(_ share: Double) -> Double? {
    guard count > 0 else { return nil }
    let rank = max(1, Int((share * Double(count)).rounded(.up)))
    var sum = 0
    for (index, bound) in Self.boundsSeconds.enumerated() {
      sum += counts[index]
      if sum >= rank { return min(bound, maxSeconds) }
    }
    return maxSeconds
  }
}
