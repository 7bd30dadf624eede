// SPDX-License-Identifier: Apache-2.0

import Tribune

enum TopHeader {
  private struct Item {
    var label: String
    var value: String
    var style = TopStyle.bold
  }

  static func lines(of model: TopModel) -> [StyledLine] {
    let count = model.size.headerRows
    var lines = [StyledLine(width: model.size.columns)]
    for item in model.sample.map({ items(of: $0, model.rates) }) ?? [] {
      let width = item.label.columnCount + 1 + item.value.terminalSafe.columnCount
      if lines[lines.count - 1].room < width + 2, !lines[lines.count - 1].spans.isEmpty {
        lines.append(StyledLine(width: model.size.columns))
      }
      if !lines[lines.count - 1].spans.isEmpty { lines[lines.count - 1].append("  ") }
      lines[lines.count - 1].append(item.label + " ")
      lines[lines.count - 1].append(item.value, item.style)
    }
    let blank = max(0, count - lines.count)
    return Array(
      (lines + [StyledLine](repeating: StyledLine(width: model.size.columns), count: blank)).prefix(count))
  }

  private static func items(of sample: TopSample, _ rates: TopRates?) -> [Item] {
    let status = sample.snapshot.status
    func perSecond(_ rate: Double?) -> String { "\(rate?.abbreviatedRate ?? "-")/s" }
    let busy = rates?.busy.map { "\(Int(($0 * 100).rounded())) %" } ?? "-"
    let isLosing = rates?.losses ?? 0 > 0
    let isLogNearlyFull = status.logMax > 0 && status.logUsed > status.logMax / 4 * 3
    return [
      Item(label: "bus", value: status.address), Item(label: "up", value: status.uptime.abbreviated),
      Item(label: "connections", value: status.connections.abbreviated),
      Item(label: "queries", value: status.queries.abbreviated),
      Item(label: "posts", value: perSecond(rates?.posts)),
      Item(label: "deliveries", value: perSecond(rates?.deliveries)),
      Item(label: "asks", value: perSecond(rates?.asks)),
      Item(label: "vetoes", value: perSecond(rates?.vetoes)),
      Item(label: "lost", value: status.lost.abbreviated, style: isLosing ? .alarm : .bold),
      Item(label: "busy", value: busy, style: rates?.busy ?? 0 > 0.8 ? .warning : .bold),
      Item(
        label: "longest iteration", value: status.longestIteration.abbreviated,
        style: status.longestIteration > .milliseconds(100) ? .warning : .bold),
      Item(
        label: "log", value: "\(status.logUsed.abbreviatedBytes) of \(status.logMax.abbreviatedBytes)",
        style: isLogNearlyFull ? .warning : .bold),
      Item(label: "delegates", value: status.delegates.abbreviated),
      Item(label: "holds", value: status.holds.abbreviated),
    ]
  }
}
