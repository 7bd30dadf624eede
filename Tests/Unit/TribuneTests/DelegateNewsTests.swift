// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct DelegateNewsTests {
  @Test func aDelegateReceivesTheNotificationsOfItsObjectInOrder() async throws {
    let delegate = Teller()
    try await conversation { peer in
      let attachment = try peer.attach()
      try peer.post("window.willClose", object: "window/42", text: "1")
      try peer.post("window.didClose", object: "window/43")
      try peer.post("disk.didFill", object: "window/42")
      try peer.post("window.close", object: "window/42")
      try peer.post("window.didactic", object: "window/42")
      try peer.send(Lost(count: 3))
      try peer.post("window.didFailToClose", object: "window/42")
      for number in 0..<100 { try peer.post("window.didMove", object: "window/42", text: "\(number)") }
      try peer.send(Ended.replaced(delegateEntry(78, "heir")), serial: attachment)
      try peer.post("window.didClose", object: "window/42")
    } client: { connection in
      try await connection.attach(delegate, to: "window/42", respondingTo: ["window.*"])
      let moves = (0..<100).map { "window.didMove \($0)" }
      #expect(
        await delegate.told.next(104)
          == ["window.willClose 1", "lost 3", "window.didFailToClose"] + moves + ["replaced by heir"])
    }
    #expect(delegate.told.rest == [])
  }

  @Test func aDelegateThatRespondsToNoNotificationReceivesNone() async throws {
    try await conversation { peer in
      let attachment = try peer.attach()
      try peer.send(Lost(count: 3))
      try peer.post("window.didClose", object: "window/42")
      try peer.send(Ended.replaced(delegateEntry(78, "heir")), serial: attachment)
    } client: { connection in
      let delegate = Teller()
      try await connection.attach(
        delegate, to: "window/42", respondingTo: ["window.shouldClose", "a.did.*.b"])
      #expect(await delegate.told.next(1) == ["replaced by heir"])
    }
  }

  @Test func anObserverOfTheSameConnectionReceivesTheCopyToo() async throws {
    try await conversation { peer in
      _ = try peer.attach()
      try peer.confirmObservation()
      try peer.post("window.didClose", object: "window/42")
    } client: { connection in
      let delegate = Teller()
      try await connection.attach(delegate, respondingTo: ["**"])
      var iterator = try await connection.observe("window.*").makeAsyncIterator()
      #expect(try await iterator.next()?.object == "window/42")
      #expect(await delegate.told.next(1) == ["window.didClose"])
    }
  }

  @Test(arguments: [true, false])
  func aNotificationDoesNotOvertakeTheQuestionBeforeIt(isOnAnActor: Bool) async throws {
    let count = 200
    try await conversation { peer in
      let attachment = try peer.attach()
      for number in 1...count {
        try peer.question(UInt64(number), of: attachment)
        try peer.post("window.didMove", object: "window/42", text: "\(number)")
      }
    } client: { connection in
      let teller = Teller()
      let clerk = Clerk()
      if isOnAnActor {
        try await connection.attach(clerk, respondingTo: ["window.*"])
      } else {
        try await connection.attach(teller, respondingTo: ["window.*"])
      }
      let told = await (isOnAnActor ? clerk.told : teller.told).next(3 * count)
      for number in 1...count {
        let asked = try #require(told.firstIndex(of: "asked \(number)"))
        let moved = try #require(told.firstIndex(of: "window.didMove \(number)"))
        #expect(asked < moved)
      }
    }
  }

  @Test func aQuestionDoesNotWaitForNotifications() async throws {
    let answered = Gate()
    let delegate = Teller(holdingBack: true)
    try await delegation(of: delegate) { peer, attachment in
      try peer.post("window.willClose", object: "window/42")
      try peer.question(1, of: attachment)
      _ = try peer.next(.answer)
      answered.open()
    } client: { _ in
      #expect(await delegate.told.next(3).sorted() == ["answered", "asked 1", "window.willClose"])
      delegate.goOn()
      await answered.opened()
    }
  }

  @Test func notificationsComeOneAtATimeAndTheOldestAreDropped() async throws {
    let isTold = Gate()
    let count = 5000
    let delegate = Teller(holdingBack: true)
    try await delegation(of: delegate) { peer, _ in
      try peer.post("window.willMove", object: "window/42")
      isTold.wait()
      for number in 0..<count { try peer.post("window.didMove", object: "window/42", text: "\(number)") }
      try peer.confirmPost()
    } client: { connection in
      #expect(await delegate.told.next(1) == ["window.willMove"])
      isTold.open()
      try await connection.postAcknowledged("ping")
      #expect(delegate.told.rest == [])
      delegate.goOn()
      let kept = (count - 4096..<count).map { "window.didMove \($0)" }
      #expect(await delegate.told.next(4097) == ["lost \(count - 4096)"] + kept)
    }
  }

  @Test func aDetachedDelegateReceivesNothingMore() async throws {
    let delegate = Teller(holdingBack: true)
    try await conversation { peer in
      _ = try peer.attach()
      for number in 0..<3 { try peer.post("window.didMove", object: "window/42", text: "\(number)") }
      let cancel = try peer.next(.cancel)
      try peer.post("window.didMove", object: "window/42", text: "crossed")
      try peer.send(Okay(), serial: cancel.serial)
    } client: { connection in
      let attachment = try await connection.attach(delegate, respondingTo: ["window.*"])
      #expect(await delegate.told.next(1) == ["window.didMove 0"])
      try await attachment.detach()
      delegate.goOn()
    }
    #expect(delegate.told.rest == [])
  }

  @Test func theNextNotificationTakesBackTheAttachmentOfADeallocatedDelegate() async throws {
    let gone = Gate()
    let takenBack = Gate()
    try await conversation { peer in
      let attachment = try peer.attach()
      gone.wait()
      for _ in 1...3 { try peer.post("window.didMove", object: "window/42") }
      #expect(try peer.next(.cancel).decode(Cancel.self).target == attachment)
      takenBack.open()
      #expect(try peer.nextIfAny() == nil)
    } client: { connection in
      var delegate: Teller? = Teller()
      if let delegate { try await connection.attach(delegate, respondingTo: ["window.*"]) }
      delegate = nil
      gone.open()
      await takenBack.opened()
    }
  }

  @Test func settingReachesTheBusAndDetachingAReplacedDelegateChangesNothing() async throws {
    let rest = try await conversation { peer in
      let set = try peer.next(.attach)
      #expect(
        try set.decode(Attach.self)
          == Attach(label: "one", patterns: ["window.*"], isSet: true, protocols: ["P", "Q"]))
      try peer.send(Okay(registration: set.serial, delegate: 77), serial: set.serial)
      try peer.question(1, of: set.serial)
      _ = try peer.next(.answer)
      try peer.send(Ended.replaced(delegateEntry(78, "heir")), serial: set.serial)
      return try peer.restOfKinds()
    } client: { connection in
      let delegate = Teller()
      let attachment = try await connection.set(
        delegate, to: "window/42", respondingTo: ["window.*"], label: "one", conformingTo: ["P", "Q"])
      #expect(
        await Set(delegate.told.next(4))
          == ["asked 1", "answered", "replaced by heir", "concluded 1 cancelled"])
      try await attachment.detach()
    }
    #expect(rest == [])
  }

  @Test(arguments: [true, false])
  func theEndOfTheConnectionCancelsOpenQueries(isAnswered: Bool) async throws {
    let delegate = Teller { _ in
      if !isAnswered { await cancellation() }
      return .approve
    }
    try await delegation(of: delegate, reconnectingFor: .zero, busEndsFirst: true) { peer, attachment in
      try peer.question(1, of: attachment)
      if isAnswered { _ = try peer.next(.answer) }
    } client: { connection in
      #expect(await delegate.told.next(3) == ["asked 1", "answered", "concluded 1 cancelled"])
      #expect(await connection.closed()?.code == .connectionLost)
    }
  }

  @Test func aQuestionSaysWhetherItIsADryRunAndWantsAValue() async throws {
    let answered = Gate()
    let delegate = Teller {
      .value(UserInfo("dry \($0.isDryRun) value \($0.wantsValue) delegate \($0.delegate)"))
    }
    try await delegation(of: delegate) { peer, attachment in
      for (isDryRun, wantsValue) in [(true, false), (false, true)] {
        try peer.question(isDryRun ? 1 : 2, of: attachment, isDryRun: isDryRun, wantsValue: wantsValue)
        let answer = try peer.next(.answer)
        #expect(try answer.decode(TribuneWire.Answer.self).answer == .value)
        #expect(answer.payload == "dry \(isDryRun) value \(wantsValue) delegate 77")
      }
      answered.open()
    } client: { _ in
      await answered.opened()
    }
  }

  @Test func aValueOverTheBusesLimitIsAFailure() async throws {
    let answered = Gate()
    try await conversation(payloadMax: 10) { peer in
      try peer.question(1, of: try peer.attach())
      let answer = try peer.next(.answer)
      #expect(try answer.decode(TribuneWire.Answer.self).answer == .failed)
      #expect(answer.payload.contains("over the bus's limit of 10"))
      answered.open()
    } client: { connection in
      let delegate = Teller { _ in .value("more than ten") }
      try await connection.attach(delegate, respondingTo: ["window.shouldClose"])
      await answered.opened()
    }
  }

  @Test func aDelegateLearnsOfItsReplacementAlsoDuringAnInterruption() async throws {
    let delegate = Teller()
    let attached = AttachedDelegate(
      delegate, object: "", patterns: [try Pattern("window.willClose")], renewal: Attach(patterns: []))
    attached.reservePosition()
    let starts = attached.replace(by: DelegateInfo(delegateEntry(78, "other")))
    #expect(starts)
    attached.startDelivering()
    #expect(await delegate.told.next(2) == ["interrupted", "replaced by other"])
  }
}

private actor Clerk: Delegate {
  let told = Notes()

  func answer(_ question: Tribune.Question) -> Tribune.Answer {
    told.note("asked \(question.query)")
    told.note("answered")
    return .approve
  }

  func received(_ delivery: Delivery) { told.note(delivery.word) }
}
