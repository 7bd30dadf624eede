// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneNATS

@Suite("A question to one host", .timeLimit(.minutes(15)))
struct InquiryTests {
  private let start = ContinuousClock.now

  private func inquiry(_ missing: MissingHost = .veto) -> Inquiry {
    Inquiry("db2", missing: missing, timeout: .seconds(10), at: start)
  }

  private func isVeto(_ action: Inquiry.Action) -> Bool {
    switch action {
    case .conclude(.veto), .conclude(.failed): true
    default: false
    }
  }

  @Test(
    "The host's reply is the answer",
    arguments: [
      (.approve, .approve), (.veto("why"), .veto("why")), (.veto(""), .veto("db2 vetoes")),
      (.abstain, .abstain),
      (.failed("why"), .failed("why")), (.value, .value("1")),
    ] as [(ReplyEnvelope, Answer)])
  func answers(reply: ReplyEnvelope, answer: Answer) {
    var inquiry = inquiry()
    #expect(inquiry.reply(reply, payload: [0x31], at: start) == .conclude(answer))
  }

  @Test(
    "An answer is final",
    arguments: [.approve, .veto("x"), .abstain] as [ReplyEnvelope])
  func onlyOne(reply: ReplyEnvelope) {
    var inquiry = inquiry()
    _ = inquiry.reply(reply, payload: [], at: start)
    #expect(inquiry.reply(.approve, payload: [], at: start) == .none)
    #expect(inquiry.isUnheard(mayReturn: false) == .none)
    #expect(inquiry.isCutOff("the connection to NATS was lost") == .none)
    #expect(inquiry.isDue(at: start + .seconds(60)) == .none)
  }

  @Test(
    "A host that is not in the roster counts if it answers, and is never missing")
  func unlisted() {
    var answering = inquiry(.unlisted)
    #expect(answering.reply(.veto("why"), payload: [], at: start) == .conclude(.veto("why")))
    var failing = inquiry(.unlisted)
    #expect(failing.reply(.failed("why"), payload: [], at: start) == .conclude(.abstain))
    #expect(failing.absence == "why")
    var silent = inquiry(.unlisted)
    _ = silent.isDue(at: silent.due)
    #expect(silent.isProven(true) == .conclude(.abstain))
    var cutOff = inquiry(.unlisted)
    _ = cutOff.isDue(at: cutOff.due)
    #expect(isVeto(cutOff.isProven(false)))
  }

  @Test("A silent host is missing shortly before the bus's timeout, not earlier")
  func silence() {
    var inquiry = inquiry()
    #expect(inquiry.due < start + .seconds(10) && inquiry.due > start + .seconds(9))
    #expect(inquiry.isDue(at: start + .seconds(9)) == .none)
    #expect(isVeto(inquiry.isDue(at: inquiry.due)))
  }

  @Test(
    "A silent host may abstain only if the settings allow it and NATS still answers",
    arguments: [MissingHost.abstain, .unlisted])
  func silentAbstention(missing: MissingHost) {
    var inquiry = inquiry(missing)
    guard case .prove(let span) = inquiry.isDue(at: start + .seconds(10)) else {
      Issue.record("nobody finds out whether NATS is there")
      return
    }
    #expect(span > Inquiry.proofMax)
    for isThere in [true, false] {
      var one = inquiry
      let action = one.isProven(isThere)
      #expect((action == .conclude(.abstain)) == isThere)
      #expect(isVeto(action) == !isThere)
    }
    var vetoing = inquiry
    #expect(vetoing.reply(.veto("why"), payload: [], at: start) == .conclude(.veto("why")))
    #expect(vetoing.isProven(true) == .none)
    #expect(isVeto(inquiry.isDue(at: inquiry.due)))
  }

  @Test("A lost link is a veto, whatever OnMissingHost= is", arguments: MissingHost.allCases)
  func cutOff(missing: MissingHost) {
    var inquiry = inquiry(missing)
    guard case .conclude(.veto(let reason)) = inquiry.isCutOff("the connection to NATS was lost") else {
      Issue.record("no veto")
      return
    }
    #expect(reason.hasPrefix("cluster unreachable"))
  }

  @Test("A host that is not in the roster is not asked again, and is mute without a reply")
  func mute() {
    var unheard = inquiry(.unlisted)
    #expect(unheard.isUnheard(mayReturn: true) == .conclude(.abstain))
    #expect(unheard.isMute)
    var failing = inquiry(.unlisted)
    _ = failing.reply(.failed("why"), payload: [], at: start)
    #expect(!failing.isMute)
    #expect(!inquiry(.abstain).isMute)
  }

  @Test(
    "A host without a gateway is asked again before it counts as missing",
    arguments: [MissingHost.veto, .abstain])
  func unheard(missing: MissingHost) {
    var inquiry = inquiry(missing)
    for _ in 1..<Inquiry.triesMax {
      #expect(inquiry.isUnheard(mayReturn: false) == .askAgain(after: Inquiry.retryPause))
    }
    let action = inquiry.isUnheard(mayReturn: false)
    #expect(isVeto(action) == (missing == .veto))
    #expect((action == .conclude(.abstain)) == (missing != .veto))
  }

  @Test("A host that may just reconnect does not abstain before it is due")
  func returning() {
    var inquiry = inquiry(.abstain)
    for _ in 0..<20 {
      #expect(inquiry.isUnheard(mayReturn: true) == .askAgain(after: Inquiry.retryPause))
    }
    var vetoing = inquiry
    #expect(vetoing.reply(.veto("why"), payload: [], at: start) == .conclude(.veto("why")))
    var away = inquiry
    #expect(away.isUnheard(mayReturn: false) == .conclude(.abstain))
    guard case .prove = inquiry.isDue(at: inquiry.due) else {
      Issue.record("nobody finds out whether NATS is there")
      return
    }
  }

  @Test("Progress gives more time, never less, and with a margin for the way back")
  func progress() {
    var inquiry = inquiry()
    let later = inquiry.reply(
      .progress(timeout: .seconds(60), status: "flushing"), payload: [], at: start + .seconds(5))
    guard case .extend(let span, "flushing") = later else {
      Issue.record("no more time")
      return
    }
    #expect(span > .seconds(60))
    #expect(inquiry.due == start + .seconds(65))
    _ = inquiry.reply(.progress(timeout: .seconds(1), status: ""), payload: [], at: start + .seconds(6))
    #expect(inquiry.due == start + .seconds(65))
  }

  @Test("Progress without end is eventually ignored")
  func endlessProgress() {
    var inquiry = inquiry()
    let progress = ReplyEnvelope.progress(timeout: .seconds(1), status: "")
    for _ in 0..<Inquiry.extensionsMax {
      #expect(inquiry.reply(progress, payload: [], at: start) != .none)
    }
    #expect(inquiry.reply(progress, payload: [], at: start) == .none)
    #expect(inquiry.reply(.veto("x"), payload: [], at: start) == .conclude(.veto("x")))
  }
}
