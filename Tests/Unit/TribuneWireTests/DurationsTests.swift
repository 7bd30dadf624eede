// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Histograms of durations")
struct DurationsTests {
  @Test(
    "have the buckets of LISTING.md",
    arguments: [
      (0, 0, 0), (1, 1, 1), (31, 31, 31), (32, 32, 32), (33, 32, 32), (34, 33, 34), (63, 47, 62),
      (64, 48, 64),
      (1000, 111, 992), (3_000_000, 294, 2_883_584), (4_294_967_295, 463, 4_160_749_568),
      (4_294_967_296, 463, 4_160_749_568), (.max, 463, 4_160_749_568),
    ] as [(UInt64, Int, UInt64)])
  func buckets(_ microseconds: UInt64, _ bucket: Int, _ start: UInt64) {
    #expect(Durations.bucket(of: microseconds) == bucket)
    #expect(Durations.start(ofBucket: bucket) == start)
  }

  @Test("have adjoining buckets, whose middle is near all their values")
  func precision() {
    for bucket in 0..<Durations.bucketCount {
      let (start, end) = (Durations.start(ofBucket: bucket), Durations.start(ofBucket: bucket + 1))
      #expect(start < end)
      #expect(Durations.bucket(of: start) == bucket)
      #expect(Durations.bucket(of: end - 1) == bucket)
      let middle = Double(start + end) / 2
      if bucket >= 32 { #expect((middle - Double(start)) / Double(start) < 0.032) }
    }
  }

  @Test("count recorded values in any order, and add other histograms")
  func counts() {
    var generator = SplitMix64(seed: 1)
    var (all, one, two) = (Durations(), Durations(), Durations())
    var expected = [UInt32](repeating: 0, count: Durations.bucketCount)
    var longest: UInt64 = 0
    for number in 0..<10_000 {
      let nanoseconds = UInt64.random(
        in: 0..<1 << UInt64.random(in: 1..<44, using: &generator), using: &generator)
      all.record(nanoseconds: nanoseconds)
      if number % 2 == 0 {
        one.record(nanoseconds: nanoseconds)
      } else {
        two.record(nanoseconds: nanoseconds)
      }
      expected[Durations.bucket(of: nanoseconds / 1000)] += 1
      longest = max(longest, nanoseconds / 1000)
    }
    one.add(two)
    #expect(one == all)
    #expect(all.longest == longest)
    #expect(Array(expected[Int(all.first)..<Int(all.first) + all.counts.count]) == all.counts)
    #expect(all.counts.reduce(0, +) == 10_000)
    #expect(all.counts.first != 0 && all.counts.last != 0)
  }

  @Test("stay within their buckets, whatever a peer sends", arguments: [(464, 1), (0, 465), (463, 2)])
  func hostile(_ first: UInt16, _ count: Int) {
    let hostile = Durations(
      sum: .max, longest: .max, first: first, counts: Array(repeating: .max, count: count))
    var durations = Durations()
    durations.record(nanoseconds: 5000)
    durations.add(hostile)
    durations.add(hostile)
    #expect(durations.counts.count <= Durations.bucketCount)
    #expect(durations.counts.allSatisfy { $0 > 0 || first > 0 })
  }
}
