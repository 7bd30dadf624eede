// SPDX-License-Identifier: Apache-2.0

/// A row of a table of `top`.
struct TopRow: Equatable, Sendable {
  /// One for each column of the view.
  var values: [TopValue]
  /// Whether somebody has waited for it for long, or it loses what it should get.
  var isMarked = false
  /// Whether it is about what is not there any more.
  var isPast = false
  /// How many rows above it lead to it, in the tree of who waits for whom.
  var depth = 0

  /// Whether somebody who has waited for so long has a reason to look at what is waited for.
  static func isLong(_ wait: Duration?) -> Bool { wait ?? .zero >= .seconds(1) }

  /// What stands before the last value, for the tree.
  var branch: String { depth > 0 ? String(repeating: "  ", count: depth - 1) + "└─ " : "" }

  /// Whether a value has the text, whatever the case of its letters.
  func contains(_ text: String) -> Bool {
    let text = text.lowercased()
    return values.contains { $0.shown.lowercased().contains(text) }
  }
}

/// Rows that stay together wherever they are sorted: a row, and those that belong below it.
typealias TopGroup = [TopRow]
