// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// A histogram of durations since the start of the bus.
///
/// The histogram counts durations in buckets, so quantiles are accurate only to 3.2 %.
public struct DurationHistogram: Hashable, Sendable {
  /// The number of durations between two bounds.
  public struct Bucket: Hashable, Sendable {
    /// The inclusive bound.
    public var lowerBound: Duration
    /// The exclusive bound.
    public var upperBound: Duration
    /// The number of durations. The bus counts at most 4,294,967,295 in each bucket.
    public var count: Int
  }

  public init() { (count, sum, longest, buckets) = (0, .zero, .zero, []) }

  public var count: Int
  public var sum: Duration
  public var longest: Duration
  /// The buckets that are not empty, sorted by duration.
  public var buckets: [Bucket]

  public mutating func add(_ other: DurationHistogram) {
    add(other, times: 1)
    longest = max(longest, other.longest)
  }

  /// Adds the counts and the sum of another histogram `factor` times. A factor of −1 subtracts them. Does
  /// not change `longest`.
  package mutating func add(_ other: DurationHistogram, times factor: Int) {
    count += factor * other.count
    sum += other.sum * factor
    var counts: [Bucket] = []
    counts.reserveCapacity(buckets.count + other.buckets.count)
    let added = other.buckets.map { bucket in
      Bucket(lowerBound: bucket.lowerBound, upperBound: bucket.upperBound, count: factor * bucket.count)
    }
    for bucket in (buckets + added).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = counts.indices.last, counts[last].lowerBound == bucket.lowerBound {
        counts[last].count += bucket.count
      } else {
        counts.append(bucket)
      }
    }
    buckets = counts
  }

  /// The duration that the given fraction of all durations does not exceed. Nil if the histogram is empty.
  ///
  /// - Parameter part: the fraction, such as 0.5 for the median; clamped to 0...1.
  public func quantile(_ part: Double) -> Duration? {
    guard count > 0 else { return nil }
    let rank = max(1, Int((Double(count) * min(max(part, 0), 1)).rounded(.up)))
    var counted = 0
    for bucket in buckets.dropLast() {
      counted += bucket.count
      if counted >= rank { return (bucket.lowerBound + bucket.upperBound) / 2 }
    }
    return longest
  }
}

extension DurationHistogram {
  package init(_ durations: Durations) {
    let buckets = durations.counts.enumerated().compactMap { index, count -> Bucket? in
      let bucket = Int(durations.first) + index
      guard count > 0, bucket < Durations.bucketCount else { return nil }
      return Bucket(
        lowerBound: .microseconds(Int64(Durations.start(ofBucket: bucket))),
        upperBound: .microseconds(Int64(Durations.start(ofBucket: bucket + 1))), count: Int(count))
    }
    self.init()
    count = buckets.reduce(0) { $0 + $1.count }
    sum = .microseconds(Int64(clamping: durations.sum))
    longest = .microseconds(Int64(clamping: durations.longest))
    self.buckets = buckets
  }
}
