// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct ReconnectingTests {
  @Test func lossesAreReportedBetweenTheOldAndTheNewNotifications() async throws {
    try await conversationOverRestarts { peer in
      try peer.confirmObservation()
      try peer.post("a.one")
      try peer.send(Lost(count: 5))
      try peer.post("a.two")
      try peer.send([UInt8](repeating: 1, count: 8))
      let next = try peer.restart()
      try next.confirmObservation()
      try next.post("a.early")
      let succeed = try next.next(.succeed)
      #expect(
        try succeed.decode(Succeed.self) == Succeed(predecessor: ConnectionID(rawValue: 7), received: 7))
      try next.send(Lost(count: 3))
      try next.confirm(succeed)
      try next.post("a.three")
    } client: { connection, events in
      let notifications = try await connection.observe("a.*")
      #expect(
        try await notifications.words(6) == ["a.one", "lost 5", "a.two", "lost 3", "a.early", "a.three"])
      await events.expectReconnection(lost: "3")
    }
  }

  @Test func aBusWithoutStateInterruptsEverySequence() async throws {
    try await conversationOverRestarts { peer in
      try peer.confirmObservation()
      try peer.confirm(try peer.next(.monitor))
      try peer.confirm(try peer.next(.attach), as: 3)
      try peer.send(Refusal(.restarted), text: "a frame was under way")
      let next = try peer.restart(as: 1)
      try next.confirmObservation()
      try next.confirm(try next.next(.monitor))
      try next.confirm(try next.next(.attach), as: 1)
      try next.post("a.didB", text: "new")
      let post = ByteBuffer(capacity: 64)
      post.appendFrame(Post(), serial: 1, name: "a.didB")
      try next.send(
        TribuneWire.Traffic(time: 1, from: ConnectionID(rawValue: 9), to: .bus, receivers: 1),
        text: String(repairing: post.bytes))
      try next.send(Refusal(.notFound), serial: try next.next(.succeed).serial, text: "no such connection")
    } client: { connection, events in
      let delegate = Teller()
      var notifications = try await connection.observe("a.*").makeAsyncIterator()
      var traffic = try await connection.monitor().makeAsyncIterator()
      try await connection.attach(delegate, respondingTo: ["a.didB"])
      #expect(try await notifications.next() == .interrupted)
      #expect(try await notifications.next()?.word == "a.didB new")
      guard case .interrupted = try await traffic.next() else {
        Issue.record("the monitor was told something else")
        return
      }
      guard case .item = try await traffic.next() else {
        Issue.record("the monitor was not told what came behind")
        return
      }
      #expect(await delegate.told.next() == "interrupted")
      #expect(await delegate.told.next() == "a.didB new")
      await events.expectReconnection(lost: "unknown")
    }
  }

  @Test func sentRequestsFailAndUnsentOnesWait() async throws {
    let isAsked = Gate()
    let isWanted = Gate()
    let frames = try await conversationOverRestarts { peer in
      _ = try peer.next(.ask)
      isAsked.open()
      peer.close()
      let next = try peer.bus.accept()
      try next.readHello()
      isWanted.wait()
      try next.greet(as: 8, isHelloRead: true)
      try next.confirmSuccession(of: 7, received: 0)
      var frames: [String] = []
      while let frame = try next.nextIfAny() {
        frames.append("\(frame.header.kind.map { "\($0)" } ?? "unknown") \(frame.name)")
        switch frame.header.kind {
        case .ask:
          let left = try frame.decode(Ask.self).deadline
          #expect(left <= 60_000 - 20 && left > 0)
          try next.reply(to: frame)
        default: try next.confirm(frame)
        }
      }
      return frames
    } client: { connection, events in
      async let inFlight = failure { try await connection.ask("a.inFlight") }
      await isAsked.opened()
      #expect(await inFlight == .unknownOutcome)
      #expect(await events.next() == "disconnected connectionLost")
      // The bus is gone. An immediate task has queued its frame when it first suspends.
      let cancelled = Task.immediate { await failure { try await connection.ask("a.cancelled") } }
      cancelled.cancel()
      #expect(await cancelled.value == .taskCancelled)
      let unobserved = Task.immediate { await failure { _ = try await connection.observe("a.cancelled") } }
      unobserved.cancel()
      #expect(await unobserved.value == .taskCancelled)
      let verdict = Task.immediate { try await connection.ask("a.waiting", deadline: .seconds(60)) }
      // By this deadline, `a.waiting` has waited for 20 ms.
      #expect(
        await failure { try await connection.ask("a.tooLate", deadline: .milliseconds(20)) } == .notSentInTime
      )
      try await connection.post("a.posted")
      let posted = Task.immediate { try await connection.postAcknowledged("a.acknowledged") }
      isWanted.open()
      #expect(try await verdict.value.isAllowed)
      try await posted.value
    }
    #expect(frames == ["ask a.waiting", "post a.posted", "post a.acknowledged"])
  }

  @Test func anAnswerToAQuestionOfTheLastConnectionIsDiscarded() async throws {
    let isAnswered = Gate()
    try await conversationOverRestarts { peer in
      try peer.confirm(try peer.next(.attach), as: 3)
      try peer.question(1, of: 1, to: 3)
      // Again, as from a bus that does not know that it had asked.
      try peer.question(1, of: 1, to: 3)
      try peer.confirmPost()
      let next = try peer.restart()
      let attach = try next.next(.attach)
      try next.confirm(attach, as: 3)
      try next.confirmSuccession(of: 7, received: 0)
      // The next bus counts from the beginning: another question under the same numbers.
      try next.question(1, of: attach.serial, to: 3)
      let answer = try next.next(.answer)
      #expect(try answer.decode(TribuneWire.Answer.self).answer == .veto)
      #expect(answer.payload == "2")
      isAnswered.open()
    } client: { connection, events in
      let gates = [Gate(), Gate()]
      let asked = Mutex(0)
      let delegate = Teller { _ in
        let number = asked.withLock { count in
          count += 1
          return count
        }
        await gates[number - 1].opened()
        return .veto("\(number)")
      }
      try await connection.attach(delegate, respondingTo: ["a.should"])
      #expect(await delegate.told.next() == "asked 1")
      try await connection.postAcknowledged("a.goOn")
      await events.expectReconnection()
      #expect(await delegate.told.next() == "asked 1")
      gates[0].open()
      #expect(await delegate.told.next(2) == ["answered", "concluded 1 cancelled"])
      gates[1].open()
      await isAnswered.opened()
    }
  }

  @Test(arguments: [nil, ErrorCode.tooManyConnections, .shuttingDown, .restarted])
  func aBusThatIsNotReadyIsTriedAgain(refusal: ErrorCode?) async throws {
    try await conversationOverRestarts { peer in
      peer.close()
      for _ in 0..<3 {
        let next = try peer.bus.accept()
        try next.readHello()
        if let refusal {
          try next.send(greeting { $0.appendFrame(Refusal(refusal), serial: 0, text: "not now") })
        }
        next.close()
      }
      let last = try peer.restart()
      try last.confirmSuccession(of: 7, received: 0)
    } client: { _, events in
      await events.expectReconnection()
    }
  }

  @Test func aSecondLossWhileReconnectingIsAccountedFor() async throws {
    try await conversationOverRestarts { peer in
      try peer.confirmObservation()
      try peer.post("a.one")
      let second = try peer.restart()
      try second.confirmObservation()
      try second.post("a.two")
      try second.post("a.three")
      _ = try second.next(.succeed)
      let third = try second.restart(as: 9)
      try third.confirmObservation()
      try third.confirmSuccession(of: 7, received: 1)
      let succeed = try third.next(.succeed)
      // These count as missed, because the loss before them was never known.
      #expect(
        try succeed.decode(Succeed.self) == Succeed(predecessor: ConnectionID(rawValue: 8), received: 0))
      try third.send(Lost(count: 4))
      try third.confirm(succeed)
      try third.post("a.four")
    } client: { connection, events in
      let notifications = try await connection.observe("a.*")
      await events.expectReconnection(lost: "4")
      #expect(try await notifications.words(3) == ["a.one", "lost 4", "a.four"])
    }
  }

  @Test func aBusThatDoesNotComeBackEndsTheConnection() async throws {
    try await conversation(reconnectingFor: .milliseconds(50), busEndsFirst: true) { peer in
      try peer.confirmObservation()
      peer.close()
    } client: { connection in
      let notifications = try await connection.observe()
      let error = await connection.closed()
      #expect(error?.code == .connectionLost)
      #expect(error?.message.contains("50ms") == true)
      var iterator = notifications.makeAsyncIterator()
      #expect(await failure { try await iterator.next() } == error)
      #expect(await failure { try await connection.post("a") } == error)
    }
  }

  @Test func closingWhileTheBusIsGoneDoesNotWaitForIt() async throws {
    try await conversationOverRestarts { peer in
      peer.close()
    } client: { connection, events in
      #expect(await events.next() == "disconnected connectionLost")
      await connection.close()
      #expect(await connection.closed() == nil)
    }
  }

  @Test func closingWaitsForABusThatTakesThePosts() async throws {
    let isClosing = Gate()
    let name = try await conversationOverRestarts { peer in
      peer.close()
      let next = try peer.bus.accept()
      isClosing.wait()
      try next.greet(as: 8)
      try next.confirmSuccession(of: 7, received: 0)
      let post = try next.nextIfAny()
      try next.readToEnd()
      return post?.name
    } client: { connection, events in
      #expect(await events.next() == "disconnected connectionLost")
      try await connection.post("last.words")
      let closing = Task.immediate { await connection.close() }
      isClosing.open()
      await closing.value
    }
    #expect(name == "last.words")
  }
}
