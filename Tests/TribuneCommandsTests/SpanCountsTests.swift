// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneCommands

@Suite("Counted spans", .timeLimit(.minutes(15)))
struct SpanCountsTests {
  @Test(
    "have a median, a 99th percentile and a longest",
    arguments: [
      ([], nil, nil, nil), ([0], 0, 0, 0), ([350], 350, 350, 350), ([1, 2], 1, 2, 2), ([9, 1, 5], 5, 9, 9),
      ([63, 64, 65], 65, 65, 65), ([7, 7, 7, 7, 1_000_000], 7, 1_000_000, 1_000_000),
      ([UInt64.max], .max, .max, .max), (Array(1...60), 30, 60, 60),
    ] as [(spans: [UInt64], median: UInt64?, p99: UInt64?, longest: UInt64?)])
  func percentiles(spans: [UInt64], median: UInt64?, p99: UInt64?, longest: UInt64?) {
    var counts = SpanCounts()
    for span in spans { counts.add(span) }
    #expect(counts.percentile(50) == median)
    #expect(counts.percentile(99) == p99)
    #expect(counts.longest == longest)
  }

  @Test("are too long by a thirty-second at most, and never too short", arguments: [50, 99])
  func accuracy(percent: Int) {
    for scale in (0..<60).map({ UInt64(1) << $0 }) {
      let spans = (1...100).map { scale / 7 * $0 + $0 }
      var counts = SpanCounts()
      for span in spans { counts.add(span) }
      let exact = spans[percent - 1]
      let counted = counts.percentile(percent) ?? 0
      #expect((exact...exact + exact / 32).contains(counted))
    }
  }
}
