// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune
import TribuneJSON

@testable import TribuneCommands

@Suite("The vetoes that a question waits for", .timeLimit(.minutes(15)))
struct StandingVetoesTests {
  private static let start = ContinuousClock.now

  private static func outcome(
    _ id: UInt64, _ kind: Outcome.Kind, _ reason: String, label: String = "", uid: UInt32 = 0
  ) -> Outcome {
    Outcome(delegate: id, label: label, kind: kind, reason: reason, pid: 7, uid: uid, process: "p\(id)")
  }

  private func shown(
    _ verdicts: [Verdict], holdAges: [UInt64: Duration] = [:], default fallback: Verdict.Decision = .allowed
  ) -> [[String]] {
    var vetoes = StandingVetoes(against: "a.shouldB", default: fallback, recheck: .seconds(30))
    return verdicts.enumerated().map { minute, verdict in
      vetoes.take(verdict, holdAges: holdAges, at: Self.start.advanced(by: .seconds(60 * minute)))
    }
  }

  @Test("All are shown at first, and then new and changed ones, with their ages")
  func changes() {
    let (held, other) = (Self.outcome(1, .held, "a backup"), Self.outcome(2, .vetoed, "at 40 %"))
    let verdicts = [
      [held, other, Self.outcome(3, .approved, "")], [held, other],
      [held, Self.outcome(2, .vetoed, "at 80 %"), Self.outcome(4, .vetoed, "")],
      [Self.outcome(2, .timedOut, "")],
    ].map { Verdict(.vetoed, query: 1, outcomes: $0) }
    #expect(
      shown(verdicts, holdAges: [1: .milliseconds(180_500)]) == [
        [
          "waiting until a.shouldB is allowed:", "  held      p1 (pid 7, uid 0), for 3min: a backup",
          "  vetoed    p2 (pid 7, uid 0): at 40 %",
        ], [],
        ["  vetoed    p2 (pid 7, uid 0), for 2min: at 80 %", "  vetoed    p4 (pid 7, uid 0)"],
        [
          "  timedOut  p2 (pid 7, uid 0), for 3min, which counts as a veto",
          "  asks again every 30s: these vetoes may end unannounced",
        ],
      ])
  }

  @Test("A hold of unknown age has the age since its first sight; one that returns starts again")
  func unknownAge() {
    let one = Verdict(.vetoed, query: 1, outcomes: [Self.outcome(1, .held, "a")])
    let other = Verdict(.vetoed, query: 1, outcomes: [Self.outcome(1, .held, "b")])
    let none = Verdict(.vetoed, query: 1, outcomes: [Self.outcome(2, .vetoed, "c")])
    #expect(
      shown([one, other, none, one]).map { $0.last { $0.contains(" (pid ") } } == [
        "  held      p1 (pid 7, uid 0): a", "  held      p1 (pid 7, uid 0), for 1min: b",
        "  vetoed    p2 (pid 7, uid 0): c", "  held      p1 (pid 7, uid 0): a",
      ])
  }

  @Test("Missing delegates are distinguished by their labels, and remarks about a verdict are shown once")
  func remarks() {
    let missing = ["unit:a.service", "label:b"].map {
      Outcome(delegate: 0, label: $0, kind: .gone, reason: "required, and not attached")
    }
    let verdicts = [
      Verdict(.vetoed, query: 1, outcomes: missing, omittedCount: 3),
      Verdict(.vetoed, query: 1, outcomes: missing, omittedCount: 3),
      Verdict(.vetoed, query: 1, isUnanswered: true), Verdict(.vetoed, query: 1, isUnanswered: true),
    ]
    #expect(
      shown(verdicts) == [
        [
          "waiting until a.shouldB is allowed:", "  gone      unit:a.service: required, and not attached",
          "  gone      label:b: required, and not attached", "  and 3 more",
        ], [], ["  no delegate approved it: Default=veto in tribuned.conf"], [],
      ])
    #expect(
      shown([verdicts[2]], default: .vetoed).first?.last == "  no delegate approved it: --default=veto")
  }

  @Test(
    "A few of one user's vetoes are shown in a minute, then their number; all of the others' and root's")
  func limits() {
    func verdict(_ reason: String) -> Verdict {
      Verdict(
        .vetoed, query: 1,
        outcomes: (1...30).map { Self.outcome($0, .held, reason, uid: 65_533) }
          + [Self.outcome(31, .held, reason, uid: 65_532)] + (32...62).map { Self.outcome($0, .held, reason) }
      )
    }
    let lines = shown(["a", "b"].map(verdict))
    #expect(lines[0].count == 1 + 20 + 1 + 31 + 1)
    #expect(lines[0].last == "  and 10 more, not shown")
    #expect(lines[1].count == 1 + 31 + 1)
    #expect(lines[1].last == "  and 30 more, not shown")
  }

  @Test("A long reason is cut")
  func longReason() {
    let reason = String(repeating: "x", count: 4096)
    let lines = shown([Verdict(.vetoed, query: 1, outcomes: [Self.outcome(1, .held, reason)])])
    #expect(lines[0].last == "  held      p1 (pid 7, uid 0): \(reason.prefix(256))…")
  }

  @Test("In JSON, each veto has its age, and the verdict is marked as waiting")
  func json() {
    var vetoes = StandingVetoes(against: "a.shouldB", default: .allowed, recheck: .seconds(30))
    let verdict = Verdict(
      .vetoed, query: 1, outcomes: [Self.outcome(1, .held, "a"), Self.outcome(2, .approved, "")])
    _ = vetoes.take(verdict, holdAges: [1: .seconds(60)], at: Self.start)
    let json = vetoes.json(of: verdict, at: Self.start.advanced(by: .seconds(30))).compact
    #expect(json.contains(#""elapsed":0,"age":90},{"delegate":2"#))
    #expect(
      json.hasSuffix(
        #""elapsed":0}],"outcomesOmitted":0,"unanswered":false,"overridden":false,"#
          + #""dryRun":false,"waiting":true}"#))
  }
}
