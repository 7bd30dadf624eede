// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune
import TribuneTestSupport
import TribuneWire

@Suite("Histograms of durations")
struct DurationHistogramTests {
  @Test(
    "have quantiles that are at most 5 % from the truth, and the longest exactly",
    arguments: [0.01, 0.5, 0.9, 0.99, 0.999, 1], [0, 1, 2, 3] as [UInt64])
  func quantiles(_ part: Double, _ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    var durations = Durations()
    var times: [UInt64] = []
    for _ in 0..<20_000 {
      let time = UInt64.random(in: 0..<1 << UInt64.random(in: 1..<31, using: &generator), using: &generator)
      times.append(time)
      durations.record(microseconds: time)
    }
    times.sort()
    let truth = Double(times[max(1, Int((Double(times.count) * part).rounded(.up))) - 1])
    let histogram = DurationHistogram(durations)
    let quantile = try #require(histogram.quantile(part)) / .microseconds(1)
    #expect(abs(quantile - truth) <= truth * 0.05 + 0.5)
    #expect(histogram.count == times.count)
    #expect(histogram.longest == .microseconds(times[times.count - 1]))
    #expect(histogram.sum == .microseconds(times.reduce(0, +)))
  }

  @Test("have no quantiles without times") func empty() {
    #expect(DurationHistogram().quantile(0.5) == nil)
    #expect(DurationHistogram(Durations()) == DurationHistogram())
  }

  @Test("are added bucket by bucket") func sum() {
    var (one, two, both) = (Durations(), Durations(), Durations())
    for time in [1, 5, 5, 900, 70_000] as [UInt64] {
      one.record(microseconds: time)
      both.record(microseconds: time)
    }
    for time in [5, 6, 800_000] as [UInt64] {
      two.record(microseconds: time)
      both.record(microseconds: time)
    }
    var sum = DurationHistogram(one)
    sum.add(DurationHistogram(two))
    #expect(sum == DurationHistogram(both))
  }
}
