// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

/// Asking and answering, from one socket to the other.
@Suite("Delegation", .timeLimit(.minutes(2)))
struct DelegationTests {
  private let bus: TestBus
  private let asker: RawClient

  init() throws {
    bus = try TestBus()
    asker = try RawClient.greeted(bus)
  }

  /// A connection with one delegate for `a.shouldB`.
  private func delegate(
    order: Int32 = 0, onFailure: FailurePolicy = .veto, timeout: UInt32 = 0, label: String = "",
    object: String = ""
  ) throws -> RawClient {
    let client = try RawClient.greeted(bus)
    try client.attach(
      Attach(
        order: order, failurePolicy: onFailure, timeout: timeout, label: label, patterns: ["a.shouldB"]),
      object: object, serial: 1)
    return client
  }

  private func ask(_ ask: Ask = Ask(), object: String = "", serial: Serial = 1) throws {
    try asker.send(ask, serial: serial, name: "a.shouldB", object: object)
  }

  @Test("a delegate that answers and sends no more still learns how the query ended")
  func answeringLast() throws {
    for serial: Serial in 1...20 {
      let delegate = try delegate()
      try ask(serial: serial)
      let question = try delegate.next(.question).decode(Question.self)
      try delegate.send(
        Answer(query: question.query, delegate: question.delegate, answer: .approve), serial: 2)
      delegate.endSending()
      #expect(try delegate.next(.concluded).decode(Concluded.self).conclusion == .allowed)
      _ = try asker.next(.verdict)
    }
  }

  // MARK: Who is asked

  @Test("a question carries the query as it was asked, and who asks")
  func question() throws {
    let (asker, welcome) = try RawClient.welcomed(bus)
    let delegate = try RawClient.greeted(bus)
    let id = try delegate.attach(Attach(timeout: 700, patterns: ["a.*"]), object: "window/ü", serial: 9)
    let userInfo = String(repeating: "{\"why\": \"ü\"} ", count: 80_000)
    try asker.send(Ask(deadline: 60_000), serial: 5, name: "a.shouldB", object: "window/ü", text: userInfo)
    let (frame, question) = try delegate.nextQuestion()
    #expect(frame.header.sender == welcome.connection)
    #expect(frame.header.serial == 9)
    #expect(frame.name == "a.shouldB")
    #expect(frame.object == "window/ü")
    #expect(frame.payload == userInfo)
    #expect(question.delegate == id)
    #expect(question.timeout == 700)
    #expect(question.asker == (try ThisProcess.identity))
  }

  @Test("only the delegates of the object, and of any, that respond to the name are asked")
  func whoIsAsked() throws {
    let own = try delegate(object: "window/1")
    let any = try delegate()
    let other = try delegate(object: "window/2")
    let deaf = try RawClient.greeted(bus)
    try deaf.attach(Attach(patterns: ["a.shouldC", "a.should"]), object: "window/1", serial: 1)
    try ask(object: "window/1")
    for client in [own, any] { try client.answer(try client.nextQuestion().question, .approve) }
    let verdict = try asker.nextVerdict()
    #expect(verdict.verdict == .allowed)
    #expect(verdict.outcomes.map(\.outcome) == [.approved, .approved])
    for client in [other, deaf] { try client.expectSilence() }
  }

  @Test("attaching the same thing twice changes nothing")
  func duplicates() throws {
    let client = try RawClient.greeted(bus)
    let first = try client.attach(Attach(patterns: ["a.shouldB", "a.shouldC"]), serial: 1)
    try client.send(Attach(order: 5, patterns: ["a.shouldC", "a.shouldB"]), serial: 2)
    let again = try client.next(.ok).decode(Okay.self)
    #expect(again.registration == 1)
    #expect(again.delegate == first.rawValue)
    try ask()
    try client.answer(try client.nextQuestion().question, .approve)
    #expect(try asker.nextVerdict().outcomes.count == 1)
  }

  @Test("who attaches after the asking is not asked")
  func lateDelegate() throws {
    let early = try delegate()
    try ask(Ask(mode: .order))
    let question = try early.nextQuestion().question
    let late = try delegate(order: 1)
    try early.answer(question, .approve)
    #expect(try asker.nextVerdict().outcomes.count == 1)
    try late.expectSilence()
  }

  @Test(
    "with nobody to ask, the asker's own default is the verdict, at once", arguments: VerdictKind.allCases)
  func nobody(fallback: VerdictKind) throws {
    // Were it to wait for anything, it would be for an hour.
    try ask(Ask(deadline: 3_600_000, fallback: fallback))
    let verdict = try asker.nextVerdict()
    #expect(verdict.verdict == fallback)
    #expect(verdict.isUnanswered)
    #expect(verdict.outcomes.isEmpty)
  }

  @Test("when all abstain, the asker's own default is the verdict", arguments: VerdictKind.allCases)
  func abstaining(fallback: VerdictKind) throws {
    let delegates = try (0..<2).map { _ in try delegate() }
    try ask(Ask(fallback: fallback))
    for client in delegates { try client.answer(try client.nextQuestion().question, .abstain) }
    let verdict = try asker.nextVerdict()
    #expect(verdict.verdict == fallback)
    #expect(verdict.isUnanswered)
    #expect(verdict.outcomes.map(\.outcome) == [.abstained, .abstained])
    for client in delegates {
      #expect(try client.nextConclusion() == (fallback == .allowed ? .allowed : .vetoed))
    }
  }

  // MARK: The verdict

  @Test("a verdict says who said no, and why")
  func verdict() throws {
    let client = try delegate(label: "the editor")
    try ask(serial: 40)
    let question = try client.nextQuestion().question
    try client.answer(question, .veto, "unsaved changes: ü")
    let frame = try asker.next(.verdict)
    #expect(frame.header.serial == 40)
    let verdict = try frame.decode(Verdict.self)
    #expect(verdict.query == question.query)
    #expect(verdict.verdict == .vetoed)
    #expect(!verdict.isUnanswered)
    let outcome = try #require(verdict.outcomes.first)
    #expect(verdict.outcomes.count == 1)
    #expect(outcome.outcome == .vetoed)
    #expect(outcome.reason == "unsaved changes: ü")
    #expect(outcome.delegate.id == question.delegate)
    #expect(outcome.delegate.label == "the editor")
    #expect(outcome.delegate.peer == (try ThisProcess.identity))
    #expect(outcome.elapsed > 0 && outcome.elapsed < 60_000_000)
  }

  @Test("another process that says no is named by its own name and number")
  func otherProcess() throws {
    let socket = try NotifySocket(path: "\(bus.folder.path)/delegate")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try Programs.path(of: "tribunectl"))
    process.arguments = ["--address=\(bus.address)", "delegate", "a.shouldB", "--veto=busy"]
    process.environment = ["NOTIFY_SOCKET": socket.path]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    try socket.wait(for: "READY=1")
    try ask()
    let outcome = try #require(try asker.nextVerdict().outcomes.first)
    #expect(outcome.reason == "busy")
    #expect(outcome.delegate.peer.pid == UInt32(process.processIdentifier))
    #expect(outcome.delegate.peer.uid == getuid())
    #expect(outcome.delegate.peer.process == "tribunectl")
  }

  // MARK: Modes

  @Test("in parallel, the first veto is the verdict, and the others are told")
  func parallel() throws {
    let first = try delegate(order: 1)
    let second = try delegate(order: 2)
    let third = try delegate(order: 3)
    try ask()
    let questions = try [first, second, third].map { try $0.nextQuestion().question }
    try third.answer(questions[2], .approve)
    try third.settle()
    try second.answer(questions[1], .veto, "no")
    let verdict = try asker.nextVerdict()
    #expect(verdict.verdict == .vetoed)
    #expect(verdict.outcomes.map(\.outcome) == [.vetoed, .approved])
    #expect(verdict.outcomes.map(\.delegate.id) == [questions[1].delegate, questions[2].delegate])
    for client in [first, second, third] { #expect(try client.nextConclusion() == .vetoed) }
    // Who was at it still is too late, and changes nothing.
    try first.answer(questions[0], .approve)
    #expect(try first.nextError() == .notAsked)
    try asker.expectSilence()
  }

  @Test("with all reasons, everyone is waited for, and every veto is in the verdict")
  func allReasons() throws {
    let clients = try (1...3).map { try delegate(order: $0) }
    try ask(Ask(mode: .all))
    let questions = try clients.map { try $0.nextQuestion().question }
    try clients[0].answer(questions[0], .veto, "one")
    try clients[0].settle()
    try clients[2].answer(questions[2], .veto, "three")
    try clients[2].settle()
    try asker.expectSilence()
    try clients[1].answer(questions[1], .approve)
    let verdict = try asker.nextVerdict()
    #expect(verdict.verdict == .vetoed)
    #expect(verdict.outcomes.map(\.outcome) == [.vetoed, .approved, .vetoed])
    #expect(verdict.outcomes.map(\.reason) == ["one", "", "three"])
    for client in clients { #expect(try client.nextConclusion() == .vetoed) }
  }

  @Test("in order, one is asked at a time, with the whole query, and none after a veto")
  func inOrder() throws {
    let last = try delegate(order: 30)
    let second = try delegate(order: 20)
    let first = try delegate(order: -10)
    let userInfo = String(repeating: "userInfo", count: 20_000)
    try asker.send(Ask(mode: .order), serial: 1, name: "a.shouldB", text: userInfo)
    let asked = try first.nextQuestion()
    #expect(asked.frame.payload == userInfo)
    try second.expectSilence()
    try first.answer(asked.question, .approve)
    let (frame, question) = try second.nextQuestion()
    #expect(frame.payload == userInfo)
    try second.answer(question, .veto, "no")
    let verdict = try asker.nextVerdict()
    #expect(verdict.verdict == .vetoed)
    #expect(verdict.outcomes.map(\.outcome) == [.approved, .vetoed])
    #expect(try first.nextConclusion() == .vetoed)
    #expect(try second.nextConclusion() == .vetoed)
    try last.expectSilence()
  }

  // MARK: Failure and time

  enum Failure: CaseIterable {
    case silent, gone, detached, failed
  }

  static let failures = Failure.allCases.flatMap { failure in
    FailurePolicy.allCases.map { (failure, $0) }
  }

  @Test("a delegate that breaks, goes or says nothing counts by its policy", arguments: failures)
  func failurePolicy(failure: Failure, policy: FailurePolicy) throws {
    var client: RawClient? = try delegate(onFailure: policy, timeout: failure == .silent ? 50 : 0)
    try ask()
    let question = try #require(try client?.nextQuestion().question)
    let outcome: OutcomeKind
    switch failure {
    case .silent:
      outcome = .timedOut
    case .gone:
      client = nil
      outcome = .gone
    case .detached:
      try client?.send(Cancel(target: 1), serial: 2)
      outcome = .gone
    case .failed:
      try client?.answer(question, .failed, "disk on fire")
      outcome = .failed
    }
    let verdict = try asker.nextVerdict()
    #expect(verdict.outcomes.map(\.outcome) == [outcome])
    #expect(verdict.outcomes.map(\.reason) == [failure == .failed ? "disk on fire" : ""])
    #expect(verdict.verdict == (policy == .veto ? .vetoed : .allowed))
    #expect(verdict.isUnanswered == (policy == .abstain))
    #expect(verdict.outcomes.first?.delegate.peer == (try ThisProcess.identity))
    if failure == .silent {
      #expect(try #require(verdict.outcomes.first).elapsed >= 50_000)
      #expect(try client?.nextConclusion() == (policy == .veto ? .vetoed : .allowed))
    }
  }

  @Test("the asker's deadline bounds everything")
  func deadline() throws {
    let first = try delegate(order: 1, timeout: 60_000)
    let never = try delegate(order: 2, timeout: 60_000)
    try ask(Ask(deadline: 50, mode: .order))
    #expect(try first.nextQuestion().question.timeout <= 50)
    let verdict = try asker.nextVerdict()
    #expect(verdict.verdict == .vetoed)
    #expect(verdict.outcomes.first?.outcome == .timedOut)
    #expect(try first.nextConclusion() == .vetoed)
    try never.expectSilence()
  }

  @Test("a delegate that defers has more time, and the asker hears what it says")
  func deferral() throws {
    let client = try delegate(timeout: 1000, label: "backup")
    try ask(Ask(deadline: 60_000), serial: 8)
    let question = try client.nextQuestion().question
    try client.send(
      Defer(query: question.query, delegate: question.delegate, extension: 30_000), serial: 2, text: "at 40 %"
    )
    let frame = try asker.next(.progress)
    #expect(frame.header.serial == 8)
    #expect(frame.payload == "at 40 %")
    let progress = try frame.decode(Progress.self)
    #expect(progress.query == question.query)
    #expect(progress.delegate.id == question.delegate)
    #expect(progress.delegate.label == "backup")
    #expect(progress.delegate.peer == (try ThisProcess.identity))
    #expect((20_000...30_000).contains(progress.timeout))

    // Another query, of a delegate with the same time that says nothing, tells when that is over.
    let other = try RawClient.greeted(bus)
    try other.attach(Attach(timeout: 1000, patterns: ["a.shouldC"]), serial: 1)
    try asker.send(Ask(), serial: 9, name: "a.shouldC")
    #expect(try asker.nextVerdict().outcomes.map(\.outcome) == [.timedOut])

    try client.answer(question, .approve)
    let verdict = try asker.nextVerdict()
    #expect(verdict.query == question.query)
    #expect(verdict.verdict == .allowed)
    #expect(try #require(verdict.outcomes.first).elapsed >= 1_000_000)
  }

  @Test("deferring never goes past the asker's deadline")
  func deferralPastDeadline() throws {
    let client = try delegate()
    try ask(Ask(deadline: 1000))
    let question = try client.nextQuestion().question
    try client.send(Defer(query: question.query, delegate: question.delegate, extension: .max), serial: 2)
    #expect(try asker.next(.progress).decode(Progress.self).timeout <= 1000)
    #expect(try asker.nextVerdict().outcomes.map(\.outcome) == [.timedOut])
    #expect(try client.nextConclusion() == .vetoed)
  }

  // MARK: Taking it back

  @Test("an asker that takes its query back is told, and so are those who were asked")
  func cancelling() throws {
    let clients = try (0..<2).map { _ in try delegate() }
    try ask(serial: 3)
    let questions = try clients.map { try $0.nextQuestion().question }
    try clients[0].answer(questions[0], .approve)
    try clients[0].settle()
    try asker.send(Cancel(target: 3), serial: 4)
    let error = try asker.next()
    #expect(error.header.serial == 3)
    #expect(try error.decode(Refusal.self).code == .cancelled)
    let okay = try asker.next()
    #expect(okay.kind == .ok)
    #expect(okay.header.serial == 4)
    for client in clients { #expect(try client.nextConclusion() == .cancelled) }
    try clients[1].answer(questions[1], .veto, "too late")
    #expect(try clients[1].nextError() == .notAsked)
    try asker.expectSilence()
  }

  @Test("an asker that goes cancels its query")
  func askerGoes() throws {
    let client = try delegate()
    var leaving: RawClient? = try RawClient.greeted(bus)
    try leaving?.send(Ask(), serial: 1, name: "a.shouldB")
    let question = try client.nextQuestion().question
    leaving = nil
    #expect(try client.nextConclusion() == .cancelled)
    try client.answer(question, .approve)
    #expect(try client.nextError() == .notAsked)
  }

  @Test("a delegate answers for itself alone")
  func answersOfOthers() throws {
    let client = try delegate()
    try ask()
    let question = try client.nextQuestion().question
    try asker.answer(question, .veto, "not mine to say")
    #expect(try asker.nextError() == .notAsked)
    try client.answer(question, .approve)
    #expect(try asker.nextVerdict().verdict == .allowed)
    try client.answer(question, .veto, "changed my mind")
    #expect(try client.nextError() == .notAsked)
  }
}
