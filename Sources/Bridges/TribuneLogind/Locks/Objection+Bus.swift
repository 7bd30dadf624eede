// SPDX-License-Identifier: Apache-2.0

import Tribune

extension Objection {
  /// The objections of holds and of missing required delegates. Omits this program's own holds.
  static func all(in explanation: Explanation, own: String) -> [Objection] {
    explanation.holds.filter { $0.connection != own }.map { Objection($0) }
      + explanation.missing.map { Objection(missing: $0) }
  }

  /// The delegates' vetoes, by delegate id.
  static func probed(in verdict: Verdict) -> [UInt64: Objection] {
    guard !verdict.isAllowed else { return [:] }
    let outcomes = vetoes(in: verdict) { $0.kind != .held && $0.delegate != 0 }
    return Dictionary(outcomes.map { ($0.delegate, Objection($0)) }) { first, _ in first }
  }

  static func all(in verdict: Verdict) -> [Objection] {
    let vetoes = vetoes(in: verdict) { _ in true }.map { Objection($0) }
    return vetoes.isEmpty ? [Objection(who: "the bus", why: "nobody allowed it")] : vetoes
  }

  /// The outcomes that veto, among those that `isMeant` selects. A verdict does not show whether a failure
  /// was a veto, so failures count only if no selected outcome is an explicit veto.
  private static func vetoes(in verdict: Verdict, where isMeant: (Outcome) -> Bool) -> [Outcome] {
    let outcomes = verdict.outcomes.filter(isMeant)
    let vetoes = outcomes.filter { $0.kind == .vetoed || $0.kind == .held }
    let failures = outcomes.filter { $0.kind == .timedOut || $0.kind == .gone || $0.kind == .failed }
    return vetoes.isEmpty ? failures : vetoes
  }

  private init(_ hold: HoldInfo) {
    self.init(who: Self.name(hold.label, hold.process, hold.pid), why: hold.why)
  }

  private init(missing name: String) {
    self.init(
      who: name == "*" ? "the bus" : name,
      why: name == "*" ? "nobody is there to allow it" : "required, and not attached")
  }

  private init(_ outcome: Outcome) {
    self.init(
      who: Self.name(outcome.label, outcome.process, outcome.pid),
      why: outcome.reason.isEmpty ? "\(outcome.kind.rawValue), without a reason" : outcome.reason)
  }

  private static func name(_ label: String, _ process: String, _ pid: Int32) -> String {
    if !label.isEmpty { return label }
    return process.isEmpty ? "process \(pid)" : "\(process)[\(pid)]"
  }
}
