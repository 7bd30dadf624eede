// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The results as files: results.md, results.json, and the charts in results.md.
struct Report {
  /// The works in the bar chart: all servers can do them.
  private static let compared = ["round-trip", "stream-1", "stream-10", "mixed", "large"]

  let results: Results

  struct File {
    var name: String
    var text: String
  }

  var files: [File] {
    get throws {
      try [
        File(name: "results.md", text: MarkdownReport(results, charts: charts.map(\.name)).text),
        File(name: "results.json", text: JSONReport(results).text),
      ] + charts
    }
  }

  /// The charts of all that was measured.
  var charts: [File] {
    let works = results.works.filter { Self.compared.contains($0.work.name) }
    var all: [File] = []
    if let chart = BarChart(works) {
      all.append(File(name: "comparison.svg", text: chart.drawing.document))
    }
    for curve in results.curves {
      if let chart = GrowthChart(curve) {
        all.append(File(name: "\(curve.curve.name).svg", text: chart.drawing.document))
      }
    }
    return all
  }

  func write(to folder: URL) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for file in try files { try Data(file.text.utf8).write(to: folder.appending(path: file.name)) }
  }
}
