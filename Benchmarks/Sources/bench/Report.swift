// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What all rounds found.
struct Report {
  let effort: Effort
  private var samples: [Series: [Sample]] = [:]

  init(effort: Effort) { self.effort = effort }

  mutating func add(_ sample: Sample, to series: Series) {
    samples[series, default: []].append(sample)
  }

  /// A series' figures: the medians over the rounds.
  private struct Row: Encodable {
    var series: Series
    var median: Sample
    /// The multiple of the bare relay's median.
    var ofFloor: Double
    /// Of the multiples of the relay with the same clients, as each round has found one within itself:
    /// the quartiles.
    var ofBaseline: [Double]
    var target: Double?
    var rounds: [Sample]
  }

  private var rows: [Row] {
    Series.allCases.compactMap { series in
      guard let found = samples[series], let baseline = samples[series.baseline],
        let floor = samples[series.floor]
      else { return nil }
      let tails = found.compactMap(\.tail)
      return Row(
        series: series,
        median: Sample(
          value: found.map(\.value).quantile(0.5), tail: tails.isEmpty ? nil : tails.quantile(0.5),
          server: found.map(\.server).quantile(0.5)),
        ofFloor: zip(found, floor).map { $0.value / $1.value }.quantile(0.5),
        ofBaseline: [0.25, 0.5, 0.75].map(zip(found, baseline).map { $0.value / $1.value }.quantile),
        target: series.target, rounds: found)
    }
  }

  var json: Data {
    get throws {
      struct Document: Encodable {
        var effort: Effort
        var series: [Row]
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      return try encoder.encode(Document(effort: effort, series: rows)) + Data("\n".utf8)
    }
  }

  var table: String {
    var lines = [line("round trip, 64 B", "p50 µs", "p99 µs", "server µs", "× relay", "× same clients")]
    lines += rows.filter { !$0.series.isStream }.map { line($0, digits: 1) }
    lines += ["", line("stream of 128 B messages", "M/s", "", "server CPU", "× relay", "")]
    lines += rows.filter(\.series.isStream).map { line($0, digits: 2) }
    guard effort.isTimed else {
      return (lines + ["", "All that was sent arrived. So few messages say nothing about time."])
        .joined(separator: "\n")
    }
    lines += [
      "",
      """
      Medians of \(effort.roundTripRounds) rounds of \(effort.roundTrips) round trips, and of \
      \(effort.streamRounds) of \(effort.messages) messages.
      """,
    ]
    lines += rows.compactMap { row in row.target.map { verdict(on: row, target: $0) } }
    return lines.joined(separator: "\n")
  }

  private func line(_ row: Row, digits: Int) -> String {
    line(
      row.series.title, number(row.median.value, digits), row.median.tail.map { number($0, digits) } ?? "",
      number(row.median.server, digits), number(row.ofFloor, 2),
      row.series.isStream ? "" : number(row.ofBaseline[1], 2))
  }

  private func verdict(on row: Row, target: Double) -> String {
    """
    \(row.series.title): \(number(row.ofBaseline[1], 2)) times the relay with the same clients (half of the \
    rounds: \(number(row.ofBaseline[0], 2)) to \(number(row.ofBaseline[2], 2))), to be at most \
    \(number(target, 2)): \(row.ofBaseline[1] <= target ? "met" : "missed")
    """
  }

  private func number(_ value: Double, _ digits: Int) -> String {
    value.formatted(
      .number.precision(.fractionLength(digits)).grouping(.never).locale(Locale(identifier: "en_US_POSIX")))
  }

  private func line(_ title: String, _ columns: String...) -> String {
    var text = padded(title, to: -30)
    for column in columns { text += padded(column, to: 15) }
    while text.last == " " { text.removeLast() }
    return text
  }

  /// Negative widths align to the left.
  private func padded(_ text: String, to width: Int) -> String {
    let filling = String(repeating: " ", count: max(0, abs(width) - text.count))
    return width < 0 ? text + filling : filling + text
  }
}
