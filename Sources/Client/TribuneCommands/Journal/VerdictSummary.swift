// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

/// Verdicts, counted by name. Its memory is bounded: users choose the names that they ask under, and any process can write
/// to the journal.
struct VerdictSummary {
  /// The most names that are counted one by one, of the bus's own verdicts and of those that others have written. Those
  /// first seen after that are counted together.
  static let namesMax = 512

  private struct Key: Hashable {
    /// Nil for all further names.
    var name: String?
    /// See `LoggedVerdict.otherWriter`: what others write does not spoil the figures of the bus.
    var writer: String?

    /// In place of a key that is one too many.
    var ofOthers: Key { Key(writer: writer == nil ? nil : "other users") }
  }

  private var counts: [Key: VerdictCounts] = [:]
  private var nameCounts = (own: 0, others: 0)
  private var asked = 0

  mutating func add(_ verdict: LoggedVerdict) {
    let key = Key(name: verdict.name, writer: verdict.otherWriter)
    let isCounted = counts[key] != nil || take(key)
    counts[isCounted ? key : key.ofOthers, default: VerdictCounts()].add(verdict)
    asked += 1
  }

  /// Whether there is space for another name.
  private mutating func take(_ key: Key) -> Bool {
    if key.writer == nil {
      nameCounts.own += 1
      return nameCounts.own <= Self.namesMax
    }
    nameCounts.others += 1
    return nameCounts.others <= Self.namesMax
  }

  func show(in context: Context) throws(CommandError) {
    let legend = asked == 0 ? "No verdicts." : asked.counted("verdict") + "."
    try context.list(json, text: context.text(of: table), legend: legend)
    if counts.keys.contains(where: { $0.name == nil }) {
      context.terminal.report(
        "verdicts under more than \(Self.namesMax) names: later names are counted together; give a NAME or a time for "
          + "fewer")
    }
  }

  private var rows: [(key: Key, value: VerdictCounts)] {
    counts.sorted { Self.rank(of: $0) < Self.rank(of: $1) }
  }

  /// The most vetoed first, then the most asked, and the further names last.
  private static func rank(of row: (key: Key, value: VerdictCounts)) -> (Int, Int, Int, String, String) {
    let (key, counts) = row
    return (key.name == nil ? 1 : 0, -counts.vetoed, -counts.asked, key.name ?? "", key.writer ?? "")
  }

  /// An object for each name.
  var json: [JSONValue] {
    let text = { (text: String?) in text.map { JSONValue.string($0) } ?? .null }
    return rows.map { key, counts in
      .object([("name", text(key.name)), ("writtenBy", text(key.writer))] + counts.members)
    }
  }

  /// A row for each name, and below it one for each vetoer, which has only a number of vetoes.
  var table: Table {
    var table = Table([
      "NAME", .number("MEDIAN"), .number("P99"), .number("LONGEST"), .number("ASKED"), .number("ALLOWED"),
      .number("VETOED"),
    ])
    for (key, counts) in rows {
      let name = (key.name ?? "(other names)") + (key.writer.map { " (\($0))" } ?? "")
      let spans = counts.spans.map { $0?.formatted ?? "" }
      table.append(
        [name] + spans + [counts.asked, counts.allowed, counts.vetoed].map { "\($0)" },
        styles: key.writer == nil ? [:] : ["NAME": .yellow])
      let others = counts.otherVetoes > 0 ? [("(others)", counts.otherVetoes)] : []
      for (vetoer, count) in counts.busiest.map({ ($0.vetoer.text, $0.count) }) + others {
        table.append(["  " + vetoer] + Array(repeating: " ", count: 5) + ["\(count)"])
      }
    }
    return table
  }
}
