// SPDX-License-Identifier: Apache-2.0

/// A histogram of durations, with the buckets of docs/LISTING.md. Below 32 µs, each microsecond has its own
/// bucket. From 32 µs on, 16 buckets divide the range from each power of two to the next. Below the last
/// bucket, a duration differs from the middle of its bucket by at most 3.2 %.
extension Durations {
  /// The last bucket also counts all durations above its range.
  package static let bucketCount = 464
  /// In microseconds. Each shorter duration has its own bucket. Must be `2 << partBits`.
  private static let exactMax: UInt64 = 32
  private static let partBits = 4
  private static let longestCounted: UInt64 = 1 << 32 - 1

  @inline(__always) package static func bucket(of microseconds: UInt64) -> Int {
    guard microseconds >= exactMax else { return Int(truncatingIfNeeded: microseconds) }
    let counted = min(microseconds, longestCounted)
    let exponent = 63 &- counted.leadingZeroBitCount
    let part = Int(truncatingIfNeeded: counted &>> (exponent &- partBits)) &- (1 &<< partBits)
    return Int(exactMax) &+ (exponent &- 5) &<< partBits &+ part
  }

  /// The shortest duration in the bucket, in microseconds.
  package static func start(ofBucket bucket: Int) -> UInt64 {
    guard bucket >= exactMax else { return UInt64(bucket) }
    let (power, part) = (bucket - Int(exactMax)).quotientAndRemainder(dividingBy: 1 << partBits)
    return UInt64(1 << partBits + part) << (power + 1)
  }

  @inline(__always) package mutating func record(nanoseconds: UInt64) {
    record(microseconds: nanoseconds / 1000)
  }

  @inline(__always) package mutating func record(microseconds: UInt64) {
    sum &+= microseconds
    if microseconds > longest { longest = microseconds }
    let bucket = Self.bucket(of: microseconds)
    if bucket < first || bucket >= Int(first) &+ counts.count { extend(to: bucket) }
    let index = bucket &- Int(first)
    if counts[index] < .max { counts[index] &+= 1 }
  }

  private mutating func extend(to bucket: Int) {
    if counts.isEmpty { first = UInt16(bucket) }
    if bucket < first {
      counts.insert(contentsOf: [UInt32](repeating: 0, count: Int(first) - bucket), at: 0)
      first = UInt16(bucket)
    }
    let missing = bucket - Int(first) - counts.count + 1
    if missing > 0 { counts.append(contentsOf: [UInt32](repeating: 0, count: missing)) }
  }

  package mutating func add(_ other: Durations) {
    sum &+= other.sum
    longest = max(longest, other.longest)
    for (index, count) in other.counts.enumerated() where count > 0 {
      let bucket = Int(other.first) + index
      // `other` can come from a peer, and can have counts for buckets that do not exist.
      guard bucket < Self.bucketCount else { return }
      if bucket < first || bucket >= Int(first) + counts.count { extend(to: bucket) }
      let (total, hasOverflown) = counts[bucket - Int(first)].addingReportingOverflow(count)
      counts[bucket - Int(first)] = hasOverflown ? .max : total
    }
  }
}
