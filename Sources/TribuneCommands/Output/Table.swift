// SPDX-License-Identifier: Apache-2.0

/// A table whose columns are as wide as their widest cells.
struct Table: Sendable {
  struct Column: Sendable {
    var title: String
    var isNumeric = false
    var style = Style.plain

    static func number(_ title: String) -> Column { Column(title: title, isNumeric: true) }
  }

  private struct Cell: Sendable {
    var text: String
    var style: Style
  }

  private let columns: [Column]
  private var rows: [[Cell]] = []

  init(_ columns: [Column]) { self.columns = columns }

  /// Adds a row with a text for each column. The texts are escaped; an empty one is shown as `-`.
  ///
  /// - Parameter styles: by column title; override the styles of the columns.
  mutating func append(_ texts: [String], styles: [String: Style] = [:]) {
    precondition(texts.count == columns.count)
    rows.append(
      zip(columns, texts).map { column, text in
        Cell(text: text.isEmpty ? "-" : text.terminalSafe, style: styles[column.title] ?? column.style)
      })
  }

  /// The table's lines, each with its line feed; none without a row.
  func text(hasHeader: Bool, isColoured: Bool) -> String {
    if rows.isEmpty { return "" }
    let header = columns.map { Cell(text: $0.title, style: .underlined) }
    let all = (hasHeader ? [header] : []) + rows
    var text = ""
    let widths = columns.indices.map { index in all.map { $0[index].text.unicodeScalars.count }.max() ?? 0 }
    for row in all {
      for (index, cell) in row.enumerated() {
        let isLast = index == row.count - 1
        let padding = String(repeating: " ", count: widths[index] - cell.text.unicodeScalars.count)
        let shown = cell.style.apply(to: cell.text, isColoured: isColoured)
        if columns[index].isNumeric {
          text += padding + shown
        } else {
          text += shown + (isLast ? "" : padding)
        }
        text += isLast ? "\n" : "  "
      }
    }
    return text
  }
}

extension Table.Column: ExpressibleByStringLiteral {
  init(stringLiteral title: String) { self.init(title: title) }
}
