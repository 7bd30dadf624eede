// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

struct VerdictFilter: Sendable {
  private let pattern: Pattern?
  /// The object; empty for any.
  private let object: String
  /// Microseconds since 1970.
  let times: ClosedRange<UInt64>
  private let wantsVetoed: Bool
  let unit: String?

  init(_ invocation: Invocation) throws(CommandError) {
    pattern = try invocation.operands.first.map { (text) throws(CommandError) in
      try Invocation.checkedPattern(text)
    }
    object = try invocation.object()
    times = try Self.times(invocation)
    wantsVetoed = invocation.has(.vetoed)
    unit = invocation.text(.by)
    guard !invocation.isBlank(.by) else { throw .usage("--by needs the name of a unit") }
  }

  private static func times(_ invocation: Invocation) throws(CommandError) -> ClosedRange<UInt64> {
    let now = SystemClock.wallMicroseconds
    let since = try invocation.text(.since).map { (text) throws(CommandError) in
      try PastTime.parse(text, of: "--since", now: now)
    }
    let until = try invocation.text(.until).map { (text) throws(CommandError) in
      try PastTime.parse(text, of: "--until", now: now)
    }
    guard since ?? 0 <= until ?? .max else { throw .usage("--since= must be before --until=") }
    return (since ?? 0)...(until ?? .max)
  }

  /// Restricts the journal to entries with the exact values of this filter, which libsystemd finds quickly.
  /// The caller must still check each entry by `verdict(in:)`.
  func restrict(_ journal: borrowing JournalReader) throws(CommandError) {
    for id in LoggedVerdict.messageIDs { try journal.match("MESSAGE_ID", id) }
    if let pattern, pattern.isLiteral { try journal.match("TRIBUNE_NAME", pattern.text) }
    if !object.isEmpty { try journal.match("TRIBUNE_OBJECT", object.escaped) }
    if wantsVetoed { try journal.match("TRIBUNE_VERDICT", "vetoed") }
    if let unit, !unit.contains(where: { "*?/".contains($0) }) {
      try journal.match("TRIBUNE_VETOED_BY_SYSTEM_UNIT", unit)
    }
  }

  func verdict(in entry: JournalReader.Entry) -> LoggedVerdict? {
    guard times.contains(entry.time), let verdict = LoggedVerdict(entry),
      NameSyntax.isName(verdict.name.utf8Bytes), pattern?.matches(verdict.name.utf8Bytes) ?? true,
      object.isEmpty || entry["TRIBUNE_OBJECT"] == object.escaped, !wantsVetoed || verdict.isVetoed
    else { return nil }
    guard let unit else { return verdict }
    return verdict.vetoers.contains { $0.isIn(unit: unit) } ? verdict : nil
  }
}
