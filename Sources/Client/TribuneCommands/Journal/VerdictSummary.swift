// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

/// Verdicts, counted by name. Memory is bounded, because any process can write names to the journal.
struct VerdictSummary {
  /// The most names with a row of their own, for the bus and for other writers separately.
  static let namesMax = 512

  private struct Key: Hashable {
    var name: String?
    /// Set for entries of other users (`otherWriter`), which must not distort the bus's figures.
    var writer: String?

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
    try context.list(json, text: try context.text(of: table), legend: legend)
    if counts.keys.contains(where: { $0.name == nil }) {
      context.terminal.report(
        "verdicts under more than \(Self.namesMax) names: later names are counted together; give a NAME or a time for "
          + "fewer")
    }
  }

  private var rows: [(key: Key, value: VerdictCounts)] {
    counts.sorted { Self.rank(of: $0) < Self.rank(of: $1) }
  }

  private static func rank(of row: (key: Key, value: VerdictCounts)) -> (Int, Int, Int, String, String) {
    let (key, counts) = row
    return (key.name == nil ? 1 : 0, -counts.vetoed, -counts.asked, key.name ?? "", key.writer ?? "")
  }

  var json: [JSONValue] {
    let text = { (text: String?) in text.map { JSONValue.string($0) } ?? .null }
    return rows.map { key, counts in
      .object([("name", text(key.name)), ("writtenBy", text(key.writer))] + counts.members)
    }
  }

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

struct VerdictCounts {
  /// Vetoers beyond this number share one count.
  static let vetoersMax = 64

  private(set) var asked = 0
  private(set) var allowed = 0
  private(set) var vetoed = 0
  private var overridden = 0
  private var vetoers: [LoggedVetoer: Int] = [:]
  private(set) var otherVetoes = 0
  private var waits = Durations()

  /// Counts each vetoer once for a verdict, even if several delegates and holds of the vetoer vetoed.
  mutating func add(_ verdict: LoggedVerdict) {
    asked += 1
    if verdict.isAllowed { allowed += 1 }
    if verdict.isVetoed { vetoed += 1 }
    if verdict.isOverridden { overridden += 1 }
    if let elapsed = verdict.elapsed { waits.record(microseconds: elapsed) }
    for vetoer in Set(verdict.vetoers) {
      if vetoers[vetoer] == nil, vetoers.count >= Self.vetoersMax {
        otherVetoes = otherVetoes.saturatingAdding(1)
      } else {
        vetoers[vetoer, default: 0] += 1
      }
    }
    otherVetoes = otherVetoes.saturatingAdding(verdict.unlistedVetoCount)
  }

  var busiest: [(vetoer: LoggedVetoer, count: Int)] {
    vetoers.map { (vetoer: $0.key, count: $0.value) }
      .sorted { ($1.count, $0.vetoer.text) < ($0.count, $1.vetoer.text) }
  }

  var spans: [Duration?] { DurationHistogram(waits).spans }

  var members: [(name: String, value: JSONValue)] {
    [
      ("asked", .integer(asked)), ("allowed", .integer(allowed)), ("vetoed", .integer(vetoed)),
      ("overridden", .integer(overridden)),
      ("vetoedBy", .array(busiest.map { $0.vetoer.json($0.count) })), ("otherVetoes", .integer(otherVetoes)),
    ] + DurationHistogram(waits).members
  }
}
