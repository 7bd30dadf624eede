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
    /// Of the ratios that each round has found within itself, the quartiles.
    var ratio: [Double]
    var target: Double?
    var rounds: [Sample]
  }

  private var rows: [Row] {
    Series.allCases.compactMap { series in
      guard let found = samples[series], let baseline = samples[series.baseline] else { return nil }
      let tails = found.compactMap(\.tail)
      let ratios = zip(found, baseline).map { $0.value / $1.value }
      return Row(
        series: series,
        median: Sample(
          value: found.map(\.value).quantile(0.5), tail: tails.isEmpty ? nil : tails.quantile(0.5),
          server: found.map(\.server).quantile(0.5)),
        ratio: [0.25, 0.5, 0.75].map(ratios.quantile), target: series.target, rounds: found)
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
    var lines = [line("round trip", "p50 µs", "p99 µs", "server µs", "× relay", "quartiles")]
    lines += rows.filter { $0.series.kind == .roundTrips }.map { line($0, digits: 1) }
    lines += ["", line("stream of 128 B messages", "M/s", "", "server CPU", "× relay", "quartiles")]
    lines += rows.filter { $0.series.kind != .roundTrips }.map { line($0, digits: 2) }
    guard effort.isTimed else {
      return (lines + ["", "All that was sent arrived. So few messages say nothing about time."]).joined(
        separator: "\n")
    }
    lines += [
      "",
      """
      Medians of \(effort.roundTripRounds) rounds of \(effort.roundTrips) round trips, \(effort.streamRounds) of \
      \(effort.messages) messages; ratios within the rounds.
      """,
    ]
    lines += rows.compactMap { row in
      row.target.map { target in
        "\(row.series.title): × \(number(row.ratio[1], 2)), to be at most \(number(target, 2)): "
          + (row.ratio[1] <= target ? "met" : "missed")
      }
    }
    return lines.joined(separator: "\n")
  }

  private func line(_ row: Row, digits: Int) -> String {
    line(
      row.series.title, number(row.median.value, digits), row.median.tail.map { number($0, digits) } ?? "",
      number(row.median.server, digits), number(row.ratio[1], 2),
      row.series.isRelay ? "" : "\(number(row.ratio[0], 2))–\(number(row.ratio[2], 2))")
  }

  private func number(_ value: Double, _ digits: Int) -> String {
    value.formatted(
      .number.precision(.fractionLength(digits)).grouping(.never).locale(Locale(identifier: "en_US_POSIX")))
  }

  private func line(_ title: String, _ columns: String...) -> String {
    var text = padded(title, to: -30)
    for column in columns { text += padded(column, to: 12) }
    while text.last == " " { text.removeLast() }
    return text
  }

  /// Negative widths align to the left.
  private func padded(_ text: String, to width: Int) -> String {
    let filling = String(repeating: " ", count: max(0, abs(width) - text.count))
    return width < 0 ? text + filling : filling + text
  }
}
