// SPDX-License-Identifier: Apache-2.0

/// A table whose columns are as wide as their widest cells.
struct Table: Sendable {
  struct Column: Sendable {
    var title: String
    var isNumeric = false
  }

  struct Cell: Sendable {
    var text: String
    var style = Style.plain
  }

  private let columns: [Column]
  private var rows: [[Cell]] = []

  init(_ columns: [Column]) { self.columns = columns }

  /// Adds a row with a cell for each column. The texts are escaped; an empty one is shown as `-`.
  mutating func append(_ cells: [Cell]) {
    precondition(cells.count == columns.count)
    rows.append(
      cells.map { Cell(text: $0.text.isEmpty ? "-" : $0.text.terminalSafe, style: $0.style) })
  }

  mutating func append(_ texts: [String]) {
    append(texts.map { Cell(text: $0) })
  }

  var isEmpty: Bool { rows.isEmpty }

  /// The table's lines, each with its line feed.
  func text(hasHeader: Bool, isColoured: Bool) -> String {
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

extension Table.Cell: ExpressibleByStringLiteral {
  init(stringLiteral text: String) { self.init(text: text) }
}
