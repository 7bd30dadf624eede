// SPDX-License-Identifier: Apache-2.0

/// The space that text takes on a terminal.
extension String {
  /// The columns that the text may take: a character that may be wide counts as two. A line that is a little short does
  /// no harm, but one that wraps could not be erased.
  var columnCount: Int { unicodeScalars.reduce(0) { $0 + $1.columnCount } }

  /// The text, or the start of it that fits into `columns` with an ellipsis.
  func cut(toColumns columns: Int) -> String {
    if columnCount <= columns { return self }
    var kept = String.UnicodeScalarView()
    // The last column is for the ellipsis.
    var left = columns - 1
    for scalar in unicodeScalars {
      left -= scalar.columnCount
      if left < 0 { break }
      kept.append(scalar)
    }
    return String(kept) + (columns > 0 ? "…" : "")
  }
}

extension Unicode.Scalar {
  fileprivate var columnCount: Int { value < 0x1100 || self == "…" ? 1 : 2 }
}
