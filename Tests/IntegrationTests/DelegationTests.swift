// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// A query from the asker's socket to the delegate's, and back.
@Suite("Delegation", .timeLimit(.minutes(2)))
struct DelegationTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test("a delegate that answers and then ends its sending side still learns how the query ended")
  func answeringLast() throws {
    let asker = try RawClient.greeted(bus)
    for serial: Serial in 1...20 {
      let delegate = try RawClient.greeted(bus)
      try delegate.attach(Attach(patterns: ["a.shouldB"]), serial: 1)
      try asker.send(Ask(), serial: serial, name: "a.shouldB")
      try delegate.answer(try delegate.nextQuestion().question, .approve)
      delegate.endSending()
      #expect(try delegate.nextConclusion() == .allowed)
      _ = try asker.nextVerdict()
    }
  }

  @Test("a question names the query and the asker, and its verdict the delegate and the reason")
  func question() throws {
    let (asker, welcome) = try RawClient.welcomed(bus)
    let delegate = try RawClient.greeted(bus)
    let id = try delegate.attach(
      Attach(timeout: 60_000, label: "the editor", patterns: ["a.*"]), object: "window/ü", serial: 9)
    let userInfo = String(repeating: "{\"why\": \"ü\"} ", count: 80_000)
    try asker.send(Ask(deadline: 60_000), serial: 5, name: "a.shouldB", object: "window/ü", text: userInfo)
    let (frame, question) = try delegate.nextQuestion()
    #expect(frame.header.sender == welcome.connection)
    #expect(frame.header.serial == 9)
    #expect(frame.name == "a.shouldB")
    #expect(frame.object == "window/ü")
    #expect(frame.payload == userInfo)
    #expect(question.delegate == id)
    #expect(question.timeout == 60_000)
    #expect(question.asker == (try ThisProcess.identity))

    try delegate.answer(question, .veto, "unsaved changes: ü")
    let verdictFrame = try asker.next(.verdict)
    #expect(verdictFrame.header.serial == 5)
    let verdict = try verdictFrame.decode(Verdict.self)
    #expect(verdict.query == question.query)
    #expect(verdict.verdict == .vetoed)
    let outcome = try #require(verdict.outcomes.first)
    #expect(outcome.reason == "unsaved changes: ü")
    #expect(outcome.delegate.id == id)
    #expect(outcome.delegate.label == "the editor")
    #expect(outcome.delegate.peer == (try ThisProcess.identity))
    #expect(outcome.elapsed > 0 && outcome.elapsed < 60_000_000)
  }
}
