// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

extension Verdict {
  var json: JSONValue { .object(members) }

  var members: [(name: String, value: JSONValue)] {
    [
      ("verdict", .string(decision.rawValue)), ("query", .unsigned(query)),
      ("outcomes", .array(outcomes.map(\.json))), ("unanswered", .bool(isUnanswered)),
      ("overridden", .bool(isOverridden)), ("dryRun", .bool(isDryRun)),
    ]
  }

  /// The decision on one line, then a line for each outcome.
  func text(of name: String, object: String, in context: Context) -> String {
    var head = context.styled(decision.rawValue, isAllowed ? .green : .red)
    head += ": " + subjectText(name, object)
    if isOverridden { head += " (overridden)" }
    if isDryRun { head += " (dry run)" }
    if isUnanswered {
      head += outcomes.isEmpty ? " (no delegate answered)" : " (no delegate approved or vetoed)"
    }
    return ([head] + outcomes.map { "  " + $0.line(in: context) }).map { $0 + "\n" }.joined()
  }
}

extension Outcome {
  var json: JSONValue {
    .object(
      [
        ("delegate", .unsigned(delegate)), ("label", .string(label)), ("outcome", .string(kind.rawValue)),
        ("reason", .string(reason)), ("pid", .integer(Int(pid))), ("uid", .integer(Int(uid))),
        ("process", .string(process)), ("unit", .string(unit)), ("elapsed", .seconds(elapsed)),
      ] + (value.map { [$0.jsonMember(named: "value")] } ?? []))
  }

  /// Whether the outcome can be why something is not allowed. For failures, the failure policy decides.
  var isObjection: Bool { kind != .approved && kind != .abstained && kind != .answered }

  private var style: Style {
    switch kind {
    case .approved, .answered: .green
    case .vetoed, .held: .red
    case .timedOut, .gone, .failed: .yellow
    case .abstained: .faint
    }
  }

  /// `vetoed    by restore (pid 42, uid 0, backup.service): a restore runs  [1ms]`.
  func line(in context: Context) -> String {
    let word = kind.rawValue + String(repeating: " ", count: max(0, 9 - kind.rawValue.count))
    let said = (value?.line ?? reason.terminalSafe).afterColon
    return
      "\(context.styled(word, style)) \(participant)\(said)  \(context.styled("[\(elapsed.formatted)]", .faint))"
  }

  /// `vetoed by restore (pid 42, uid 0, backup.service): a restore runs`.
  var report: String { "\(kind.rawValue) by \(participant)\(reason.terminalSafe.afterColon)" }

  /// The delegate's label or process, and its identity.
  var participant: String {
    delegateText(delegate, label: label, process: process, pid: pid, uid: uid, unit: unit)
  }
}

/// `restore (restore.sh, pid 42, uid 0, backup.service)`: a delegate's label or process, and its identity. A
/// required delegate that is missing has no id, process or user, so only its label is returned.
func delegateText(
  _ id: UInt64, label: String, process: String, pid: Int32, uid: UInt32, unit: String
) -> String {
  let name = label.isEmpty ? (process.isEmpty ? "delegate \(id)" : process) : label
  if id == 0 { return name.terminalSafe }
  var parts = ["pid \(pid)", "uid \(uid)"]
  if !label.isEmpty, !process.isEmpty { parts.insert(process, at: 0) }
  if !unit.isEmpty { parts.append(unit) }
  return "\(name.terminalSafe) (\(parts.joined(separator: ", ").terminalSafe))"
}
