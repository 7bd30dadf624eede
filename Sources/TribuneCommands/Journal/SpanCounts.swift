// SPDX-License-Identifier: Apache-2.0

/// Counts spans of time by their length. Its memory is bounded, because spans that differ by less than a thirty-second of
/// their length are counted together.
struct SpanCounts {
  /// Spans of the same octave are in as many buckets as these bits can number.
  private static let bits = 5

  /// How many spans each bucket has.
  private var counts: [Int: Int] = [:]
  private var count = 0
  /// In microseconds, exact; nil without a span.
  private(set) var longest: UInt64?

  mutating func add(_ microseconds: UInt64) {
    counts[Self.bucket(of: microseconds), default: 0] += 1
    count += 1
    longest = max(longest ?? 0, microseconds)
  }

  /// The span that so many percent of all do not exceed, in microseconds. It may be a thirty-second too long. Nil without
  /// a span.
  func percentile(_ percent: Int) -> UInt64? {
    guard let longest else { return nil }
    var left = (count * percent + 99) / 100
    for (bucket, count) in counts.sorted(by: { $0.key < $1.key }) {
      left -= count
      if left <= 0 { return min(Self.last(of: bucket), longest) }
    }
    return longest
  }

  /// Short spans have a bucket each. Of longer ones, the bucket is the place of the first bit, and the bits after it.
  private static func bucket(of span: UInt64) -> Int {
    let shift = max(0, UInt64.bitWidth - 1 - span.leadingZeroBitCount - bits)
    return shift << bits + Int(span >> shift)
  }

  /// The longest span that is in a bucket.
  private static func last(of bucket: Int) -> UInt64 {
    let shift = max(0, bucket >> bits - 1)
    return (UInt64(bucket - shift << bits + 1) << shift) &- 1
  }
}
