// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem

/// The vetoes that a waiting question meets, and since when each of them stands.
///
/// Whoever may hold the name can change a veto for as long as the question waits. So a reason is shown up to a length, and
/// of each user but root and the process's own, a few lines in a minute.
struct StandingVetoes: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// Required delegates that are missing have labels, and no ids.
  private struct Key: Hashable {
    var delegate: UInt64
    var label: String

    init(_ outcome: Outcome) { (delegate, label) = (outcome.delegate, outcome.label) }
  }

  private struct Veto {
    var kind: Outcome.Kind
    var reason: String
    var since: Instant
  }

  private let subject: String
  private let fallback: Verdict.Decision
  /// Those of the last verdict; nil before the first.
  private var known: [Key: Veto]?
  private var remarks: [String] = []
  private var limits = LineLimits(perSeconds: 60)
  /// Changes that were left out, and not counted in a line yet.
  private var omittedCount = 0

  /// - Parameters:
  ///   - subject: what they are against, for people.
  ///   - fallback: the decision that was asked for if no delegate answers.
  init(against subject: String, default fallback: Verdict.Decision) {
    (self.subject, self.fallback) = (subject, fallback)
  }

  /// Takes the next verdict, which must be a veto.
  ///
  /// - Parameter holdAges: how long the holds stand, by their ids. Without its age, a hold stands since it was first met,
  ///   as a delegate's veto does.
  /// - Returns: lines for people about each veto that is new or has changed.
  mutating func take(_ verdict: Verdict, holdAges: [UInt64: Duration], at now: Instant) -> [String] {
    var lines = known == nil ? ["waiting until \(subject) is allowed:"] : []
    let failures = verdict.vetoingFailures
    var vetoes: [Key: Veto] = [:]
    for outcome in verdict.outcomes where outcome.isObjection {
      let before = known?[Key(outcome)]
      let age = outcome.kind == .held ? holdAges[outcome.delegate] : nil
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
    // The lines that count are limited as those of one more user.
    if omittedCount > 0, limits.take(for: .max) {
      lines.append("  and \(omittedCount) more, not shown")
      omittedCount = 0
    }
    var remarks = verdict.omittedCount > 0 ? ["  and \(verdict.omittedCount) more"] : []
    if verdict.isUnanswered { remarks.append("  no delegate approved it\(verdict.defaultText(fallback))") }
    if remarks != self.remarks { lines += remarks }
    (known, self.remarks) = (vetoes, remarks)
    return lines
  }

  /// The verdict that was taken last, as JSON. Each outcome in the way has its age.
  func json(of verdict: Verdict, at now: Instant) -> JSONValue {
    let outcomes = verdict.outcomes.map { outcome -> JSONValue in
      guard outcome.isObjection, let veto = known?[Key(outcome)] else { return outcome.json }
      return .object(outcome.members + [("age", .seconds(veto.since.duration(to: now)))])
    }
    return .object(verdict.members(outcomes: outcomes) + [("waiting", .bool(true))])
  }
}
