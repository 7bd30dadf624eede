// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct ObservingTests {
  @Test func anObservationDeliversMatchesInOrder() async throws {
    let observed = try await conversation { peer in
      let observe = try peer.confirmObservation()
      try peer.post("window.willClose", object: "window/1", text: "1")
      try peer.post("window.didClose", object: "window/1")
      return [observe.name, observe.object]
    } client: { connection in
      let notifications = try await connection.observe("window.*", object: "window/1")
      var iterator = notifications.makeAsyncIterator()
      #expect(
        try await iterator.next()
          == .notification(Notification("window.willClose", object: "window/1", sender: ":9", userInfo: "1")))
      #expect(
        try await iterator.next()
          == .notification(Notification("window.didClose", object: "window/1", sender: ":9")))
      await connection.close()
      #expect(try await iterator.next() == nil)
    }
    #expect(observed == ["window.*", "window/1"])
  }

  @Test func oneCopyReachesEachStreamThatItMatchesOnce() async throws {
    let gate = Gate()
    let rest = try await conversation { peer in
      for _ in 0..<3 { try peer.confirmObservation() }
      gate.wait()
      try peer.post("window.didClose", object: "window/1")
      try peer.post("window.didClose", object: "window/2")
      try peer.post("disk.didFill")
      return try peer.restOfKinds()
    } client: { connection in
      let both = try await connection.observe(anyOf: ["window.*", "window.didClose", "window.*"])
      let one = try await connection.observe(object: "window/2")
      gate.open()
      var bothIterator = both.makeAsyncIterator()
      #expect(try await bothIterator.next()?.object == "window/1")
      #expect(try await bothIterator.next()?.object == "window/2")
      var oneIterator = one.makeAsyncIterator()
      #expect(try await oneIterator.next()?.object == "window/2")
      await both.cancel()
      await one.cancel()
      await one.cancel()
      #expect(try await bothIterator.next() == nil)
      #expect(try await oneIterator.next() == nil)
    }
    #expect(rest == [.cancel, .cancel, .cancel])
  }

  @Test func aMonitorOfSeveralPatternsDeliversEachMessageOnce() async throws {
    let gate = Gate()
    try await conversation { peer in
      for _ in 0..<2 { try peer.confirm(try peer.next(.monitor)) }
      gate.wait()
      for name in ["a.b", "c.d"] {
        let post = ByteBuffer(capacity: 64)
        post.appendFrame(Post(), serial: 1, name: name)
        try peer.send(
          TribuneWire.Traffic(time: 1, from: ConnectionID(rawValue: 9), to: .bus, receivers: 1),
          text: String(repairing: post.bytes))
      }
      try peer.send(Lost(count: 3))
    } client: { connection in
      let traffic = try await connection.monitor(["a.*", "c.*"])
      gate.open()
      var seen: [String] = []
      for try await delivery in traffic {
        switch delivery {
        case .item(let item): seen.append(item.name)
        case .lost(let count): seen.append("lost \(count)")
        case .interrupted: seen.append("interrupted")
        }
        if seen.count == 3 { break }
      }
      #expect(seen == ["a.b", "c.d", "lost 3"])
    }
  }

  @Test func equalObservationsAreOneToTheBus() async throws {
    let kinds = try await conversation { peer in
      try peer.confirmObservation()
      try peer.post("a.b")
      return try peer.restOfKinds()
    } client: { connection in
      let first = try await connection.observe("a.b")
      let second = try await connection.observe("a.b")
      var iterator = first.makeAsyncIterator()
      #expect(try await iterator.next()?.object == "")
      await first.cancel()
      try await connection.post("c")
      await second.cancel()
    }
    #expect(kinds == [.post, .cancel])
  }

  @Test func objectsOfTheSameCharactersDifferByTheirBytes() async throws {
    let (one, other) = ("\u{FC}", "u\u{308}")
    let objects = try await conversation { peer in
      [try peer.confirmObservation().object, try peer.confirmObservation().object]
    } client: { connection in
      let both = [try await connection.observe(object: one), try await connection.observe(object: other)]
      await connection.close()
      _ = both
    }
    #expect(objects.map(\.utf8.count) == [2, 3])
    let matcher = LinkState.ObservationMatcher(pattern: nil, object: ExactText(one))
    let attached = AttachedDelegate(
      Teller(), object: one, patterns: [try Pattern("a.didB")], renewal: Attach(patterns: []))
    for (object, isTheirs) in [(one, true), (other, false)] {
      #expect(matcher.matches(name: "a.didB", object: object) == isTheirs)
      #expect(attached.receives(name: "a.didB", object: object) == isTheirs)
    }
    #expect(attached.receives(name: "a.didB", object: "") && !matcher.matches(name: "a.didB", object: ""))
  }

  @Test func anObservationWithoutAnyReferenceIsTakenBack() async throws {
    let isTakenBack = try await conversation { peer in
      let observe = try peer.confirmObservation()
      return try peer.next(.cancel).decode(Cancel.self).target == observe.serial
    } client: { connection in
      _ = try await connection.observe("a.b")
      #expect(connection.bus.pid == 4242)
    }
    #expect(isTakenBack)
  }

  @Test func whenOneOfSeveralPatternsIsRefusedTheOthersAreTakenBack() async throws {
    let isTakenBack = try await conversation { peer in
      let first = try peer.confirmObservation()
      let second = try peer.next(.observe)
      try peer.send(Refusal(.limitExceeded), serial: second.serial, text: "one is enough")
      return try peer.next(.cancel).decode(Cancel.self).target == first.serial
    } client: { connection in
      let error = await failure { try await connection.observe(anyOf: ["a", "b"]) }
      #expect(error == TribuneError(.limitExceeded, "one is enough"))
    }
    #expect(isTakenBack)
  }

  @Test(arguments: ["", "a.**.b", "a b", "***"])
  func invalidPatternsAreNotSent(pattern: String) async throws {
    try await expectSilence { connection in
      #expect(await failure { try await connection.observe(pattern) }?.code == .invalidPattern)
      #expect(await failure { try await connection.observe(anyOf: ["a", pattern]) }?.code == .invalidPattern)
      #expect(await failure { try await connection.observe(anyOf: []) }?.code == .invalidPattern)
      #expect(await failure { try await connection.observe("a", object: "\n") }?.code == .invalidObject)
      #expect(await failure { try await connection.monitor([pattern]) }?.code == .invalidPattern)
    }
  }

  @Test func aLossOfTheBusIsReportedWhereItHappened() async throws {
    try await conversation { peer in
      try peer.confirmObservation()
      for number in 0..<2 { try peer.post("a", text: "\(number)") }
      for _ in 0..<2 { try peer.send(Lost(count: 5)) }
      try peer.post("a", text: "2")
      try peer.confirmPost()
    } client: { connection in
      let notifications = try await connection.observe(limit: 8)
      try await connection.postAcknowledged("ping")
      #expect(try await notifications.words(4) == ["a 0", "a 1", "lost 10", "a 2"])
    }
  }

  @Test func lossesAddUpToTheLargestNumberAtMost() async throws {
    try await conversation { peer in
      try peer.confirmObservation()
      for _ in 0..<4 { try peer.send(Lost(count: .max)) }
      try peer.confirmPost()
    } client: { connection in
      var iterator = try await connection.observe(limit: 1).makeAsyncIterator()
      try await connection.postAcknowledged("ping")
      #expect(try await iterator.next() == .lost(.max))
    }
  }

  @Test func aLostConnectionEndsTheSequenceWithItsError() async throws {
    try await conversation(busEndsFirst: true) { peer in
      try peer.confirmObservation()
      try peer.post("a", text: "before")
      try peer.send(Refusal(.tooSlow), text: "you never read")
    } client: { connection in
      let notifications = try await connection.observe()
      var iterator = notifications.makeAsyncIterator()
      #expect(try await iterator.next()?.text == "before")
      #expect(await failure { try await iterator.next() } == TribuneError(.tooSlow, "you never read"))
      #expect(await connection.closed()?.code == .tooSlow)
      #expect(await failure { try await connection.post("a") }?.code == .tooSlow)
    }
  }

  @Test func cancellingATaskEndsItsReading() async throws {
    try await conversation { peer in
      _ = try peer.confirmObservation()
    } client: { connection in
      let notifications = try await connection.observe()
      let task = Task {
        var count = 0
        for try await _ in notifications { count += 1 }
        return count
      }
      task.cancel()
      #expect(try await task.value == 0)
    }
  }
}

extension Delivery {
  var object: String? { if case .notification(let notification) = self { notification.object } else { nil } }

  var text: String? {
    if case .notification(let notification) = self { notification.userInfo.text } else { nil }
  }
}
