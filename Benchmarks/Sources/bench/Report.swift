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

  /// A series' figures: the medians over the rounds, and the median of the ratios that each round has
  /// found within itself.
  private struct Row: Codable {
    var series: Series
    var median: Sample
    var ratio: Double
    var target: Double?
    var rounds: [Sample]
  }

  private var rows: [Row] {
    Series.allCases.compactMap { series in
      guard let found = samples[series], let baseline = samples[series.baseline] else { return nil }
      let tails = found.compactMap(\.tail)
      let middle = Sample(
        value: median(found.map(\.value)), tail: tails.isEmpty ? nil : median(tails),
        server: median(found.map(\.server)))
      let ratio = median(zip(found, baseline).map { $0.value / $1.value })
      return Row(series: series, median: middle, ratio: ratio, target: series.target, rounds: found)
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
    let roundTrips = rows.filter { $0.series.kind == .roundTrips }
    let streams = rows.filter { $0.series.kind != .roundTrips }
    var lines = [line("round trip", "p50 µs", "p99 µs", "server µs", "× relay")]
    for row in roundTrips {
      lines.append(
        line(
          row.series.title, number(row.median.value, 1), number(row.median.tail ?? 0, 1),
          number(row.median.server, 1), number(row.ratio, 2), verdict(on: row)))
    }
    lines += ["", line("stream of 128 B messages", "M/s", "", "server CPU", "× relay")]
    for row in streams {
      lines.append(
        line(
          row.series.title, number(row.median.value, 2), "", number(row.median.server, 2),
          number(row.ratio, 2)))
    }
    lines.append("")
    lines.append(
      effort.isTimed
        ? "medians of \(effort.rounds) rounds, each of \(effort.roundTrips) round trips and \(effort.notifications) messages"
        : "all that was sent arrived; so few messages say nothing about time")
    return lines.joined(separator: "\n")
  }

  private func verdict(on row: Row) -> String {
    guard effort.isTimed, let target = row.target else { return "" }
    return "target \(number(target, 2)): \(row.ratio <= target ? "met" : "missed")"
  }

  private func number(_ value: Double, _ digits: Int) -> String {
    value.formatted(
      .number.precision(.fractionLength(digits)).grouping(.never).locale(Locale(identifier: "en_US_POSIX")))
  }

  private func line(_ title: String, _ columns: String...) -> String {
    var text = padded(title, to: -30)
    for (index, column) in columns.enumerated() { text += index < 4 ? padded(column, to: 11) : "  " + column }
    while text.last == " " { text.removeLast() }
    return text
  }

  /// Negative widths align to the left.
  private func padded(_ text: String, to width: Int) -> String {
    let filling = String(repeating: " ", count: max(0, abs(width) - text.count))
    return width < 0 ? text + filling : filling + text
  }
}
