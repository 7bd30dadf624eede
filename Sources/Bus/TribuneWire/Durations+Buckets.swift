// SPDX-License-Identifier: Apache-2.0

/// The buckets of the histogram, as docs/LISTING.md describes them: one for each microsecond at first, and then 16 for each
/// power of two. The middle of a bucket is at most 3.2 % from what is counted there.
extension Durations {
  /// The number of buckets. The last one also has all that is longer.
  package static let bucketCount = 464
  /// Microseconds that have a bucket each. A power of two.
  private static let exactMax: UInt64 = 32
  /// The binary logarithm of the number of buckets for each power of two.
  private static let partBits = 4
  private static let longestCounted: UInt64 = 1 << 32 - 1

  /// The bucket in which a number of microseconds is counted.
  @inline(__always) package static func bucket(of microseconds: UInt64) -> Int {
    guard microseconds >= exactMax else { return Int(truncatingIfNeeded: microseconds) }
    let counted = min(microseconds, longestCounted)
    let exponent = 63 &- counted.leadingZeroBitCount
    let part = Int(truncatingIfNeeded: counted &>> (exponent &- partBits)) &- (1 &<< partBits)
    return Int(exactMax) &+ (exponent &- 5) &<< partBits &+ part
  }

  /// The least number of microseconds that is counted in a bucket.
  package static func start(ofBucket bucket: Int) -> UInt64 {
    guard bucket >= exactMax else { return UInt64(bucket) }
    let (power, part) = (bucket - Int(exactMax)).quotientAndRemainder(dividingBy: 1 << partBits)
    return UInt64(1 << partBits + part) << (power + 1)
  }

  @inline(__always) package mutating func note(nanoseconds: UInt64) { note(microseconds: nanoseconds / 1000) }

  @inline(__always) package mutating func note(microseconds: UInt64) {
    sum &+= microseconds
    if microseconds > longest { longest = microseconds }
    let bucket = Self.bucket(of: microseconds)
    if bucket < first || bucket >= Int(first) &+ counts.count { extend(to: bucket) }
    let index = bucket &- Int(first)
    if counts[index] < .max { counts[index] &+= 1 }
  }

  /// Makes the counts reach to a bucket.
  private mutating func extend(to bucket: Int) {
    if counts.isEmpty { first = UInt16(bucket) }
    if bucket < first {
      counts.insert(contentsOf: [UInt32](repeating: 0, count: Int(first) - bucket), at: 0)
      first = UInt16(bucket)
    }
    let missing = bucket - Int(first) - counts.count + 1
    if missing > 0 { counts.append(contentsOf: [UInt32](repeating: 0, count: missing)) }
  }

  /// Adds what another histogram has counted.
  package mutating func add(_ other: Durations) {
    sum &+= other.sum
    longest = max(longest, other.longest)
    for (index, count) in other.counts.enumerated() where count > 0 {
      let bucket = Int(other.first) + index
      // What a peer has sent can name buckets that do not exist.
      guard bucket < Self.bucketCount else { return }
      if bucket < first || bucket >= Int(first) + counts.count { extend(to: bucket) }
      let (total, hasOverflown) = counts[bucket - Int(first)].addingReportingOverflow(count)
      counts[bucket - Int(first)] = hasOverflown ? .max : total
    }
  }
}
