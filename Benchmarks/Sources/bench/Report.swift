// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What all rounds found.
struct Report {
  let effort: Effort
  let footprint: Footprint
  private var samples: [Series: [Sample]] = [:]

  init(effort: Effort, footprint: Footprint) {
    self.effort = effort
    self.footprint = footprint
  }

  mutating func add(_ sample: Sample, to series: Series) {
    samples[series, default: []].append(sample)
  }

  /// A series' figures: the medians over the rounds.
  private struct Row: Encodable {
    var series: Series
    var median: Sample
    /// The multiple of the bare relay's median.
    var ofFloor: Double
    /// Of the multiples of the cost of what it is compared with, as each round has found one within itself:
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
        ofBaseline: [0.25, 0.5, 0.75].map(
          zip(found, baseline).map { series.cost(of: $0) / (series.cost(of: $1) * series.baselineCount) }
            .quantile),
        target: series.target, rounds: found)
    }
  }

  var json: Data {
    get throws {
      struct Document: Encodable {
        var effort: Effort
        var series: [Row]
        var footprint: Footprint
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      return try encoder.encode(Document(effort: effort, series: rows, footprint: footprint))
        + Data("\n".utf8)
    }
  }

  var table: String {
    var lines = [line("round trip, 64 B", "p50 µs", "p99 µs", "server µs", "× relay", "× same clients")]
    lines += rows.filter { !$0.series.isStream && !$0.series.isScale && $0.series.chain == nil }
      .map { line($0, digits: 1) }
    lines += [
      "", line("ask, chain of 100 delegates", "p50 µs", "p99 µs", "server µs", "× relay", "× 100 asks"),
    ]
    lines += rows.filter { $0.series.chain != nil }.map { line($0, digits: 1) }
    lines += ["", line("stream of 128 B messages", "M/s", "", "server CPU", "× relay", "")]
    lines += rows.filter { $0.series.isStream && !$0.series.isScale }.map { line($0, digits: 2) }
    lines += [
      "",
      line(
        "one post, \(effort.crowd.observations) aside", "p50 µs", "p99 µs", "server µs", "", "× alone"),
    ]
    lines += rows.filter { $0.series.isScale && !$0.series.isStream }.map { line($0, digits: 1) }
    lines += ["", line("stream, \(effort.crowd.observations) aside", "M/s", "", "server CPU", "", "× alone")]
    lines += rows.filter { $0.series.isScale && $0.series.isStream }.map { line($0, digits: 2) }
    guard effort.isTimed else {
      return (lines + ["", "All that was sent arrived. So few messages say nothing about time."])
        .joined(separator: "\n")
    }
    lines += [
      "",
      """
      Medians of \(effort.roundTripRounds) rounds of \(effort.roundTrips) round trips and \
      \(effort.chainAsks) asks through each chain, and of \(effort.streamRounds) of \(effort.messages) \
      messages. Aside are \(effort.crowd.observations) observations of other names, on \
      \(effort.crowd.connections) connections.
      """,
    ]
    lines += rows.compactMap { row in row.target.map { verdict(on: row, target: $0) } }
    lines.append(footprintVerdict)
    return lines.joined(separator: "\n")
  }

  private func line(_ row: Row, digits: Int) -> String {
    line(
      row.series.title, row.median.value.fixed(digits), row.median.tail.map { $0.fixed(digits) } ?? "",
      row.median.server.fixed(digits), row.series.isScale ? "" : row.ofFloor.fixed(2),
      row.series.isStream && !row.series.isScale ? "" : row.ofBaseline[1].fixed(2))
  }

  private func verdict(on row: Row, target: Double) -> String {
    let title = row.series.chain.map { "chain of \($0.delegates), \(row.series.title)" } ?? row.series.title
    let baseline =
      row.series.chain.map { "\($0.delegates) single asks" }
      ?? (row.series.isScale ? "the same alone" : "the relay with the same clients")
    return """
      \(title): \(row.ofBaseline[1].fixed(2)) times \(baseline) (half of the rounds: \
      \(row.ofBaseline[0].fixed(2)) to \(row.ofBaseline[2].fixed(2))), to be at most \
      \(target.fixed(2)): \(row.ofBaseline[1] <= target ? "met" : "missed")
      """
  }

  private var footprintVerdict: String {
    """
    \(footprint.connections) idle connections: \(footprint.bytesEach) bytes resident each (\
    \(footprint.before / 1024) KiB before, \(footprint.after / 1024) with them), to be at most \
    \(Footprint.target): \(footprint.bytesEach <= Footprint.target ? "met" : "missed")
    """
  }

  private func line(_ title: String, _ columns: String...) -> String {
    var text = title.padded(to: -30)
    for column in columns { text += column.padded(to: 15) }
    while text.last == " " { text.removeLast() }
    return text
  }
}

extension String {
  /// Negative widths align to the left.
  func padded(to width: Int) -> String {
    let filling = String(repeating: " ", count: max(0, abs(width) - count))
    return width < 0 ? self + filling : filling + self
  }
}

extension Double {
  /// With so many digits behind the point.
  func fixed(_ digits: Int) -> String {
    formatted(
      .number.precision(.fractionLength(digits)).grouping(.never).locale(Locale(identifier: "en_US_POSIX")))
  }
}
