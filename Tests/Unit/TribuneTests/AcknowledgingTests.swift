// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct AcknowledgingTests {
  @Test func theFirstReportIsTheOneThatTheBusReceives() async throws {
    let told = try await conversation { peer in
      let observe = try peer.confirmObservation()
      #expect(try observe.decode(Observe.self) == Observe(options: .awaited))
      for serial in 1...3 { try peer.postAwaited("a.willB", serial: Serial(serial)) }
      return try peer.restOfDones()
    } client: { connection in
      var iterator = try await connection.observe("a.*", awaited: true).makeAsyncIterator()
      let done = try #require(try await iterator.next()?.acknowledgement)
      done.done()
      done.failed("too late")
      done.done()
      let failed = try #require(try await iterator.next()?.acknowledgement)
      failed.failed("no room")
      failed.done()
      let long = try #require(try await iterator.next()?.acknowledgement)
      long.failed(String(repeating: "€", count: 2000))
    }
    #expect(told == ["1 done", "2 failed: no room", "3 failed: " + String(repeating: "€", count: 1365)])
  }

  @Test(arguments: [(false, true), (true, false), (false, false)])
  func aNotificationIsAwaitedOnlyIfBothSidesWantIt(observer: Bool, poster: Bool) async throws {
    let name = "window.willClose"
    let told = try await conversation { peer in
      try peer.confirmObservation()
      if poster {
        try peer.postAwaited(name, serial: 1)
      } else {
        try peer.send(Post(options: .immediately), sender: ConnectionID(rawValue: 9), serial: 1, name: name)
      }
      return try peer.restOfDones()
    } client: { connection in
      var iterator = try await connection.observe(awaited: observer).makeAsyncIterator()
      let delivery = try await iterator.next()
      #expect(delivery == .notification(Tribune.Notification(name, sender: ":9")))
      #expect(delivery?.acknowledgement == nil)
    }
    #expect(told == [])
  }

  @Test func anUnknownOptionDoesNotHideThatAPostIsAwaited() async throws {
    let told = try await conversation { peer in
      try peer.confirmObservation()
      let newer = ByteBuffer(capacity: 64)
      newer.appendFrame(
        Post(options: [.awaited]), sender: ConnectionID(rawValue: 9), serial: 1, name: "a.willB")
      newer.store(UInt8(0x80 | 16), at: FrameHeader.length)
      try peer.send(newer)
      return try peer.restOfDones()
    } client: { connection in
      var iterator = try await connection.observe(awaited: true).makeAsyncIterator()
      try await iterator.next()?.acknowledgement?.done()
    }
    #expect(told == ["1 done"])
  }

  @Test(arguments: [
    ([true, true], "1 done"),
    ([false, true], "1 failed: no room"),
    ([true, false], "1 failed: no room"),
    ([nil, true], "1 failed: the observer released the notification without an acknowledgement"),
  ])
  func theBusReceivesOneReportForAllSequences(says: [Bool?], told: String) async throws {
    let gate = Gate()
    let dones = try await conversation { peer in
      for _ in 0..<4 { try peer.confirmObservation() }
      gate.wait()
      try peer.postAwaited("a.willB", serial: 1)
      return try peer.restOfDones()
    } client: { connection in
      var one = try await connection.observe(anyOf: ["a.*", "a.willB"], awaited: true).makeAsyncIterator()
      var two = try await connection.observe("a.*", awaited: true).makeAsyncIterator()
      var notAwaited = try await connection.observe("a.*").makeAsyncIterator()
      let other = try await connection.observe("b.*", awaited: true)
      gate.open()
      #expect(try await notAwaited.next()?.acknowledgement == nil)
      var acknowledgements = [try await one.next()?.acknowledgement, try await two.next()?.acknowledgement]
      #expect(acknowledgements.allSatisfy { $0 != nil })
      for (place, isDone) in says.enumerated() {
        switch isDone {
        case true?: acknowledgements[place]?.done()
        case false?: acknowledgements[place]?.failed("no room")
        case nil: acknowledgements[place] = nil
        }
      }
      await other.cancel()
    }
    #expect(dones == [told])
  }

  @Test func theReportWaitsForTheLastSequence() async throws {
    let gate = Gate()
    let kinds = try await conversation(busEndsFirst: true) { peer in
      for _ in 0..<2 { try peer.confirmObservation() }
      gate.wait()
      try peer.postAwaited("a.willB", serial: 1)
      var kinds: [FrameKind?] = []
      for _ in 0..<2 { kinds.append(try peer.nextIfAny()?.header.kind) }
      return kinds
    } client: { connection in
      var one = try await connection.observe("a.*", awaited: true).makeAsyncIterator()
      var two = try await connection.observe("a.willB", awaited: true).makeAsyncIterator()
      gate.open()
      try await one.next()?.acknowledgement?.done()
      let last = try await two.next()?.acknowledgement
      try await connection.post("in.between")
      last?.done()
    }
    #expect(kinds == [.post, .done])
  }

  @Test func releasingASequenceReportsItsUnreadNotificationsAsFailed() async throws {
    let told = try await conversation(busEndsFirst: true) { peer in
      try peer.postOneAwaited()
    } client: { connection in
      var notifications: Notifications? = try await connection.observe("a.*", awaited: true)
      try await connection.postAcknowledged("ping")
      #expect(notifications != nil)
      notifications = nil
    }
    #expect(told == ["1 failed: the observer released the notification without an acknowledgement"])
  }

  @Test func aCancelledSequenceStillDeliversItsBufferAndAcknowledgesIt() async throws {
    let told = try await conversation(busEndsFirst: true) { peer in
      try peer.postOneAwaited()
    } client: { connection in
      let notifications = try await connection.observe("a.*", awaited: true)
      try await connection.postAcknowledged("ping")
      await notifications.cancel()
      var iterator = notifications.makeAsyncIterator()
      try await iterator.next()?.acknowledgement?.done()
      #expect(try await iterator.next() == nil)
    }
    #expect(told == ["1 done"])
  }

  @Test func anObservationThatIsBeingTakenBackReportsAFailure() async throws {
    let told = try await conversation { peer in
      let observe = try peer.confirmObservation()
      let cancel = try peer.next(.cancel)
      #expect(try cancel.decode(Cancel.self).target == observe.serial)
      try peer.postAwaited("b.willC", serial: 1)
      try peer.postAwaited("a.willB", serial: 2)
      try peer.send(Okay(), serial: cancel.serial)
      try peer.postAwaited("a.willB", serial: 3)
      return try peer.restOfDones()
    } client: { connection in
      await (try await connection.observe("a.*", awaited: true)).cancel()
      try await connection.postAcknowledged("ping")
    }
    #expect(told == ["2 failed: the observation was taken back"])
  }

  @Test func notificationsToDelegatesAreNotAwaited() async throws {
    let told = try await conversation { peer in
      _ = try peer.attach()
      try peer.postAwaited("window.willClose", object: "window/42", serial: 1)
      return try peer.restOfDones()
    } client: { connection in
      let delegate = Receiver()
      try await connection.attach(delegate, to: "window/42", respondingTo: ["window.*"])
      var received = delegate.received.makeAsyncIterator()
      let delivery = try #require(await received.next())
      #expect(delivery == .notification(.init("window.willClose", object: "window/42", sender: ":9")))
      #expect(delivery.acknowledgement == nil)
    }
    #expect(told == [])
  }

  @Test func acknowledgingAfterTheEndDoesNothing() async throws {
    try await conversation(reconnectingFor: .zero, busEndsFirst: true) { peer in
      try peer.confirmObservation()
      try peer.postAwaited("a.willB", serial: 1)
      try peer.confirmPost()
    } client: { connection in
      var iterator = try await connection.observe("a.*", awaited: true).makeAsyncIterator()
      try await connection.postAcknowledged("ping")
      #expect(await connection.closed()?.code == .connectionLost)
      let acknowledgement = try #require(try await iterator.next()?.acknowledgement)
      acknowledgement.done()
      #expect(await failure { try await iterator.next() }?.code == .connectionLost)
    }
  }
}

extension Delivery {
  fileprivate var acknowledgement: Acknowledgement? {
    if case .notification(let notification) = self { notification.acknowledgement } else { nil }
  }
}

extension ScriptedPeer {
  fileprivate func postOneAwaited() throws -> [String] {
    try confirmObservation()
    try postAwaited("a.willB", serial: 1)
    try confirmPost()
    return try restOfDones(1)
  }

  fileprivate func postAwaited(_ name: String, object: String = "", serial: Serial) throws {
    try send(
      Post(options: .awaited, deadline: 1000), sender: ConnectionID(rawValue: 9), serial: serial, name: name,
      object: object)
  }

  fileprivate func restOfDones(_ count: Int = .max) throws -> [String] {
    var dones: [String] = []
    while dones.count < count, let frame = try nextIfAny() {
      guard frame.header.kind == .done else {
        if frame.header.flags.contains(.acknowledge) { try send(Okay(), serial: frame.serial) }
        continue
      }
      let done = try frame.decode(Done.self)
      #expect(done.poster == ConnectionID(rawValue: 9))
      #expect(done.hasFailed || frame.payload.isEmpty)
      dones.append("\(done.post) " + (done.hasFailed ? "failed: \(frame.payload)" : "done"))
    }
    return dones
  }
}

private final class Receiver: Delegate {
  let (received, told) = AsyncStream<Delivery>.makeStream()

  func answer(_ question: Tribune.Question) async -> Tribune.Answer { .abstain }
  func received(_ delivery: Delivery) async { told.yield(delivery) }
}
