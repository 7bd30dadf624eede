// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A table for people. A column is as wide as its widest cell, or narrower if the terminal lacks space.
struct Table: Sendable {
  struct Column: Sendable {
    var title: String
    var isNumeric = false
    var style = Style.plain
    /// If the terminal lacks space, columns with the highest rank are dropped first.
    var rank = 0

    static func number(_ title: String, rank: Int = 0) -> Column {
      Column(title: title, isNumeric: true, rank: rank)
    }

    static func text(_ title: String, rank: Int = 0) -> Column { Column(title: title, rank: rank) }

    /// The least width to which the column may be cut. Numbers are never cut.
    fileprivate func leastWidth(of width: Int) -> Int {
      isNumeric ? width : min(width, max(title.columnCount, Self.cutWidth))
    }

    private static let cutWidth = 12
  }

  private static let gap = 2

  private struct Cell: Sendable {
    var text: String
    var style: Style
  }

  private let columns: [Column]
  private var rows: [[Cell]] = []

  init(_ columns: [Column]) { self.columns = columns }

  /// Appends a row. Control characters in texts are escaped, and an empty text becomes `-`.
  ///
  /// - Parameter styles: keyed by column title. These styles override the columns' own.
  mutating func append(_ texts: [String], styles: [String: Style] = [:]) {
    precondition(texts.count == columns.count)
    rows.append(
      zip(columns, texts).map { column, text in
        Cell(text: text.isEmpty ? "-" : text.terminalSafe, style: styles[column.title] ?? column.style)
      })
  }

  struct Arrangement: Sendable {
    fileprivate var columns: [String]?
    fileprivate var order: String?

    init(_ invocation: Invocation, for output: Context.Output) throws(CommandError) {
      columns = invocation.text(.columns)?.split(separator: ",", omittingEmptySubsequences: false).map {
        String($0)
      }
      order = invocation.text(.sort)
      if output.writesValues { try invocation.refuse([.columns, .sort], beside: .output) }
    }
  }

  func arranged(by arrangement: Arrangement) throws(CommandError) -> Table {
    var table = self
    if let order = arrangement.order {
      let column = try index(of: order.trimmingPrefix("-"), for: .sort)
      let isNumeric = columns[column].isNumeric
      let keys = rows.map { SortKey($0[column].text, isNumeric: isNumeric) }
      let places = rows.indices.sorted { keys[$0] < keys[$1] }
      table.rows = (order.hasPrefix("-") ? places.reversed() : places).map { rows[$0] }
    }
    if let titles = arrangement.columns {
      var places: [Int] = []
      for title in titles { places.append(try index(of: title[...], for: .columns)) }
      let arranged = table.rows.map { row in places.map { row[$0] } }
      table = Table(places.map { columns[$0] })
      table.rows = arranged
    }
    return table
  }

  private func index(of title: Substring, for option: Option) throws(CommandError) -> Int {
    if let index = columns.firstIndex(where: { $0.title == title.uppercased() }) { return index }
    let titles = columns.map(\.title)
    throw .usage(
      "\(option.spelling): there is no column \"\(String(title).terminalSafe)\""
        + Spelling.hint(for: String(title), among: titles) { $0 }
        + "; there are \(titles.joined(separator: ", "))")
  }

  /// A cell as a sort key. Numbers and time spans are sorted by size, and precede texts.
  private enum SortKey: Comparable {
    case number(Double)
    case text(String)

    private static func microseconds(_ text: String) -> Int64? {
      do throws(TimeSpan.SyntaxError) {
        return try TimeSpan(text).microseconds
      } catch {
        return nil
      }
    }

    init(_ text: String, isNumeric: Bool) {
      let digits = text.trimmingPrefix(":")
      if isNumeric, let number = Double(digits) {
        self = .number(number)
      } else if isNumeric, let microseconds = Self.microseconds(text) {
        self = .number(Double(microseconds))
      } else {
        self = .text(text)
      }
    }
  }

  /// - Parameter limit: the terminal's width; nil without a limit. If the table is wider, texts are cut. If
  ///   the table is then still too wide, columns are dropped by rank.
  func text(hasHeader: Bool, isColoured: Bool, limit: Int? = nil) -> String {
    if rows.isEmpty { return "" }
    let header = columns.map { Cell(text: $0.title, style: .underlined) }
    let all = (hasHeader ? [header] : []) + rows
    let layout = layout(of: all, limit: limit)
    var text = ""
    for row in all {
      for (place, column) in layout.enumerated() {
        let cell = row[column.index]
        let isLast = place == layout.count - 1
        let cut = cell.text.cut(toColumns: column.width)
        let padding = String(repeating: " ", count: column.width - cut.columnCount)
        let shown = cell.style.apply(to: cut, isColoured: isColoured)
        if columns[column.index].isNumeric {
          text += padding + shown
        } else {
          text += shown + (isLast ? "" : padding)
        }
        text += isLast ? "\n" : String(repeating: " ", count: Self.gap)
      }
    }
    return text
  }

  private func layout(of cells: [[Cell]], limit: Int?) -> [(index: Int, width: Int)] {
    var layout = columns.indices.map { index in
      (index: index, width: cells.map { $0[index].text.columnCount }.max() ?? 0)
    }
    guard let limit else { return layout }
    func space() -> Int { limit - Self.gap * (layout.count - 1) }
    while layout.reduce(0, { $0 + columns[$1.index].leastWidth(of: $1.width) }) > space(),
      let place = layout.indices.max(by: { columns[layout[$0].index].rank < columns[layout[$1].index].rank }),
      columns[layout[place].index].rank > 0
    { layout.remove(at: place) }
    for place in layout.indices {
      let (index, width) = layout[place]
      layout[place].width = min(width, max(limit, columns[index].leastWidth(of: width)))
    }
    func isWide(_ place: Int) -> Bool {
      layout[place].width > columns[layout[place].index].leastWidth(of: layout[place].width)
    }
    while layout.reduce(0, { $0 + $1.width }) > space(),
      let place = layout.indices.filter(isWide).max(by: { layout[$0].width < layout[$1].width })
    { layout[place].width -= 1 }
    return layout
  }
}

extension Table.Column: ExpressibleByStringLiteral {
  init(stringLiteral title: String) { self.init(title: title) }
}
