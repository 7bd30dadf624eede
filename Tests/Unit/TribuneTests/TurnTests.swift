// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

/// Serialized, because a delegate may block one of Swift's few threads.
@Suite(.serialized, .timeLimit(.minutes(15)))
struct TurnTests {
  @Test func aQuestionIsAnsweredByTheThreadThatReceivedIt() async throws {
    let delegate = Teller()
    try await delegation(of: delegate) { peer, attachment in
      try peer.question(1, of: attachment)
      _ = try peer.next(.answer)
      try peer.conclude(1, of: attachment, .allowed)
    } client: { connection in
      await delegate.concluded(1)
      let thread = await withTaskExecutorPreference(connection.executor) { Thread.ID.current }
      #expect(delegate.threads == [thread, thread])
    }
  }

  @Test func answersOfOneDelegateKeepTheOrderOfItsQuestions() async throws {
    let order = try await delegation(of: Teller(), busEndsFirst: true) { peer, attachment in
      for query in 1...100 { try peer.question(UInt64(query), of: attachment) }
      return try (1...100).map { _ in try peer.nextAnswered() }
    }
    #expect(order == Array(1...100))
  }

  @Test func aDelegateCanAskOverTheSameConnection() async throws {
    let answer = try await conversation { peer in
      let attachment = try peer.attach()
      try peer.question(1, of: attachment)
      let ask = try peer.next(.ask)
      #expect(try ask.decode(Ask.self).parent == 1)
      try peer.reply(to: ask, .vetoed)
      let answer = try peer.next(.answer).payload
      try peer.conclude(1, of: attachment, .vetoed)
      return answer
    } client: { connection in
      let delegate = Teller { question in
        let verdict = try await connection.ask("archive.shouldPrune", parent: question.query)
        return .veto(verdict.decision.rawValue)
      }
      try await connection.attach(delegate, respondingTo: ["window.*"])
      await delegate.concluded(1)
    }
    #expect(answer == "vetoed")
  }

  @Test func aDelegateThatSuspendsDelaysNoOtherQuestion() async throws {
    let (others, othersEnd) = AsyncStream<Void>.makeStream()
    let delegate = Teller { question in
      if question.query == 1 { for await _ in others {} }
      return .approve
    }
    let order = try await delegation(of: delegate, busEndsFirst: true) { peer, attachment in
      for query in 1...3 { try peer.question(UInt64(query), of: attachment) }
      var order: [UInt64] = []
      for _ in 1...3 {
        order.append(try peer.nextAnswered())
        if order.count == 2 { try peer.conclude(2, of: attachment, .allowed) }
      }
      return order
    } client: { _ in
      await delegate.concluded(2)
      othersEnd.finish()
    }
    #expect(order == [2, 3, 1])
  }

  @Test func aDelegateThatBlocksDelaysTheConnectionBriefly() async throws {
    let blocked = Gate()
    let delegate = Teller { question in
      if question.query == 1 { blocked.wait() }
      return .approve
    }
    let order = try await delegation(of: delegate) { peer, attachment in
      try peer.confirmObservation()
      for query in 1...3 { try peer.question(UInt64(query), of: attachment) }
      var order: [UInt64] = []
      for _ in 1...2 { order.append(try peer.nextAnswered()) }
      try peer.post("window.changed")
      try peer.confirmPost()
      blocked.open()
      order.append(try peer.nextAnswered())
      try peer.question(4, of: attachment)
      order.append(try peer.nextAnswered())
      try peer.conclude(4, of: attachment, .allowed)
      return order
    } client: { connection in
      var observed = try await connection.observe("window.changed").makeAsyncIterator()
      #expect(try await observed.next()?.word == "window.changed")
      try await connection.postAcknowledged("window.seen")
      await delegate.concluded(4)
    }
    #expect(Set(order.prefix(2)) == [2, 3])
    #expect(order.suffix(2) == [1, 4])
  }

  @Test func aConnectionEndsWhileADelegateBlocks() async throws {
    let (asked, blocked) = (Gate(), Gate())
    let delegate = Teller { question in
      if question.query == 1 { blocked.wait() }
      return .approve
    }
    let isOnlySecondAnswered = try await delegation(of: delegate) { peer, attachment in
      for query in 1...2 { try peer.question(UInt64(query), of: attachment) }
      let answered = try peer.nextAnswered()
      asked.open()
      return try answered == 2 && peer.nextIfAny() == nil
    } client: { connection in
      await asked.opened()
      await connection.close()
      blocked.open()
      await delegate.concluded(1, 2)
    }
    #expect(isOnlySecondAnswered)
  }

  @Test func aDelegateCanCloseItsConnection() async throws {
    try await conversation { peer in
      let attachment = try peer.attach()
      try peer.question(1, of: attachment)
    } client: { connection in
      let delegate = Teller { _ in
        await connection.close()
        return .approve
      }
      try await connection.attach(delegate, respondingTo: ["window.*"])
      await delegate.concluded(1)
      #expect(await connection.closed() == nil)
    }
  }

  @Test func withdrawingAQuestionBeforeItReachesTheDelegateCancelsItsTask() async throws {
    let blocked = Gate()
    let delegate = Teller { question in
      if question.query == 1 { blocked.wait() }
      if question.query == 2 { await cancellation() }
      return .approve
    }
    try await delegation(of: delegate) { peer, attachment in
      for query in 1...2 { try peer.question(UInt64(query), of: attachment) }
      try peer.conclude(2, of: attachment, .cancelled)
      blocked.open()
    } client: { _ in
      await delegate.concluded(2)
    }
  }

  @Test func tasksOnTheExecutorStayOnOneThread() async throws {
    try await conversation { peer in
      for query in 1...10 { try peer.reply(to: try peer.next(.ask), query: UInt64(query)) }
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

  @Test func aTaskThatBlocksTheExecutorDelaysTheConnectionBriefly() async throws {
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
      for _ in 1...3 { await withTaskExecutorPreference(connection.executor) {} }
    }
  }

  @Test func tasksRunOnTheExecutorOfAConnectionThatHasEnded() async throws {
    try await conversation(reconnectingFor: .zero) { _ in
    } client: { connection in
      let executor = connection.executor
      let closing = Task(executorPreference: executor) {
        await connection.close()
        await Task.yield()
        return await connection.closed()
      }
      #expect(await closing.value == nil)
      #expect(await Task(executorPreference: executor) { 42 }.value == 42)
    }
  }
}
