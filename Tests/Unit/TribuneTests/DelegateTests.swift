// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct DelegateTests {
  @Test(arguments: [
    (Tribune.Answer.approve, AnswerKind.approve, ""),
    (.veto("unsaved changes"), .veto, "unsaved changes"),
    (.abstain, .abstain, ""),
    (.failed("no display"), .failed, "no display"),
    (.veto(String(repeating: "é", count: 3000)), .veto, String(repeating: "é", count: 2048)),
  ])
  func answersReachTheBus(answer: Tribune.Answer, kind: AnswerKind, text: String) async throws {
    let delegate = Teller { question in
      #expect(question.query == 1)
      #expect(question.name == "window.shouldClose")
      #expect(question.object == "window/42")
      #expect(question.userInfo == "{}")
      #expect(question.timeout == .seconds(5))
      #expect(
        question.asker
          == Asker(
            pid: 100, uid: 1000, process: "editor", units: Units(system: "editor.service"), connection: ":9"))
      return answer
    }
    try await conversation(busEndsFirst: true) { peer in
      let attachment = try peer.attach()
      try peer.question(1, of: attachment, text: "{}")
      let frame = try peer.next(.answer)
      #expect(
        try frame.decode(TribuneWire.Answer.self)
          == TribuneWire.Answer(
            query: QueryID(rawValue: 1), delegate: DelegateID(rawValue: 77), answer: kind))
      #expect(frame.payload == text)
    } client: { connection in
      let attachment = try await connection.attach(delegate, to: "window/42", respondingTo: ["window.*"])
      #expect(attachment.id == 77)
    }
    withExtendedLifetime(delegate) {}
  }

  @Test func theTermsOfAnAttachmentReachTheBus() async throws {
    try await conversation { peer in
      let attach = try peer.next(.attach)
      #expect(attach.object == "window/42")
      #expect(
        try attach.decode(Attach.self)
          == Attach(
            order: -3, failurePolicy: .abstain, timeout: 1500, label: "steward", patterns: ["a.*", "b"]))
      try peer.send(Okay(registration: attach.serial, delegate: 77), serial: attach.serial)
    } client: { connection in
      let delegate = Teller()
      try await connection.attach(
        delegate, to: "window/42", respondingTo: ["a.*", "b"], order: -3, onFailure: .abstain,
        timeout: .milliseconds(1500), label: "steward")
    }
  }

  @Test func anErrorThatADelegateThrowsIsAFailure() async throws {
    let delegate = Teller { _ in throw TribuneError(.refused, "the disk is on fire") }
    let reason = try await delegation(of: delegate, busEndsFirst: true) { peer, attachment in
      try peer.question(1, of: attachment)
      let frame = try peer.next(.answer)
      #expect(try frame.decode(TribuneWire.Answer.self).answer == .failed)
      return frame.payload
    }
    #expect(reason == "the disk is on fire (refused)")
  }

  @Test func questionsRunAtTheSameTime() async throws {
    let meeting = Meeting(of: 5)
    let delegate = Teller { _ in
      await meeting.arrive()
      return .approve
    }
    let answered = try await delegation(of: delegate, busEndsFirst: true) { peer, attachment in
      for query in 1...5 { try peer.question(UInt64(query), of: attachment) }
      return Set(try (1...5).map { _ in try peer.nextAnswered() })
    }
    #expect(answered == [1, 2, 3, 4, 5])
  }

  @Test func withdrawingAQuestionCancelsItsTaskAndDiscardsItsAnswer() async throws {
    let asked = Gate()
    let delegate = Teller { _ in
      asked.open()
      await cancellation()
      #expect(Task.isCancelled)
      return .approve
    }
    let rest = try await delegation(of: delegate) { peer, attachment in
      try peer.question(1, of: attachment)
      asked.wait()
      try peer.conclude(1, of: attachment, .cancelled)
      return try peer.restOfKinds()
    } client: { _ in
      #expect(await delegate.told.next(3) == ["asked 1", "answered", "concluded 1 cancelled"])
    }
    #expect(rest == [])
  }

  @Test(arguments: [
    (ConclusionKind.allowed, Conclusion.Ending.allowed), (.vetoed, .vetoed), (.cancelled, .cancelled),
  ])
  func aDelegateLearnsHowAQueryEnded(kind: ConclusionKind, ending: Conclusion.Ending) async throws {
    let delegate = Teller()
    try await delegation(of: delegate) { peer, attachment in
      try peer.question(1, of: attachment)
      _ = try peer.next(.answer)
      try peer.conclude(1, of: attachment, kind)
    } client: { _ in
      #expect(await delegate.told.next(3) == ["asked 1", "answered", "concluded 1 \(ending.rawValue)"])
    }
  }

  @Test func aDelegateIsNotRetainedAndItsAttachmentEndsWithIt() async throws {
    let gone = Gate()
    try await conversation(busEndsFirst: true) { peer in
      let attachment = try peer.attach()
      gone.wait()
      try peer.question(1, of: attachment)
      #expect(try peer.next(.answer).decode(TribuneWire.Answer.self).answer == .abstain)
      #expect(try peer.next(.cancel).decode(Cancel.self).target == attachment)
    } client: { connection in
      var delegate: Teller? = Teller()
      weak let weakDelegate = delegate
      if let delegate { try await connection.attach(delegate, respondingTo: ["window.*"]) }
      delegate = nil
      #expect(weakDelegate == nil)
      gone.open()
    }
  }

  @Test func attachingDetachesDeallocatedDelegatesBefore() async throws {
    let order = try await conversation { peer in
      let first = try peer.attach()
      let cancel = try peer.next(.cancel)
      #expect(try cancel.decode(Cancel.self).target == first)
      try peer.send(Okay(), serial: cancel.serial)
      _ = try peer.attach()
      return try peer.restOfKinds()
    } client: { connection in
      var delegate: Teller? = Teller()
      if let delegate { try await connection.attach(delegate, respondingTo: ["window.*"]) }
      delegate = nil
      let next = Teller()
      try await connection.attach(next, respondingTo: ["window.*"])
    }
    #expect(order == [])
  }

  @Test func aDeferralReachesTheBusOnlyBeforeTheAnswer() async throws {
    let kept = Mutex<Tribune.Question?>(nil)
    let delegate = Teller { question in
      kept.withLock { $0 = question }
      try await question.deferAnswer(by: .seconds(20), status: "half done")
      return .approve
    }
    try await delegation(of: delegate) { peer, attachment in
      try peer.question(1, of: attachment)
      let deferral = try peer.next(.defer)
      #expect(
        try deferral.decode(Defer.self)
          == Defer(query: QueryID(rawValue: 1), delegate: DelegateID(rawValue: 77), extension: 20_000))
      #expect(deferral.payload == "half done")
      _ = try peer.next(.answer)
      try peer.conclude(1, of: attachment, .allowed)
    } client: { _ in
      #expect(await delegate.told.next(3) == ["asked 1", "answered", "concluded 1 allowed"])
      let question = try #require(kept.withLock { $0 })
      #expect(await failure { try await question.deferAnswer(by: .seconds(1)) }?.code == .notFound)
    }
  }

  @Test func detachingWithdrawsUnansweredQuestions() async throws {
    let asked = Gate()
    try await conversation { peer in
      let attachment = try peer.attach()
      try peer.question(1, of: attachment)
      let cancel = try peer.next(.cancel)
      #expect(try cancel.decode(Cancel.self).target == attachment)
      try peer.send(Okay(), serial: cancel.serial)
      #expect(try peer.nextIfAny() == nil)
    } client: { connection in
      let delegate = Teller { _ in
        asked.open()
        await cancellation()
        return .approve
      }
      let attachment = try await connection.attach(delegate, respondingTo: ["window.*"])
      await asked.opened()
      try await attachment.detach()
      try await attachment.detach()
      #expect(await delegate.told.next(2) == ["asked 1", "answered"])
    }
  }

  @Test func aSecondEqualAttachmentThatTheBusRefusesLeavesTheFirstOne() async throws {
    let asked = Gate()
    try await conversation { peer in
      let first = try peer.attach()
      let again = try peer.next(.attach)
      try peer.send(Refusal(.conflict), serial: again.serial, text: "attached already")
      try peer.question(1, of: first)
      #expect(try peer.nextAnswered() == 1)
      asked.open()
    } client: { connection in
      let delegate = Teller()
      try await connection.attach(delegate, respondingTo: ["window.*"])
      let error = await failure {
        try await connection.attach(delegate, respondingTo: ["window.*"], onFailure: .abstain)
      }
      #expect(error?.code == .conflict)
      await asked.opened()
    }
  }

  @Test func invalidAttachmentsAreNotSent() async throws {
    try await expectSilence { connection in
      let delegate = Teller()
      func code(
        _ patterns: [String], object: String = "", label: String = "", protocols: [String] = []
      ) async -> TribuneError.Code? {
        await failure {
          try await connection.set(
            delegate, to: object, respondingTo: patterns, label: label, conformingTo: protocols)
        }?.code
      }
      let long = String(repeating: "x", count: 256)
      #expect(await code([]) == .invalidPattern)
      #expect(await code(["a", "a..b"]) == .invalidPattern)
      #expect(await code(["a"], object: "\u{7}") == .invalidObject)
      #expect(await code((0...128).map { "a.n\($0)" }) == .limitExceeded)
      #expect(await code(["a"], label: long) == .limitExceeded)
      #expect(await code(["a"], protocols: (0...32).map { "P\($0)" }) == .limitExceeded)
      #expect(await code(["a"], protocols: [""]) == .unknownProtocol)
      #expect(await code(["a"], protocols: [long]) == .limitExceeded)
      #expect(
        await failure { try await connection.attach(delegate, respondingTo: []) }?.code == .invalidPattern)
    }
  }
}

extension ScriptedPeer {
  func attach() throws -> Serial {
    let attach = try next(.attach)
    try send(Okay(registration: attach.serial, delegate: 77), serial: attach.serial)
    return attach.serial
  }

  func question(
    _ query: UInt64, of attachment: Serial, to delegate: UInt64 = 77, isDryRun: Bool = false,
    wantsValue: Bool = false, text: String = ""
  ) throws {
    try send(
      TribuneWire.Question(
        query: QueryID(rawValue: query), delegate: DelegateID(rawValue: delegate), timeout: 5000,
        asker: identity(0, "").peer, isDryRun: isDryRun, wantsValue: wantsValue),
      sender: ConnectionID(rawValue: 9), serial: attachment, name: "window.shouldClose", object: "window/42",
      text: text)
  }

  func nextAnswered() throws -> UInt64 { try next(.answer).decode(TribuneWire.Answer.self).query.rawValue }

  func conclude(_ query: UInt64, of attachment: Serial, _ kind: ConclusionKind) throws {
    try send(
      Concluded(query: QueryID(rawValue: query), delegate: DelegateID(rawValue: 77), conclusion: kind),
      serial: attachment)
  }
}

private actor Meeting {
  private let size: Int
  private var arrived: [CheckedContinuation<Void, Never>] = []

  init(of size: Int) { self.size = size }

  func arrive() async {
    await withCheckedContinuation { continuation in
      arrived.append(continuation)
      if arrived.count == size { for task in arrived { task.resume() } }
    }
  }
}
