// SPDX-License-Identifier: Apache-2.0

import Tribune

extension Objection {
  /// The objections that a query would meet: holds, required delegates that are missing and, if delegates are probed, the
  /// vetoes of those in a dry run. What this program holds for logind's locks is left out.
  static func all(
    of question: HostQuestion, probing: Bool, on bus: Connection
  ) async throws(TribuneError) -> [Objection] {
    let explanation = try await bus.explain(question.name)
    let own = bus.id
    var objections = explanation.holds.filter { $0.connection != own }.map { Objection($0) }
    objections += explanation.missing.map { Objection(missing: $0) }
    guard probing, !explanation.delegates.isEmpty else { return objections }
    let verdict = try await bus.ask(question.name, mode: .all, isDryRun: true)
    return verdict.isAllowed
      ? objections : objections + vetoes(in: verdict) { $0.kind != .held && $0.delegate != 0 }
  }

  /// The vetoes of a verdict.
  static func all(in verdict: Verdict) -> [Objection] {
    let vetoes = vetoes(in: verdict) { _ in true }
    return vetoes.isEmpty ? [Objection(who: "the bus", why: "nobody allowed it")] : vetoes
  }

  /// Failures count as vetoes only where nobody objects, as the verdict does not say which of them do.
  private static func vetoes(in verdict: Verdict, where isMeant: (Outcome) -> Bool) -> [Objection] {
    let outcomes = verdict.outcomes.filter(isMeant)
    let vetoes = outcomes.filter { $0.kind == .vetoed || $0.kind == .held }
    let failures = outcomes.filter { $0.kind == .timedOut || $0.kind == .gone || $0.kind == .failed }
    return (vetoes.isEmpty ? failures : vetoes).map { Objection($0) }
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
