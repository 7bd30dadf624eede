// SPDX-License-Identifier: Apache-2.0

import Tribune

struct TopRenderer {
  private let model: TopModel
  private var lines: [StyledLine] = []

  static func lines(of model: TopModel) -> [StyledLine] {
    var renderer = TopRenderer(model: model)
    renderer.render()
    return renderer.lines
  }

  private init(model: TopModel) { self.model = model }

  private mutating func render() {
    if model.mode == .help {
      lines = TopHelp.lines.map { text in line { $0.append(text) } }
      lines = Array(lines.prefix(max(0, model.size.rows - 1)))
    } else {
      lines = TopHeader.lines(of: model) + [views] + table
    }
    let blank = max(0, model.size.rows - 1 - lines.count)
    lines += [StyledLine](repeating: StyledLine(width: model.size.columns), count: blank)
    lines = Array((lines.prefix(max(0, model.size.rows - 1)) + [footer]).prefix(model.size.rows))
  }

  private func line(_ build: (inout StyledLine) -> Void) -> StyledLine {
    var line = StyledLine(width: model.size.columns)
    build(&line)
    return line
  }

  private var views: StyledLine {
    line { line in
      if let problem = model.problem {
        line.append(problem, .alarm)
        return
      }
      let isNarrow = model.size.columns < TopView.allCases.reduce(0) { $0 + $1.rawValue.count + 4 }
      for view in TopView.allCases {
        let title = isNarrow && view != model.view ? "\(view.number)" : "\(view.number) \(view.rawValue)"
        line.append(title, view == model.view ? .selected : .faint)
        line.append("  ")
      }
      if model.isPaused { line.append("paused  ", .warning) }
      if model.sample?.restriction != nil { line.append("not all is shown", .warning) }
    }
  }

  private var footer: StyledLine {
    line { line in
      switch model.mode {
      case .browsing:
        for (key, text) in TopHelp.bar {
          line.append(key)
          line.append(text, .selected)
          line.append(" ")
        }
        if !model.filter.isEmpty { line.append("only: \(model.filter)", .warning) }
      case .help: line.append("Any key goes back.", .bold)
      case .sorting: line.append("Sort by which column? Enter takes it, Esc goes back.", .bold)
      case .typing(.search, let text): line.append("Search: \(text)_", .bold)
      case .typing(.filter, let text): line.append("Show only: \(text)_", .bold)
      }
    }
  }

  // MARK: The table

  private var table: [StyledLine] {
    let panel = columnPanel
    let panelWidth = panel.isEmpty ? 0 : 14
    let widths = TopColumnWidths(of: model.view.columns, in: model.size.columns - panelWidth - 2).widths
    var lines = [
      line { line in
        if !panel.isEmpty { line.append("Sort by", .title, in: panelWidth) }
        appendTitles(widths, to: &line)
      }
    ]
    let visible = model.rows.indices.dropFirst(model.first).prefix(model.size.tableRows)
    for offset in 0..<max(visible.count, min(panel.count, model.size.tableRows)) {
      lines.append(
        line { line in
          if !panel.isEmpty {
            let entry = offset < panel.count ? panel[offset] : ("", .plain)
            line.append(entry.0, entry.1, in: panelWidth)
          }
          let place = visible.startIndex + offset
          if visible.indices.contains(place) { append(model.rows[place], at: place, widths, to: &line) }
        })
    }
    if model.rows.isEmpty, panel.isEmpty { lines.append(line { $0.append(emptiness, .faint) }) }
    return lines
  }

  private var emptiness: String {
    guard let sample = model.sample, sample.view == model.view else { return "waiting for the bus" }
    if let refusal = sample.refusal { return refusal }
    if !model.filter.isEmpty { return "nothing matches" }
    if let restriction = sample.restriction { return "nothing that you may see: \(restriction)" }
    return model.view == .queries ? "no query is under way: nobody waits for anybody" : "there are none"
  }

  private var columnPanel: [(String, TopStyle)] {
    guard case .sorting(let chosen) = model.mode else { return [] }
    let entries = model.view.columns.enumerated().map { index, column -> (String, TopStyle) in
      (column.title, index == chosen ? .selected : .plain)
    }
    return Array(entries.dropFirst(max(0, chosen - model.size.tableRows + 1)))
  }

  private func appendTitles(_ widths: [(column: Int, width: Int)], to line: inout StyledLine) {
    line.append("  ", .title)
    for (column, width) in widths {
      let syntax = model.view.columns[column]
      let isSorted = column == model.order.column
      line.append(syntax.title, isSorted ? .selected : .title, in: width, alignedRight: !syntax.isText)
      line.append(" ", .title)
    }
    line.fill(.title)
  }

  private func append(
    _ row: TopRow, at place: Int, _ widths: [(column: Int, width: Int)], to line: inout StyledLine
  ) {
    let style: TopStyle =
      switch (place == model.selected, row.isMarked) {
      case (true, true): .selectedAlarm
      case (true, false): .selected
      case (false, true): .alarm
      case (false, false): row.isPast ? .faint : .plain
      }
    line.append(row.isMarked ? "! " : "  ", style)
    for (column, width) in widths {
      let syntax = model.view.columns[column]
      let branch = column == row.values.count - 1 ? row.branch : ""
      line.append(branch + row.values[column].shown, style, in: width, alignedRight: !syntax.isText)
      line.append(" ", style)
    }
    if place == model.selected { line.fill(style) }
  }
}

struct TopColumnWidths {
  private(set) var widths: [(column: Int, width: Int)]

  init(of columns: [TopColumn], in total: Int) {
    var kept = Array(columns.indices)
    func needed() -> Int { kept.reduce(0) { $0 + columns[$1].width + 1 } - 1 }
    while needed() > total, let last = kept.max(by: { columns[$0].rank < columns[$1].rank }),
      columns[last].rank > 0
    {
      kept.removeAll { $0 == last }
    }
    var left = max(0, total - needed())
    var growth = kept.reduce(0) { $0 + columns[$1].growth }
    widths = kept.map { index in
      let column = columns[index]
      let share = growth > 0 ? left * column.growth / growth : 0
      left -= share
      growth -= column.growth
      return (index, column.width + share)
    }
  }
}

enum TopHelp {
  static let bar = [
    ("F1", "Help"), ("F3", "Search"), ("F4", "Filter"), ("F5", "Tree"), ("F6", "SortBy"), ("F10", "Quit"),
  ]

  static let keys = [
    ("1 to 5, Tab", "another table: delegates, queries, …"),
    ("F5, t", "who waits for whom, as a tree or a list"),
    ("F6, >", "sort by another column"),
    ("I", "reverse the order"),
    ("F3, /", "search; n: the next one"),
    ("F4, \\", "show only rows with a text"),
    ("Z", "pause, and continue"),
    ("↑↓, j k, PgUp …", "move"),
    ("Ctrl-L", "draw again"),
    ("F1, h, ?", "this help"),
    ("q, F10, Ctrl-C", "quit"),
  ]

  static let lines =
    ["Nothing here changes the bus.", ""]
    + keys.map { key, meaning in
      "  " + key + String(repeating: " ", count: max(1, 17 - key.count)) + meaning
    } + [
      "", "! marks a delegate that a query has waited for,", "  for a second or longer.",
    ]
}
