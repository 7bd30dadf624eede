// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneNATS

@Suite("A verdict as a reply to another host", .timeLimit(.minutes(15)))
struct ReplyOfVerdictTests {
  @Test("An allowed verdict is an approval if some delegate answered, and else an abstention")
  func allowed() {
    #expect(ReplyEnvelope(Verdict(.allowed, query: 1)) == .approve)
    #expect(ReplyEnvelope(Verdict(.allowed, query: 1, isUnanswered: true)) == .abstain)
  }

  @Test("Every vetoed verdict is a veto, with or without outcomes")
  func vetoed() {
    for isUnanswered in [false, true] {
      guard case .veto(let reason) = ReplyEnvelope(Verdict(.vetoed, query: 1, isUnanswered: isUnanswered))
      else {
        Issue.record("no veto")
        return
      }
      #expect(!reason.isEmpty)
    }
  }

  @Test("The reason names a vetoer and its reason, and counts the others")
  func reasons() {
    let outcomes = [
      Outcome(delegate: 1, label: "quiet", kind: .timedOut), Outcome(delegate: 2, kind: .approved),
      Outcome(
        delegate: 3, label: "restore", kind: .vetoed, reason: "a restore is running", pid: 42,
        units: Units(system: "restore.service")),
    ]
    let verdict = Verdict(.vetoed, query: 1, outcomes: outcomes, omittedCount: 2)
    #expect(
      ReplyEnvelope(verdict) == .veto("restore (pid 42, restore.service): a restore is running; and 3 more"))
    let silent = Verdict(.vetoed, query: 1, outcomes: [outcomes[0]])
    #expect(ReplyEnvelope(silent) == .veto("quiet: did not answer in time"))
  }

  @Test("A value is a value, and a missing one an abstention")
  func values() {
    let answered = Outcome(delegate: 1, kind: .answered, value: "1")
    #expect(ReplyEnvelope(QueryReply(query: 1, outcomes: [answered])) == .value)
    #expect(ReplyEnvelope(QueryReply(query: 1)) == .abstain)
  }
}
