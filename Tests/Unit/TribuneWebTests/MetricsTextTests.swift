// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune
import TribuneWeb
import TribuneWire

@Suite("The text of metrics", .timeLimit(.minutes(15)))
struct MetricsTextTests {
  private func text(_ format: MetricsText.Format, _ body: (inout MetricsText) -> Void) -> String {
    var text = MetricsText(format)
    body(&text)
    return String(decoding: text.finish(), as: UTF8.self)
  }

  @Test("A counter's family has no _total in OpenMetrics, and has it in the older format")
  func counters() {
    func counter(_ text: inout MetricsText) { text.counter("a_bytes", unit: "bytes", "Bytes.", 3) }
    #expect(
      text(.openMetrics, counter)
        == "# HELP a_bytes Bytes.\n# TYPE a_bytes counter\n# UNIT a_bytes bytes\na_bytes_total 3.0\n# EOF\n")
    #expect(
      text(.classic, counter)
        == "# HELP a_bytes_total Bytes.\n# TYPE a_bytes_total counter\na_bytes_total 3.0\n")
  }

  @Test("Any text in a label stays one line and one value")
  func labels() {
    let text = text(.classic) {
      $0.gauge("a", "A.", [(.init([("b", "\"\\\n}é")]), 0.5), (.init([("b", "c"), ("d", "e")]), 1)])
    }
    #expect(text.hasSuffix("a{b=\"\\\"\\\\\\n}é\"} 0.5\na{b=\"c\",d=\"e\"} 1.0\n"))
  }

  @Test("A histogram is cumulative, and its last bucket has all")
  func histogram() {
    var durations = Durations()
    for microseconds in [200, 3_000, 3_000, 100_000_000] as [UInt64] {
      durations.record(microseconds: microseconds)
    }
    let text = text(.openMetrics) {
      $0.histogram(
        "a_seconds", unit: "seconds", "A.", [(.init(), DurationHistogram(durations))])
    }
    for line in [
      "a_seconds_bucket{le=\"0.0001\"} 0.0", "a_seconds_bucket{le=\"0.0005\"} 1.0",
      "a_seconds_bucket{le=\"0.005\"} 3.0",
      "a_seconds_bucket{le=\"30.0\"} 3.0", "a_seconds_bucket{le=\"+Inf\"} 4.0", "a_seconds_count 4.0",
      "a_seconds_sum 100.0062",
    ] {
      #expect(text.contains("\n\(line)\n"), "\(line)")
    }
  }

  @Test("Facts as text are an info, or a gauge of 1")
  func info() {
    func info(_ text: inout MetricsText) { text.info("a", "A.", .init([("version", "1")])) }
    #expect(text(.openMetrics, info) == "# HELP a A.\n# TYPE a info\na_info{version=\"1\"} 1.0\n# EOF\n")
    #expect(text(.classic, info) == "# HELP a_info A.\n# TYPE a_info gauge\na_info{version=\"1\"} 1.0\n")
  }
}
