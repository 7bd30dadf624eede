// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The results as tables for people.
struct MarkdownReport {
  private let results: Results
  private let charts: [String]

  /// - Parameter charts: the names of the charts' files, in the same folder.
  init(_ results: Results, charts: [String]) {
    self.results = results
    self.charts = charts
  }

  var text: String {
    var parts = [heading]
    if !targetRows.isEmpty { parts.append(targets) }
    if charts.contains("comparison.svg") {
      parts.append("## Side by side\n\n![The servers side by side](comparison.svg)")
    }
    parts += results.works.map(section)
    parts += results.curves.map(section)
    if !results.absences.isEmpty { parts.append(absences) }
    return parts.joined(separator: "\n\n") + "\n"
  }

  private var heading: String {
    let machine = results.machine
    let versions = machine.versions.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    let day = machine.date.formatted(.iso8601.year().month().day())
    return """
      <!-- Written by "make bench". What it does and how to read it is in README.md. -->
      # Results

      \(day), \(machine.kernel), \(machine.processors) processors. \(versions.joined(separator: "; ")).

      Medians of \(results.effort.rounds) rounds, and the least and the most of them. A ratio is found within each \
      round; its median counts. Only ratios mean anything, and only those inside one table.
      """
  }

  private func table(_ titles: [String], _ rows: [[String]]) -> String {
    ([titles, titles.map { _ in "---" }] + rows).map { "| \($0.joined(separator: " | ")) |" }
      .joined(separator: "\n")
  }

  // The targets.

  private var targetRows: [[String]] {
    results.works.flatMap { result in
      result.work.targets.map { target in
        let wanted = target.text(in: result.work.unit)
        do {
          let reading = try target.reading(of: result)
          return [
            target.title, wanted, text(reading.spread.median, target, result),
            "\(text(reading.spread.least, target, result)) – \(text(reading.spread.most, target, result))",
            reading.isMet ? "met" : "**missed**",
          ]
        } catch {
          return [target.title, wanted, "–", "–", "not measured: \(error)"]
        }
      }
    }
  }

  private func text(_ value: Double, _ target: Target, _ result: WorkResult) -> String {
    if case .none = target.reference { result.work.unit.text(value) } else { value.ratio }
  }

  private var targets: String {
    """
    ## Targets

    \(table(["work", "target", "median", "least – most", ""], targetRows))

    No heap allocation for a steady-state post, and at most two for an ask: `make test` counts them.
    """
  }

  // What was measured.

  private func section(_ result: WorkResult) -> String {
    let work = result.work
    let found = work.subjects.compactMap { result.found($0) }.flatMap { $0 }
    let hasTails = found.contains { $0.tail != nil }
    let hasServer = found.contains { $0.server != nil }
    var titles = ["", work.unit.isRate ? "rate" : hasTails ? "p50" : "median", "least – most"]
    if hasTails { titles.append("p99") }
    if hasServer { titles.append(work.unit.isRate ? "server, processors" : "server") }
    titles.append("× \(work.baseline.title)")
    let rows = work.subjects.map { subject -> [String] in
      guard let samples = result.found(subject), let spread = result.spread(of: subject) else {
        let reason = result.absences[subject]?.reason ?? "no round was finished"
        return [subject.title, "not measured: \(reason.inTable)"] + titles.dropFirst(2).map { _ in "" }
      }
      var cells = [
        subject.title, work.unit.text(spread.median),
        "\(work.unit.text(spread.least)) – \(work.unit.text(spread.most))",
      ]
      if hasTails { cells.append(Spread(samples.compactMap(\.tail)).map { work.unit.text($0.median) } ?? "") }
      if hasServer {
        let server = Spread(samples.compactMap(\.server))?.median
        cells.append(server.map { work.unit.isRate ? $0.fixed(2) : work.unit.text($0) } ?? "")
      }
      cells.append(result.multiples(of: subject).map { $0.median.ratio } ?? "")
      return cells
    }
    return "## \(work.title)\n\n\(work.note)\n\n\(table(titles, rows))"
  }

  private func section(_ result: CurveResult) -> String {
    let curve = result.curve
    let subjects = result.subjects
    let rows = result.points.map { point in
      [curve.isOverBytes ? Unit.bytes.text(Double(point.x)) : point.x.grouped]
        + subjects.map { subject in
          point.result.spread(of: subject).map { point.result.work.unit.text($0.median) } ?? "–"
        }
    }
    let file = "\(curve.name).svg"
    let chart = charts.contains(file) ? "![\(curve.title)](\(file))\n\n" : ""
    return "## \(curve.title)\n\n\(curve.note)\n\n\(chart)"
      + table([curve.xTitle] + subjects.map(\.title), rows)
  }

  private var absences: String {
    "## Not measured\n\n" + results.absenceLines.map { "- \($0)" }.joined(separator: "\n")
  }
}

extension Double {
  /// A multiple of something.
  var ratio: String {
    magnitude >= 99.5 ? fixed(0) : magnitude >= 9.95 ? fixed(1) : magnitude >= 0.095 ? fixed(2) : fixed(4)
  }
}

extension String {
  /// Escaped for a table's cell.
  fileprivate var inTable: String {
    replacing("|", with: "\\|").replacing("\n", with: " ")
  }
}
