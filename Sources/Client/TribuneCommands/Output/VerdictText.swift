// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

extension Verdict {
  var json: JSONValue { .object(members) }

  var members: [(name: String, value: JSONValue)] { members(outcomes: outcomes.map(\.json)) }

  func members(outcomes: [JSONValue]) -> [(name: String, value: JSONValue)] {
    [
      ("verdict", .string(decision.rawValue)), ("query", .unsigned(query)), ("outcomes", .array(outcomes)),
      ("outcomesOmitted", .unsigned(UInt64(omittedCount))),
      ("unanswered", .bool(isUnanswered)), ("overridden", .bool(isOverridden)), ("dryRun", .bool(isDryRun)),
    ] + (similarName.isEmpty ? [] : [("similarName", .string(similarName))])
  }

  func text(
    of name: String, object: String, default fallback: Decision = .allowed, in context: Context
  ) -> String {
    var head = context.styled(decision.rawValue, isAllowed ? .green : .red)
    head += ": " + subjectText(name, object)
    if isOverridden { head += " (overridden)" }
    if isDryRun { head += " (dry run)" }
    if isUnanswered {
      let why = outcomes.isEmpty ? "no delegate answered" : "no delegate approved or vetoed"
      head += " (\(why)\(isAllowed ? "" : defaultText(fallback)))"
    }
    let failures = vetoingFailures
    if failures.count > 1 { head += " (at least one failure counts as a veto)" }
    var lines = outcomes.map { "  " + $0.line(isVetoingFailure: failures == [$0], in: context) }
    if omittedCount > 0 { lines.append("  and \(omittedCount) more") }
    return ([head] + lines).map { $0 + "\n" }.joined()
  }

  /// Names the default that vetoed: the asker's, or else the bus's.
  func defaultText(_ fallback: Decision) -> String {
    fallback == .vetoed ? ": --default=veto" : ": Default=veto in tribuned.conf"
  }

  /// True if the veto can end without an announcement. If a default vetoed, this is so if a delegate failed.
  /// Otherwise, it is so if each veto comes from a delegate (by an answer or a failure), or from another host
  /// (through tribune-nats).
  var mayEndUnannounced: Bool {
    if isUnanswered { return outcomes.contains(where: \.isFailure) }
    let objections = outcomes.filter(\.isObjection)
    return !isAllowed && !objections.isEmpty
      && objections.allSatisfy { $0.kind == .vetoed || $0.isFailure || $0.isOfTribuneNATS }
  }

  /// The failures, if there is no other veto; otherwise empty. At least one of the failures counts as the
  /// veto, but the bus does not report which.
  var vetoingFailures: [Outcome] {
    guard isOverridden || !isAllowed && !isUnanswered else { return [] }
    let objections = outcomes.filter(\.isObjection)
    return objections.allSatisfy(\.isFailure) ? objections : []
  }
}

extension Outcome {
  var json: JSONValue { .object(members) }

  var members: [(name: String, value: JSONValue)] {
    [
      ("delegate", .unsigned(delegate)), ("label", .string(label)), ("outcome", .string(kind.rawValue)),
      ("reason", .string(reason)),
    ] + units.members(ofProcess: pid, uid, process) + [("elapsed", .seconds(elapsed))]
      + (value.map { [$0.jsonMember(named: "value")] } ?? [])
  }

  /// True for an action under way that fills a slot.
  var isOfAction: Bool { kind == .held && delegate == 0 }

  var isObjection: Bool { kind != .approved && kind != .abstained && kind != .answered }

  /// True for a delegate's failure. False for a missing required delegate (id 0), whose absence is a veto.
  fileprivate var isFailure: Bool { delegate != 0 && [.timedOut, .gone, .failed].contains(kind) }

  private var style: Style {
    switch kind {
    case .approved, .answered: .green
    case .vetoed, .held: .red
    case .timedOut, .gone, .failed: .yellow
    case .abstained: .faint
    }
  }

  /// Example: `vetoed    by restore (pid 42, uid 0, backup.service): a restore runs  [1ms]`.
  func line(isVetoingFailure: Bool, in context: Context) -> String {
    let consequence = isVetoingFailure ? Self.consequence : ""
    let said = consequence + (value?.line ?? reason.terminalSafe).afterColon
    let time = elapsed == .zero ? "" : "  " + context.styled("[\(elapsed.formatted)]", .faint)
    return "\(context.styled(word, style)) \(participant)\(said)\(time)"
  }

  /// Example: `vetoed by restore (pid 42, uid 0, backup.service): a restore runs`.
  func plainLine(isVetoingFailure: Bool = false) -> String {
    "\(kind.rawValue) by \(participant)\(isOfAction ? Self.span(elapsed) : "")"
      + "\(isVetoingFailure ? Self.consequence : "")\(reason.terminalSafe.afterColon)"
  }

  /// Example: `held      backup (pid 42, uid 0), for 3min: a backup runs`. A long reason is cut.
  func line(for age: Duration, isVetoingFailure: Bool) -> String {
    let consequence = isVetoingFailure ? Self.consequence : ""
    return "\(word) \(participant)\(Self.span(age))\(consequence)\(reason.printed.terminalSafe.afterColon)"
  }

  private static func span(_ age: Duration) -> String {
    let seconds = age.components.seconds
    return seconds > 0 ? ", for \(Duration.seconds(seconds).formatted)" : ""
  }

  private var word: String {
    kind.rawValue + String(repeating: " ", count: max(0, 9 - kind.rawValue.count))
  }

  private static let consequence = ", which counts as a veto"

  var participant: String {
    delegateText(delegate, label: label, process: process, pid: pid, uid: uid, units: units)
  }
}

/// Example: `restore (restore.sh, pid 42, uid 0, backup.service)`. For a missing required delegate
/// (id 0), only its label.
func delegateText(
  _ id: UInt64, label: String, process: String, pid: Int32, uid: UInt32, units: Units
) -> String {
  let name = label.isEmpty ? (process.isEmpty ? "delegate \(id)" : process) : label
  if id == 0, pid == 0 { return name.terminalSafe }
  var parts = ["pid \(pid)", "uid \(uid)"]
  if !label.isEmpty, !process.isEmpty, process != label { parts.insert(process, at: 0) }
  if units != Units() { parts.append(units.description) }
  return "\(name.terminalSafe) (\(parts.joined(separator: ", ").terminalSafe))"
}
