// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

/// Where delegates and the tasks of a connection's executor run, and that a connection receives all the same.
///
/// One after the other: a delegate that blocks may do so on one of Swift's own threads, of which there are few.
@Suite(.serialized, .timeLimit(.minutes(15)))
struct TurnTests {
  @Test func aQuestionIsAnsweredByTheThreadThatReceivedIt() async throws {
    try await conversation { peer in
      let attachment = try peer.attach()
      try peer.question(1, of: attachment)
      _ = try peer.next(.answer)
      try peer.conclude(1, of: attachment, .allowed)
    } client: { connection in
      let delegate = Witness { _ in .approve }
      try await connection.attach(delegate, respondingTo: ["window.*"])
      await delegate.concluded(1)
      let thread = await withTaskExecutorPreference(connection.executor) { Thread.ID.current }
      #expect(delegate.threads == [thread, thread])
    }
  }

  @Test func answersOfOneDelegateKeepTheOrderOfItsQuestions() async throws {
    let delegate = Witness { _ in .approve }
    let order = try await conversation(busEndsFirst: true) { peer in
      let attachment = try peer.attach()
      for query in 1...100 { try peer.question(UInt64(query), of: attachment) }
      return try (1...100).map { _ in
        try peer.next(.answer).decode(TribuneWire.Answer.self).query.rawValue
      }
    } client: { connection in
      try await connection.attach(delegate, respondingTo: ["window.*"])
    }
    #expect(order == Array(1...100))
    withExtendedLifetime(delegate) {}
  }

  @Test func aDelegateCanAskOverTheSameConnection() async throws {
    let bus = try ScriptedBus()
    let script: Playing<String> = try bus.play { peer in
      try peer.greet()
      let attachment = try peer.attach()
      try peer.question(1, of: attachment)
      let ask = try peer.next(.ask)
      #expect(try ask.decode(Ask.self).parent == 1)
      try peer.send(
        TribuneWire.Verdict(query: QueryID(rawValue: 2), verdict: .vetoed, isUnanswered: false, outcomes: []),
        serial: ask.serial)
      return try peer.next(.answer).payload
    }
    let connection = try await Connection.connect(to: bus.address)
    let delegate = Witness { question in
      let verdict = try await connection.ask("archive.shouldPrune", parent: question.query)
      return .veto(verdict.decision.rawValue)
    }
    try await connection.attach(delegate, respondingTo: ["window.*"])
    #expect(try await script.value == "vetoed")
    withExtendedLifetime(delegate) {}
    await connection.close()
  }

  @Test func aDelegateThatSuspendsKeepsNobodyWaiting() async throws {
    let (others, othersEnd) = AsyncStream<Void>.makeStream()
    let delegate = Witness { question in
      if question.query == 1 { for await _ in others {} }
      return .approve
    }
    let order = try await conversation(busEndsFirst: true) { peer in
      let attachment = try peer.attach()
      for query in 1...3 { try peer.question(UInt64(query), of: attachment) }
      var order: [UInt64] = []
      for _ in 1...3 {
        order.append(try peer.next(.answer).decode(TribuneWire.Answer.self).query.rawValue)
        if order.count == 2 { try peer.conclude(2, of: attachment, .allowed) }
      }
      return order
    } client: { connection in
      try await connection.attach(delegate, respondingTo: ["window.*"])
      await delegate.concluded(2)
      othersEnd.finish()
    }
    #expect(order == [2, 3, 1])
    withExtendedLifetime(delegate) {}
  }

  @Test func aDelegateThatBlocksKeepsNobodyWaitingForLong() async throws {
    let blocked = Gate()
    let order = try await conversation { peer in
      let attachment = try peer.attach()
      try peer.confirmObservation()
      for query in 1...3 { try peer.question(UInt64(query), of: attachment) }
      var order: [UInt64] = []
      for _ in 1...2 { order.append(try peer.next(.answer).decode(TribuneWire.Answer.self).query.rawValue) }
      try peer.post("window.changed")
      try peer.confirmPost()
      // All that went on while it was blocked.
      blocked.open()
      order.append(try peer.next(.answer).decode(TribuneWire.Answer.self).query.rawValue)
      try peer.question(4, of: attachment)
      order.append(try peer.next(.answer).decode(TribuneWire.Answer.self).query.rawValue)
      try peer.conclude(4, of: attachment, .allowed)
      return order
    } client: { connection in
      let delegate = Witness { question in
        if question.query == 1 { blocked.wait() }
        return .approve
      }
      try await connection.attach(delegate, respondingTo: ["window.*"])
      var observed = try await connection.observe("window.changed").makeAsyncIterator()
      guard case .notification(let notification)? = try await observed.next() else {
        Issue.record("nothing was observed")
        return
      }
      #expect(notification.name == "window.changed")
      try await connection.postAcknowledged("window.seen")
      await delegate.concluded(4)
    }
    #expect(Set(order.prefix(2)) == [2, 3])
    #expect(order.suffix(2) == [1, 4])
  }

  @Test func aConnectionEndsWhileADelegateBlocks() async throws {
    let (asked, blocked) = (Gate(), Gate())
    let isOnlySecondAnswered = try await conversation { peer in
      let attachment = try peer.attach()
      for query in 1...2 { try peer.question(UInt64(query), of: attachment) }
      // Both have been asked: the first one blocks, and the second one is answered all the same.
      let answered = try peer.next(.answer).decode(TribuneWire.Answer.self).query.rawValue
      asked.open()
      return try answered == 2 && peer.nextIfAny() == nil
    } client: { connection in
      let delegate = Witness { question in
        if question.query == 1 { blocked.wait() }
        return .approve
      }
      try await connection.attach(delegate, respondingTo: ["window.*"])
      await asked.opened()
      await connection.close()
      blocked.open()
      // Both learn that nobody can tell how it ended.
      await delegate.concluded(1, 2)
    }
    #expect(isOnlySecondAnswered)
  }

  @Test func aDelegateCanCloseItsConnection() async throws {
    let bus = try ScriptedBus()
    let script: Playing<Void> = try bus.play { peer in
      try peer.greet()
      let attachment = try peer.attach()
      try peer.question(1, of: attachment)
      try peer.readToEnd()
    }
    let connection = try await Connection.connect(to: bus.address)
    let delegate = Witness { _ in
      await connection.close()
      return .approve
    }
    try await connection.attach(delegate, respondingTo: ["window.*"])
    await delegate.concluded(1)
    #expect(await connection.closed() == nil)
    try await script.value
  }

  @Test func aQuestionThatIsWithdrawnBeforeItIsPutHasItsTaskCancelled() async throws {
    let blocked = Gate()
    try await conversation { peer in
      let attachment = try peer.attach()
      for query in 1...2 { try peer.question(UInt64(query), of: attachment) }
      try peer.conclude(2, of: attachment, .cancelled)
      blocked.open()
    } client: { connection in
      let delegate = Witness { question in
        if question.query == 1 { blocked.wait() }
        // Until its task is cancelled.
        if question.query == 2 { for await _ in AsyncStream<Void>.makeStream().stream {} }
        return .approve
      }
      try await connection.attach(delegate, respondingTo: ["window.*"])
      await delegate.concluded(2)
    }
  }

  // MARK: The executor

  @Test func whatRunsOnTheExecutorStaysOnOneThread() async throws {
    try await conversation { peer in
      for query in 1...10 {
        let ask = try peer.next(.ask)
        try peer.send(
          TribuneWire.Verdict(
            query: QueryID(rawValue: UInt64(query)), verdict: .allowed, isUnanswered: true, outcomes: []),
          serial: ask.serial)
      }
    } client: { connection in
      let threads = try await withTaskExecutorPreference(connection.executor) {
        var threads = [Thread.ID.current]
        for query in 1...10 {
          let verdict = try await connection.ask("window.shouldClose")
          #expect(verdict.query == UInt64(query))
          threads.append(Thread.ID.current)
        }
        return threads
      }
      #expect(threads.allSatisfy { $0 == threads[0] })
    }
  }

  @Test func aTaskThatBlocksTheExecutorKeepsTheConnectionWaitingNotForLong() async throws {
    let (blocked, hasBlocked) = (Gate(), Gate())
    try await conversation { peer in
      hasBlocked.wait()
      try peer.confirmPost()
      blocked.open()
    } client: { connection in
      let blocking = Task(executorPreference: connection.executor) {
        hasBlocked.open()
        blocked.wait()
      }
      try await connection.postAcknowledged("window.seen")
      await blocking.value
      // Those behind it run, too, and there is one thread again.
      for _ in 1...3 { await withTaskExecutorPreference(connection.executor) {} }
    }
  }

  @Test func whatRunsOnTheExecutorOfAConnectionThatHasEndedRunsAllTheSame() async throws {
    let bus = try ScriptedBus()
    let script: Playing<Void> = try bus.play { peer in
      try peer.greet()
      try peer.readToEnd()
    }
    let connection = try await Connection.connect(to: bus.address, reconnectingFor: .zero)
    let executor = connection.executor
    let closing = Task(executorPreference: executor) {
      await connection.close()
      await Task.yield()
      return await connection.closed()
    }
    #expect(await closing.value == nil)
    #expect(await Task(executorPreference: executor) { 42 }.value == 42)
    try await script.value
  }
}

/// A delegate that notes by which threads it was asked, and told how it ended.
private final class Witness: Delegate {
  private let body: @Sendable (Tribune.Question) async throws -> Tribune.Answer
  private let held = Mutex<[Thread.ID]>([])
  private let ends: (stream: AsyncStream<UInt64>, continuation: AsyncStream<UInt64>.Continuation)

  init(_ body: @escaping @Sendable (Tribune.Question) async throws -> Tribune.Answer) {
    self.body = body
    ends = AsyncStream.makeStream()
  }

  var threads: [Thread.ID] { held.withLock { $0 } }

  func answer(_ question: Tribune.Question) async throws -> Tribune.Answer {
    held.withLock { $0.append(Thread.ID.current) }
    return try await body(question)
  }

  func concluded(_ conclusion: Conclusion) {
    held.withLock { $0.append(Thread.ID.current) }
    ends.continuation.yield(conclusion.query)
  }

  /// Returns when it has been told how those queries ended.
  func concluded(_ queries: UInt64...) async {
    var open = Set(queries)
    for await ended in ends.stream {
      open.remove(ended)
      if open.isEmpty { return }
    }
  }
}
