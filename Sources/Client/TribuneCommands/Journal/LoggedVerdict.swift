// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribuneSystem
import TribuneWire

/// A verdict from the journal. docs/CONCEPTS.md lists the fields of its entry. Any process can write such an
/// entry, so any field can be missing or invalid.
struct LoggedVerdict: Sendable {
  static let messageIDs = ["7410e8ab9fd04abe9eb6b38ea90ed596", "e7932ba2c09d4f228b9e17f54e330131"]

  private let entry: JournalReader.Entry

  init?(_ entry: JournalReader.Entry) {
    guard entry["TRIBUNE_NAME"] != nil, entry["TRIBUNE_VERDICT"] != nil else { return nil }
    self.entry = entry
  }

  var name: String { entry["TRIBUNE_NAME"] ?? "" }
  private var verdict: String { entry["TRIBUNE_VERDICT"] ?? "" }
  var isAllowed: Bool { verdict == "allowed" }
  var isVetoed: Bool { verdict == "vetoed" }
  var isOverridden: Bool { entry["TRIBUNE_OVERRIDE"] != nil }
  /// The time from the question to the verdict, in microseconds.
  var elapsed: UInt64? { entry["TRIBUNE_ELAPSED_USEC"].flatMap { UInt64($0) } }

  var vetoers: [LoggedVetoer] {
    let names = entry.fields["TRIBUNE_VETOED_BY"] ?? []
    do throws(JSONText.SyntaxError) {
      let outcomes = try JSONDocument(Array((entry["TRIBUNE_OUTCOMES"] ?? "").utf8).rawBytes).root
      return (0..<outcomes.count).compactMap { outcomes[$0].flatMap { LoggedVetoer($0, among: names) } }
    } catch {
      return []
    }
  }

  var unlistedVetoCount: Int {
    max(Self.vetoesListed, entry["TRIBUNE_VETOES"].flatMap { Int($0) } ?? 0) - Self.vetoesListed
  }

  var json: JSONValue {
    .object([
      ("time", .unsigned(entry.time)), ("name", .string(name)), ("object", text("TRIBUNE_OBJECT")),
      ("verdict", .string(verdict)), ("query", number("TRIBUNE_QUERY")), ("outcomes", outcomes),
      ("outcomesOmitted", .unsigned(entry["TRIBUNE_OUTCOMES_OMITTED"].flatMap { UInt64($0) } ?? 0)),
      ("unanswered", .bool(entry["TRIBUNE_UNANSWERED"] == "yes")),
      ("overridden", .bool(isOverridden)),
      ("override", entry["TRIBUNE_OVERRIDE"].map { .string($0) } ?? .null), ("mode", text("TRIBUNE_MODE")),
      ("elapsed", elapsed.map { .seconds(.microseconds(Int64(clamping: $0))) } ?? .null),
      (
        "asker",
        .object([
          ("connection", text("TRIBUNE_ASKER_CONNECTION")), ("pid", number("TRIBUNE_ASKER_PID")),
          ("uid", number("TRIBUNE_ASKER_UID")), ("process", text("TRIBUNE_ASKER_PROCESS")),
          ("unit", text("TRIBUNE_ASKER_UNIT")), ("systemUnit", text("TRIBUNE_ASKER_SYSTEM_UNIT")),
          ("userUnit", text("TRIBUNE_ASKER_USER_UNIT")),
        ])
      ),
      // journald itself recorded these fields about the process that wrote the entry.
      ("bus", .object([("pid", number("_PID")), ("uid", number("_UID")), ("unit", text("_SYSTEMD_UNIT"))])),
    ])
  }

  private func text(_ field: String) -> JSONValue { .string(entry[field] ?? "") }

  private func number(_ field: String) -> JSONValue {
    entry[field].flatMap { UInt64($0) }.map { .unsigned($0) } ?? .null
  }

  private var outcomes: JSONValue {
    do throws(JSONText.SyntaxError) {
      return .text(try JSONText(Array((entry["TRIBUNE_OUTCOMES"] ?? "").utf8)))
    } catch {
      return .null
    }
  }

  func text(in context: Context) -> String {
    let time = LocalTime(microsecondsSince1970: entry.time)
    var subject = ": " + name.terminalSafe
    if let object = entry["TRIBUNE_OBJECT"] { subject += " " + object.terminalSafe }
    if entry["TRIBUNE_UNANSWERED"] == "yes" { subject += " (no delegate approved or vetoed)" }
    var asker = [entry["TRIBUNE_ASKER_PROCESS"] ?? "", "pid \(entry["TRIBUNE_ASKER_PID"] ?? "?")"]
    asker.append(entry["TRIBUNE_ASKER_UNIT"] ?? "")
    asker.append(entry["TRIBUNE_ASKER_USER_UNIT"] ?? "")
    var lines = [
      context.line([
        (time.map { "\($0.date) \($0.timeOfDay)" } ?? "?", .faint), ("  ", .plain),
        (verdict.terminalSafe, isAllowed ? .green : .red), (subject, .plain),
        ("  asked by \(asker.filter { !$0.isEmpty }.joined(separator: ", ").terminalSafe)", .faint),
      ])
    ]
    if let writer = otherWriter { lines.append("  " + context.styled("written by \(writer)", .yellow)) }
    if let reason = entry["TRIBUNE_OVERRIDE"] {
      lines.append("  " + context.styled("overridden", .yellow) + ": " + reason.terminalSafe)
    }
    let vetoes = entry.fields["TRIBUNE_VETO"] ?? []
    lines += vetoes.map { "  " + $0.terminalSafe }
    if unlistedVetoCount > 0 { lines.append("  and \(unlistedVetoCount) more") }
    return lines.map { $0 + "\n" }.joined()
  }

  /// The user that wrote the entry. Nil if the writer is the system's bus, root or this process's user.
  /// Entries of other users can be forged.
  var otherWriter: String? {
    if entry.isOfBus || entry["_SYSTEMD_UNIT"] == "tribuned.service" { return nil }
    guard let uid = entry["_UID"].flatMap({ UInt32($0) }) else { return "an unknown user" }
    return ThisProcess.isPrivileged(uid) ? nil : "user \(uid)"
  }

  private static let vetoesListed = 64
}
