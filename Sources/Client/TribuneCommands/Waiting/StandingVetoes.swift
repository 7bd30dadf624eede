// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem

/// The vetoes against a question whose asker waits, and their ages.
///
/// Holders can change their reasons constantly. This type therefore cuts reasons, and limits the lines about
/// each user's vetoes, except for root and this process's user.
struct StandingVetoes: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// Identifies a veto. A missing required delegate has no id, only a label; an action under way has only its
  /// process.
  private struct Key: Hashable {
    var delegate: UInt64
    var label: String
    var pid: Int32

    init(_ outcome: Outcome) { (delegate, label, pid) = (outcome.delegate, outcome.label, outcome.pid) }
  }

  private struct Veto {
    var kind: Outcome.Kind
    var reason: String
    var since: Instant
  }

  private let subject: String
  private let fallback: Verdict.Decision
  private let recheck: Duration
  private var known: [Key: Veto]?
  private var remarks: [String] = []
  private var hasSaidRecheck = false
  private var limits = LineLimits(perSeconds: 60)
  private var omittedCount = 0

  init(against subject: String, default fallback: Verdict.Decision, recheck: Duration) {
    (self.subject, self.fallback, self.recheck) = (subject, fallback, recheck)
  }

  /// Takes a verdict, which must be a veto. Returns lines about each new or changed veto.
  ///
  /// - Parameter holdAges: the ages of holds, by id. Other ages count from the first verdict with the veto.
  mutating func take(_ verdict: Verdict, holdAges: [UInt64: Duration], at now: Instant) -> [String] {
    var lines = known == nil ? ["waiting until \(subject) is allowed:"] : []
    let failures = verdict.vetoingFailures
    var vetoes: [Key: Veto] = [:]
    for outcome in verdict.outcomes where outcome.isObjection {
      let before = known?[Key(outcome)]
      let age =
        outcome.isOfAction ? outcome.elapsed : outcome.kind == .held ? holdAges[outcome.delegate] : nil
      let since = age.map { now.advanced(by: .zero - $0) } ?? before?.since ?? now
      vetoes[Key(outcome)] = Veto(kind: outcome.kind, reason: outcome.reason, since: since)
      guard before?.kind != outcome.kind || before?.reason != outcome.reason else { continue }
      guard ThisProcess.isPrivileged(outcome.uid) || limits.take(for: outcome.uid) else {
        omittedCount += 1
        continue
      }
      let line = outcome.line(
        for: since.duration(to: now), isVetoingFailure: failures == [outcome])
      lines.append("  " + line)
    }
    // This line has a limit of its own, under a user id that does not exist.
    if omittedCount > 0, limits.take(for: .max) {
      lines.append("  and \(omittedCount) more, not shown")
      omittedCount = 0
    }
    var remarks = verdict.omittedCount > 0 ? ["  and \(verdict.omittedCount) more"] : []
    if verdict.isUnanswered { remarks.append("  no delegate approved it\(verdict.defaultText(fallback))") }
    if remarks != self.remarks { lines += remarks }
    if verdict.mayEndUnannounced, !hasSaidRecheck {
      lines.append("  asks again every \(recheck.formatted): these vetoes may end unannounced")
      hasSaidRecheck = true
    }
    (known, self.remarks) = (vetoes, remarks)
    return lines
  }

  func json(of verdict: Verdict, at now: Instant) -> JSONValue {
    let outcomes = verdict.outcomes.map { outcome -> JSONValue in
      guard outcome.isObjection, let veto = known?[Key(outcome)] else { return outcome.json }
      return .object(outcome.members + [("age", .seconds(veto.since.duration(to: now)))])
    }
    return .object(verdict.members(outcomes: outcomes) + [("waiting", .bool(true))])
  }
}
