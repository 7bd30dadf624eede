// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

/// The client library against the real daemon.
@Suite("The client library", .timeLimit(.minutes(2)))
struct LibraryTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test("what is posted is observed, once, in order, and stamped with its sender")
  func postAndObserve() async throws {
    let poster = try await bus.connect()
    let observer = try await bus.connect()
    #expect(observer.bus.pid == bus.pid)
    let notifications = try await observer.observe(anyOf: ["window.*", "window.didMove", "**"])
    let some = try await observer.observe("window.didMove", object: "window/3")
    for number in 0..<2000 {
      try await poster.post("window.didMove", object: "window/\(number)", userInfo: UserInfo("\(number)"))
    }
    await poster.close()
    var iterator = notifications.makeAsyncIterator()
    for number in 0..<2000 {
      #expect(
        try await iterator.next()
          == .notification(
            Notification(
              "window.didMove", object: "window/\(number)", sender: poster.id, userInfo: UserInfo("\(number)")
            )))
    }
    var one = some.makeAsyncIterator()
    guard case .notification(let third) = try await one.next() else {
      Issue.record("the observation of one object brought no notification")
      return
    }
    #expect(third.object == "window/3")
    await observer.close()
    #expect(try await one.next() == nil)
    #expect(try await iterator.next() == nil)
  }

  @Test("a long userInfo arrives whole, and one over the limit is refused before it is sent")
  func longUserInfo() async throws {
    let connection = try await bus.connect()
    var iterator = try await connection.observe("a.b").makeAsyncIterator()
    var bytes = [UInt8](repeating: 7, count: connection.bus.payloadMax)
    for place in stride(from: 0, to: bytes.count, by: 60_013) { bytes[place] = UInt8(place % 251) }
    let most = UserInfo(bytes)
    try await connection.post("a.b", userInfo: most)
    guard case .notification(let notification) = try await iterator.next() else {
      Issue.record("no notification came")
      return
    }
    #expect(notification.userInfo == most)
    await #expect(throws: TribuneError.self) {
      try await connection.post("a.b", userInfo: UserInfo(most.bytes + [0]))
    }
    await connection.close()
  }

  @Test("an action is asked for, vetoed with every reason, released, and allowed")
  func askAndVeto() async throws {
    let connection = try await bus.connect()
    let asker = try await bus.connect()
    let steward = Steward(.veto("a restore is under way"))
    let other = Steward(.veto("not on a Friday"))
    let attachment = try await connection.attach(
      steward, to: "archive/photos", respondingTo: ["archive.shouldPrune"], order: 1, label: "steward")
    try await connection.attach(other, respondingTo: ["archive.*"], label: "calendar")

    let chain = try await asker.explain("archive.shouldPrune", object: "archive/photos")
    #expect(chain.delegates.map(\.label) == ["calendar", "steward"])

    let vetoed = try await asker.ask("archive.shouldPrune", object: "archive/photos", mode: .all)
    #expect(vetoed.decision == .vetoed)
    #expect(vetoed.outcomes.map(\.reason) == ["not on a Friday", "a restore is under way"])
    #expect(vetoed.outcomes.map(\.kind) == [.vetoed, .vetoed])
    #expect(vetoed.outcomes.last?.delegate == attachment.id)
    #expect(await steward.nextEnding() == .vetoed)

    await steward.set(.approve)
    await other.set(.abstain)
    let allowed = try await asker.ask("archive.shouldPrune", object: "archive/photos", mode: .order)
    #expect(allowed.isAllowed)
    #expect(!allowed.isUnanswered)
    #expect(await steward.nextEnding() == .allowed)

    try await attachment.detach()
    let unanswered = try await asker.ask(
      "archive.shouldPrune", object: "archive/photos", default: .vetoed)
    #expect(unanswered.decision == .vetoed)
    #expect(unanswered.isUnanswered)
    await asker.close()
    await connection.close()
  }

  @Test("cancelling the task cancels the query, which withdraws the question")
  func cancelAsk() async throws {
    let connection = try await bus.connect()
    let asked = AsyncStream<Void>.makeStream()
    let silent = Steward(nil) { asked.continuation.yield() }
    try await connection.attach(silent, respondingTo: ["a.shouldB"])
    let task = Task { () -> TribuneError? in
      do throws(TribuneError) {
        _ = try await connection.ask("a.shouldB")
        return nil
      } catch {
        return error
      }
    }
    for await _ in asked.stream { break }
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    #expect(await silent.nextEnding() == .cancelled)
    #expect(try await connection.status().queries == 0)
    await connection.close()
  }

  @Test("a delegate that defers is waited for, and the asker is told")
  func deferral() async throws {
    let connection = try await bus.connect()
    let told = AsyncStream<Progress>.makeStream()
    let slow = Deferrer(until: told.stream)
    try await connection.attach(slow, respondingTo: ["a.shouldB"], label: "slow")
    let verdict = try await connection.ask("a.shouldB") { progress in
      if progress.stage == .deferred { told.continuation.yield(progress) }
    }
    #expect(verdict.outcomes.map(\.kind) == [.approved])
    #expect(verdict.outcomes.first?.label == "slow")
    await connection.close()
  }

  @Test("a delegate whose last reference has gone is abstained from and taken back")
  func goneDelegate() async throws {
    let connection = try await bus.connect()
    let (ends, end) = AsyncStream<Void>.makeStream()
    do {
      let steward = Steward(.veto("no"), end: end)
      try await connection.attach(steward, respondingTo: ["a.shouldB"])
      #expect(try await connection.ask("a.shouldB").decision == .vetoed)
      // What is told of the ending holds the delegate until it has been.
      #expect(await steward.nextEnding() == .vetoed)
    }
    // The question's own tasks may outlive its answer by a moment.
    for await _ in ends {}
    var detached = try await connection.observe("tribune.delegate.didDetach").makeAsyncIterator()
    #expect(try await connection.ask("a.shouldB").outcomes.map(\.kind) == [.abstained])
    #expect(try await detached.nextName() == "tribune.delegate.didDetach")
    let verdict = try await connection.ask("a.shouldB")
    #expect(verdict.isUnanswered)
    await connection.close()
  }

  @Test("the bus is looked at with its own numbers")
  func listings() async throws {
    let connection = try await bus.connect()
    let notifications = try await connection.observe("a.*", object: "o")
    let steward = Steward(.approve)
    try await connection.attach(steward, to: "o", respondingTo: ["a.b"], onFailure: .abstain, label: "s")
    try await connection.postAcknowledged("a.c", object: "o")
    let connections = try await connection.connections()
    #expect(connections.map(\.id) == [connection.id])
    #expect(connections.first?.posted == 1)
    let observations = try await connection.observations()
    #expect(observations.map { [$0.connection, $0.pattern, $0.object] } == [[connection.id, "a.*", "o"]])
    let delegate = try await connection.delegates().first
    #expect(delegate?.failurePolicy == .abstain)
    #expect(delegate?.patterns == ["a.b"])
    let status = try await connection.status()
    #expect(status.pid == bus.pid && status.connections == 1 && status.posted == 1 && status.delivered == 1)
    await notifications.cancel()
    await connection.close()
  }

  @Test("a monitor sees what passes, decoded")
  func monitor() async throws {
    let watching = try await bus.connect()
    let connection = try await bus.connect()
    let traffic = try await watching.monitor(["a.**"])
    let steward = Steward(.veto("no"))
    try await connection.attach(steward, to: "o", respondingTo: ["a.shouldB"])
    try await connection.post("a.b", object: "o", userInfo: "{}")
    _ = try await connection.ask("a.shouldB", object: "o")
    var kinds: [String] = []
    var verdict: Verdict?
    for try await case .item(let item) in traffic {
      kinds.append(item.kind)
      if case .verdict(let seen) = item.content { verdict = seen }
      if kinds.count == 5 { break }
    }
    #expect(Set(kinds) == ["post", "ask", "question", "answer", "verdict"])
    #expect(kinds.first == "post")
    #expect(verdict?.outcomes.map(\.reason) == ["no"])
    await watching.close()
    await connection.close()
  }

  @Test("when the daemon stops, everything ends with that reason")
  func stop() async throws {
    let connection = try await bus.connect()
    let notifications = try await connection.observe()
    bus.stop()
    #expect(await connection.closed()?.code == .shuttingDown)
    await #expect(throws: TribuneError.self) {
      for try await _ in notifications {}
    }
    await #expect(throws: TribuneError.self) { try await connection.post("a.b") }
  }
}

private actor Steward: Delegate {
  private var reply: Answer?
  private let asked: @Sendable () -> Void
  private let endings = AsyncStream<Conclusion.Ending>.makeStream()
  private let end: AsyncStream<Void>.Continuation?

  /// - Parameters:
  ///   - reply: what it says; nil is nothing, until the question is withdrawn.
  ///   - end: finished with it.
  init(
    _ reply: Answer?, end: AsyncStream<Void>.Continuation? = nil, asked: @escaping @Sendable () -> Void = {}
  ) {
    self.reply = reply
    self.end = end
    self.asked = asked
  }

  deinit { end?.finish() }

  func set(_ reply: Answer) { self.reply = reply }

  func answer(_ question: Question) async throws -> Answer {
    asked()
    if let reply { return reply }
    for await _ in AsyncStream<Void>.makeStream().stream {}
    return .approve
  }

  func concluded(_ conclusion: Conclusion) {
    endings.continuation.yield(conclusion.ending)
  }

  nonisolated func nextEnding() async -> Conclusion.Ending? {
    for await ending in endings.stream { return ending }
    return nil
  }
}

/// Asks for more time, and answers once the asker has been told.
private final class Deferrer: Delegate {
  private let told: AsyncStream<Progress>

  init(until told: AsyncStream<Progress>) { self.told = told }

  func answer(_ question: Question) async throws -> Answer {
    try await question.deferAnswer(by: .seconds(20), status: "half done")
    for await progress in told where progress.stage == .deferred {
      return progress.status == "half done" ? .approve : .failed(progress.status)
    }
    return .failed("the asker was not told")
  }
}
