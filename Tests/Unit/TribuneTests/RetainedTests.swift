// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct RetainedTests {
  @Test func theSnapshotComesFirstAndOnlyToItsOwnSequence() async throws {
    let observed = try await conversation { peer in
      let plain = try peer.confirmObservation()
      try peer.post("a.c", text: "2")
      let observe = try peer.confirmObservation()
      try peer.retained("a.b", object: "o", text: "1", under: observe)
      try peer.retained("a.c", text: "2", under: observe)
      try peer.post("a.c", text: "3")
      try peer.post("a.b", text: "5")
      return [try plain.decode(Observe.self), try observe.decode(Observe.self)]
    } client: { connection in
      var plain = try await connection.observe("a.*").makeAsyncIterator()
      var iterator = try await connection.observe("a.*", retained: true).makeAsyncIterator()
      #expect(
        try await iterator.next()
          == .notification(
            Tribune.Notification("a.b", object: "o", sender: ":9", userInfo: "1", isRetained: true)))
      #expect(
        try await iterator.next()
          == .notification(Tribune.Notification("a.c", sender: ":9", userInfo: "2", isRetained: true)))
      #expect(
        try await iterator.next() == .notification(Tribune.Notification("a.c", sender: ":9", userInfo: "3")))
      #expect(try await iterator.next()?.text == "5")
      for text in ["2", "3", "5"] { #expect(try await plain.next()?.text == text) }
      await connection.close()
      #expect(try await iterator.next() == nil)
      #expect(try await plain.next() == nil)
    }
    #expect(observed == [Observe(), Observe(options: .retained)])
  }

  @Test func theSnapshotsOfSeveralPatternsHaveEachOnce() async throws {
    let patterns = try await conversation { peer in
      let first = try peer.confirmObservation(retained: 1)
      let second = try peer.confirmObservation(retained: 3)
      // The first snapshot waited for room, so it comes after the second reply.
      try peer.retained("a.b", text: "1", under: first)
      try peer.post("a.b", text: "2")
      try peer.post("a.new", text: "3")
      try peer.send(Lost(count: 7))
      try peer.retained("a.b", text: "2", under: second)
      try peer.retained("a.new", text: "3", under: second)
      try peer.retained("x.b", text: "4", under: second)
      try peer.post("x.b", text: "5")
      return [first.name, second.name]
    } client: { connection in
      let notifications = try await connection.observe(anyOf: ["a.*", "**", "a.*"], retained: true)
      #expect(
        try await notifications.words(6)
          == ["a.b 1 retained", "a.b 2", "a.new 3", "lost 7", "x.b 4 retained", "x.b 5"])
      #expect(notifications.retainedCount == 2)
      await connection.close()
      #expect(try await notifications.words(1) == ["end"])
    }
    #expect(patterns == ["a.*", "**"])
  }

  @Test func retainedNotificationsThatAnInterruptionCutsDoNotCount() async throws {
    try await conversationOverRestarts { peer in
      let observe = try peer.confirmObservation(retained: 3)
      try peer.retained("a.b", text: "1", under: observe)
      try peer.confirmPost()
      let next = try peer.restart()
      let again = try next.confirmObservation(retained: 2)
      for text in ["1", "2"] { try next.retained("a.b", text: text, under: again) }
      try next.confirmSuccession(of: 7, received: 1)
    } client: { connection, events in
      let notifications = try await connection.observe("a.b", retained: true)
      #expect(notifications.retainedCount == 3)
      try await connection.postAcknowledged("a.goOn")
      await events.expectReconnection()
      #expect(notifications.retainedCount == 3)
      #expect(try await notifications.words(3) == ["a.b 1 retained", "a.b 1 retained", "a.b 2 retained"])
    }
  }

  @Test func eachSequenceHasASnapshotOfItsOwn() async throws {
    let rest = try await conversation { peer in
      for number in 1...2 {
        let observe = try peer.confirmObservation()
        try peer.retained("a.b", text: "\(number)", under: observe)
      }
      try peer.post("a.b", text: "3")
      return try peer.restOfKinds()
    } client: { connection in
      let first = try await connection.observe("a.b", retained: true)
      let second = try await connection.observe("a.b", retained: true)
      var iterator = first.makeAsyncIterator()
      for text in ["1", "3"] { #expect(try await iterator.next()?.text == text) }
      iterator = second.makeAsyncIterator()
      for text in ["2", "3"] { #expect(try await iterator.next()?.text == text) }
      await first.cancel()
      await second.cancel()
    }
    #expect(rest == [.cancel, .cancel])
  }

  @Test func aSnapshotThatNobodyAskedForIsIgnored() async throws {
    try await conversation { peer in
      let observe = try peer.confirmObservation()
      try peer.retained("a.b", under: observe)
      try peer.send(Retained(age: 1), serial: 1000, name: "a.b")
      let post = try peer.next(.post)
      try peer.retained("a.b", under: post)
      try peer.send(Okay(), serial: post.serial)
    } client: { connection in
      var iterator = try await connection.observe("a.b").makeAsyncIterator()
      try await connection.postAcknowledged("ping")
      await connection.close()
      #expect(try await iterator.next() == nil)
    }
  }

  @Test func retainedNotificationsAreListed() async throws {
    try await conversation { peer in
      let entry = RetainedEntry(
        connection: ConnectionID(rawValue: 9), uid: 1000, name: "a.b", object: "o", length: 12, age: 1500)
      try peer.list(.retained, [.retained(entry)])
    } client: { connection in
      let retained = try await connection.retained()
      #expect(
        retained == [
          RetainedInfo(
            name: "a.b", object: "o", connection: ":9", uid: 1000, byteCount: 12, age: .microseconds(1500))
        ])
    }
  }
}

extension ScriptedPeer {
  func retained(_ name: String, object: String = "", text: String = "", under frame: Frame) throws {
    try send(
      Retained(age: 1500), sender: ConnectionID(rawValue: 9), serial: frame.serial, name: name,
      object: object, text: text)
  }
}
