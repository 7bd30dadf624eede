// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("A verdict lists a bounded part", .timeLimit(.minutes(15)))
struct BoundedVerdictTests {
  private let bus = BusUnderTest()
  private let longReason = String(repeating: "w", count: WireLimits.reasonLength)

  private func length(of verdict: Verdict) -> Int { ByteBuffer { verdict.append(to: $0) }.count }

  private func decisions() -> Recorded<Decision> {
    let decisions = Recorded<Decision>()
    bus.onEffect = { if case .verdict(_, _, let decision, _) = $0 { decisions.all.append(decision) } }
    return decisions
  }

  @Test("The oldest holds are listed; reasons are cut before holds are left out", arguments: QueryMode.leave)
  func manyHolds(_ mode: QueryMode) throws {
    let (asker, holder) = (bus.connect(), bus.connect())
    for serial in 1...1024 { bus.hold("**", why: longReason, by: holder, serial: Serial(serial)) }
    bus.observe("tribune.query.didConclude", by: asker, serial: 1)
    let decisions = decisions()
    bus.ask("shouldX", by: asker, serial: 5, mode: mode)
    let decision = try #require(decisions.all.first)
    let verdict = decision.verdict
    #expect(verdict.verdict == .vetoed && !verdict.isUnanswered)
    #expect(verdict.outcomes.map(\.delegate.id.rawValue) == (1...UInt64(verdict.outcomes.count)).map { $0 })
    #expect(verdict.outcomes.count > 400 && verdict.outcomes.count + Int(verdict.omittedCount) == 1024)
    #expect(verdict.outcomes.map(\.reason).filter { $0 == longReason }.count == 8)
    #expect(verdict.outcomes.dropFirst(8).allSatisfy { $0.reason == "…" })
    #expect(length(of: verdict) < 128 << 10)
    #expect(decision.vetoes.count == verdict.outcomes.count)
    #expect(decision.omittedVetoCount == Int(verdict.omittedCount))
    #expect(bus.take().contains { $0.hasPrefix("didConclude") && $0.contains(" 1024 vetoes, ") })
    #expect(bus.bus.nameEntries(for: nil).map(\.outcomes) == [OutcomeCounts(held: 1024)])
  }

  @Test("Other users' holds neither refuse an asker, nor charge it for omitted holds")
  func charge() {
    let (asker, holder) = (bus.connect(uid: 5), bus.connect(uid: 6))
    bus.connectDelegate("shouldX", uid: 6)
    for serial in 1...1024 { bus.hold("**", why: longReason, by: holder, serial: Serial(serial)) }
    _ = bus.take()
    for serial in 1...50 as ClosedRange<Serial> {
      bus.ask("shouldX", by: asker, serial: serial, mode: .all)
    }
    #expect(bus.queryCount == 50 && !bus.take().contains { $0.contains("refused") })
    #expect(bus.userByteCounts[5].map { $0 < 50 * (128 << 10) } == true)
  }

  @Test("A reason that does not fit is cut at a character's boundary, with a mark")
  func cutReason() {
    let bus = BusUnderTest { $0.outcomeReasonsMax = 7 }
    let (asker, holder) = (bus.connect(), bus.connect())
    for (serial, why) in ["äö", "äöü", "z"].enumerated() {
      bus.hold("**", why: why, by: holder, serial: Serial(serial + 1))
    }
    bus.ask("shouldX", by: asker, serial: 5)
    #expect(bus.lastVerdict?.outcomes.map(\.reason) == ["äö", "ä…", "…"])
  }

  @Test("Missing required delegates are listed even if holds are omitted")
  func missingIsListed() throws {
    let (asker, holder) = (bus.connect(), bus.connect())
    bus.bus.policy.change(try Pattern("shouldX")) { $0.required = [.label("backup")] }
    for serial in 1...1024 { bus.hold("**", why: longReason, by: holder, serial: Serial(serial)) }
    bus.ask("shouldX", by: asker, serial: 5)
    let verdict = try #require(bus.lastVerdict)
    #expect(verdict.outcomes.last?.delegate.label == "label:backup" && verdict.omittedCount > 0)
    #expect(verdict.outcomes.count + Int(verdict.omittedCount) == 1025)
  }

  private func attach(by slot: ConnectionSlot, _ number: Int) {
    bus.attach(["x", "shouldX"], by: slot, serial: Serial(10_000 + number), label: "\(number)")
  }

  private func answers(_ mode: QueryMode, _ answer: AnswerKind, _ reason: String) {
    let (asker, delegate) = (bus.connect(), bus.connect())
    for serial in 1...901 { attach(by: delegate, serial) }
    _ = bus.take()
    bus.ask(mode.name, by: asker, serial: 5, mode: mode)
    for id in 1...900 { bus.answer(answer, reason, delegate: UInt64(id), from: delegate) }
    bus.answer(.veto, "a restore", delegate: 901, from: delegate)
  }

  @Test("Vetoes are listed before approvals, in the chain's order")
  func lateVeto() throws {
    let decisions = decisions()
    answers(.all, .approve, "")
    let decision = try #require(decisions.all.first)
    let verdict = decision.verdict
    #expect(verdict.verdict == .vetoed)
    #expect(verdict.outcomes.last?.reason == "a restore" && verdict.outcomes.last?.outcome == .vetoed)
    #expect(verdict.omittedCount > 0 && verdict.outcomes.count + Int(verdict.omittedCount) == 901)
    #expect(decision.vetoes == OutcomePlaces([verdict.outcomes.count - 1]) && decision.omittedVetoCount == 0)
  }

  @Test("Vetoes beyond the list are counted")
  func manyVetoes() throws {
    let decisions = decisions()
    answers(.all, .veto, longReason)
    let decision = try #require(decisions.all.first)
    #expect(decision.verdict.outcomes.first?.reason == longReason)
    #expect(decision.vetoes.count == decision.verdict.outcomes.count)
    #expect(decision.vetoes.count + decision.omittedVetoCount == 901)
    #expect(length(of: decision.verdict) < 128 << 10)
  }

  @Test("Long reasons of few delegates are also cut")
  func fewLong() throws {
    let (asker, delegate) = (bus.connect(), bus.connect())
    for serial in 1...20 { attach(by: delegate, serial) }
    bus.ask("shouldX", by: asker, serial: 5, mode: .all)
    for id in 1...20 { bus.answer(.veto, longReason, delegate: UInt64(id), from: delegate) }
    let verdict = try #require(bus.lastVerdict)
    #expect(verdict.outcomes.count == 20 && verdict.omittedCount == 0)
    #expect(verdict.outcomes.filter { $0.reason == longReason }.count == 8)
  }

  @Test("Every value is listed")
  func values() throws {
    answers(.collect, .value, longReason)
    let verdict = try #require(bus.lastVerdict)
    #expect(verdict.outcomes.count == 901 && verdict.omittedCount == 0)
    #expect(verdict.outcomes.filter { $0.value.count == longReason.utf8.count }.count == 900)
  }

  @Test("A verdict after a restart is the same", arguments: Restart.allCases)
  func restarted(_ restart: Restart) throws {
    bus.log = []
    let (asker, delegate) = (bus.connect(), bus.connect())
    for serial in 1...600 { bus.hold("**", why: longReason, by: asker, serial: Serial(serial)) }
    for serial in 1...600 { attach(by: delegate, serial) }
    for serial in [1001, 1002] as [Serial] { bus.ask("shouldX", by: asker, serial: serial, mode: .all) }
    for query in 1...2 as ClosedRange<UInt64> {
      for id in 601...1199 {
        bus.answer(.veto, longReason, query: query, delegate: UInt64(id), from: delegate)
      }
    }
    bus.answer(.approve, query: 1, delegate: 1200, from: delegate)
    var expected = try #require(bus.lastVerdict)
    _ = bus.take()
    bus.restart(restart)
    bus.answer(.approve, query: 2, delegate: 1200, from: delegate)
    expected.query = QueryID(rawValue: 2)
    #expect(bus.lastVerdict == expected && expected.omittedCount > 0)
  }
}

private final class Recorded<Element> {
  var all: [Element] = []
}
