// SPDX-License-Identifier: Apache-2.0

/// Who is being waited for while a query is under way: events and times go in, lines come out.
struct WaitingDisplay: Sendable {
  /// Delegates that get a line; of more, only how many they are is told.
  static let delegatesMax = 8

  private struct Row: Sendable {
    var delegate: UInt64
    var who: String
    var since: Duration
    var status: String
  }

  /// In the order of being asked.
  private var rows: [Row] = []

  /// A delegate is waited for from now on.
  mutating func asked(_ delegate: UInt64, who: String, at now: Duration) {
    deferred(delegate, who: who, status: nil, at: now)
  }

  /// A delegate says what it is at; nil leaves what it said before.
  mutating func deferred(_ delegate: UInt64, who: String, status: String?, at now: Duration) {
    if let place = rows.firstIndex(where: { $0.delegate == delegate }) {
      if let status { rows[place].status = status }
    } else {
      rows.append(Row(delegate: delegate, who: who, since: now, status: status ?? ""))
    }
  }

  /// A delegate is waited for no more.
  mutating func settled(_ delegate: UInt64) {
    rows.removeAll { $0.delegate == delegate }
  }

  /// What to show: none of the lines takes more than `columns` of a terminal.
  func lines(at now: Duration, columns: Int) -> [String] {
    var lines = rows.prefix(Self.delegatesMax).map { row in
      let said = row.status.isEmpty ? "" : ": " + row.status.terminalSafe
      let waited = Duration.seconds(max(.zero, now - row.since).components.seconds)
      return "waiting for \(row.who), \(waited == .zero ? "0s" : waited.inWords)\(said)"
    }
    if rows.count > lines.count { lines.append("and \(rows.count - lines.count) more") }
    return lines.map { $0.cut(toColumns: columns) }
  }
}

extension String {
  /// Its start, if the whole would take more columns of a terminal. A character that may be wide counts as
  /// that: a line that is a little short does no harm, one that wraps would not be taken away.
  fileprivate func cut(toColumns columns: Int) -> String {
    func width(_ scalar: Unicode.Scalar) -> Int { scalar.value < 0x1100 ? 1 : 2 }
    if unicodeScalars.reduce(0, { $0 + width($1) }) <= columns { return self }
    var kept = String.UnicodeScalarView()
    // The last column is for the mark that something is left out.
    var left = columns - 1
    for scalar in unicodeScalars {
      left -= width(scalar)
      if left < 0 { break }
      kept.append(scalar)
    }
    return String(kept) + (columns > 0 ? "…" : "")
  }
}

/// Lines at the end of a terminal's text, which are written over each other.
struct ReplaceableLines: Sendable {
  private var shown = 0

  /// What to write so that these lines stand in the place of the last; the cursor is at the start of a line
  /// before and after. Nothing, when there is nothing to change.
  mutating func replace(with lines: [String]) -> String {
    if shown == 0, lines.isEmpty { return "" }
    // Up to the first of them, and away with all from there.
    let back = shown == 0 ? "" : "\u{1B}[\(shown)A\r\u{1B}[J"
    shown = lines.count
    return back + lines.map { $0 + "\n" }.joined()
  }
}
