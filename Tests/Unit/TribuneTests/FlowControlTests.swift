// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct FlowControlTests {
  @Test(arguments: [1, 2, 3, 10, 4096])
  func aSlowReaderLosesNothing(limit: Int) async throws {
    let count = 10_000
    let limits = try await conversation { peer in
      try peer.confirmObservation()
      #expect(peer.limits == [UInt64(limit)])
      for number in 0..<count { try peer.post("a", text: "\(number)") }
      return peer.limits
    } client: { connection in
      var iterator = try await connection.observe(limit: limit).makeAsyncIterator()
      for number in 0..<count { #expect(try await iterator.next()?.text == "\(number)") }
    }
    #expect(limits.count <= 8 + 8 * count / limit)
  }

  @Test func theLimitRisesAsTheProgramReads() async throws {
    let isChecked = Gate()
    try await conversation { peer in
      try peer.confirmObservation()
      for number in 0..<8 { try peer.post("a", text: "\(number)") }
      let ping = try peer.next(.post)
      #expect(peer.limits == [8])
      try peer.send(Okay(), serial: ping.serial)
      // Four of eight wait at last.
      while peer.limits.last != 12 { _ = try peer.nextLimit() }
      try peer.confirmPost()
      #expect(peer.limits.last == 12)
      isChecked.open()
    } client: { connection in
      let notifications = try await connection.observe("a", limit: 8)
      try await connection.postAcknowledged("ping")
      #expect(try await notifications.words(4) == ["a 0", "a 1", "a 2", "a 3"])
      try await connection.postAcknowledged("ping")
      await isChecked.opened()
      withExtendedLifetime(notifications) {}
    }
  }

  @Test func aBusThatAsksGetsTheLimitAgain() async throws {
    try await conversation { peer in
      try peer.confirmObservation()
      try peer.post("a")
      for _ in 0..<2 {
        try peer.send(Room(limit: 0))
        #expect(try peer.nextLimit() == 3)
      }
      try peer.confirmPost()
    } client: { connection in
      let notifications = try await connection.observe(limit: 3)
      try await connection.postAcknowledged("a.goOn")
      withExtendedLifetime(notifications) {}
    }
  }

  @Test func aBusThatAsksAClientWithoutObservationsGetsNoRoom() async throws {
    try await conversation { peer in
      try peer.send(Room(limit: 0))
      #expect(try peer.nextLimit() == 0)
      try peer.confirmPost()
      try peer.confirmObservation()
      #expect(peer.limits == [0, 2])
      try peer.post("a")
    } client: { connection in
      try await connection.postAcknowledged("a.goOn")
      let notifications = try await connection.observe(limit: 2)
      #expect(try await notifications.words(1) == ["a"])
    }
  }

  @Test func theRoomBeginsAnewWithEachConnection() async throws {
    try await conversationOverRestarts { peer in
      try peer.confirmObservation()
      for number in 0..<3 { try peer.post("a", text: "\(number)") }
      try peer.confirmPost()
      let next = try peer.restart()
      #expect(next.limits == [1])
      try next.confirmObservation()
      try next.post("a", text: "3")
      try next.send(Lost(count: 2))
      try next.confirmSuccession(of: 7, received: 3)
      for number in 4..<6 { try next.post("a", text: "\(number)") }
    } client: { connection, events in
      let notifications = try await connection.observe("a", limit: 4)
      try await connection.postAcknowledged("a.goOn")
      await events.expectReconnection(lost: "2")
      #expect(try await notifications.words(7) == ["a 0", "a 1", "a 2", "lost 2", "a 3", "a 4", "a 5"])
    }
  }

  @Test func aReconnectionWithoutAnObservationGrantsNothingUntilThereIsOne() async throws {
    try await conversationOverRestarts { peer in
      let next = try peer.restart()
      try next.confirmSuccession(of: 7, received: 0)
      try next.confirmObservation()
      #expect(next.limits == [0, 5])
      try next.post("a")
    } client: { connection, events in
      await events.expectReconnection()
      let notifications = try await connection.observe(limit: 5)
      #expect(try await notifications.words(1) == ["a"])
    }
  }

  @Test func anObservationMadeDuringAnInterruptionGetsRoom() async throws {
    let isWanted = Gate()
    try await conversationOverRestarts { peer in
      peer.close()
      let next = try peer.bus.accept()
      try next.readHello()
      isWanted.wait()
      try next.greet(as: 8, isHelloRead: true)
      try next.confirmSuccession(of: 7, received: 0)
      try next.confirmObservation()
      for number in 0..<9 { try next.post("a", text: "\(number)") }
    } client: { connection, events in
      #expect(await events.next() == "disconnected connectionLost")
      let observing = Task.immediate { try await connection.observe(limit: 2) }
      isWanted.open()
      let notifications = try await observing.value
      #expect(try await notifications.words(9) == (0..<9).map { "a \($0)" })
    }
  }

  @Test func aStreamThatIsNotReadStopsTheOthersUntilItEnds() async throws {
    try await conversation { peer in
      for _ in 0..<2 { try peer.confirmObservation() }
      #expect(peer.limits == [5])
      for number in 0..<100 { try peer.post(number < 3 ? "b" : "a", text: "\(number)") }
      for number in 100..<102 { try peer.post("b", text: "\(number)") }
      // Its reply follows all of them.
      try peer.confirmPost()
      try peer.post("a", text: "102")
      #expect(peer.early.first?.header.kind == .cancel)
      for number in 103..<1000 { try peer.post("a", text: "\(number)") }
    } client: { connection in
      let unread = try await connection.observe("b", limit: 5)
      var iterator = try await connection.observe("a", limit: 100).makeAsyncIterator()
      for number in 3..<100 { #expect(try await iterator.next()?.text == "\(number)") }
      try await connection.postAcknowledged("a.goOn")
      await unread.cancel()
      for number in 102..<1000 { #expect(try await iterator.next()?.text == "\(number)") }
      #expect(try await unread.words(6) == [0, 1, 2, 100, 101].map { "b \($0)" } + ["end"])
    }
  }

  @Test func aMonitorHasTheSameRoom() async throws {
    try await conversation { peer in
      for _ in 0..<2 { try peer.confirm(try peer.next(.monitor)) }
      #expect(peer.limits == [4096])
      let post = ByteBuffer(capacity: 64)
      post.appendFrame(Post(), serial: 1, name: "a.b")
      for number in 1...10_000 {
        try peer.send(
          TribuneWire.Traffic(time: UInt64(number), from: ConnectionID(rawValue: 9), to: .bus, receivers: 1),
          text: String(repairing: post.bytes))
      }
    } client: { connection in
      var iterator = try await connection.monitor(["a.*", "b.*"]).makeAsyncIterator()
      for number in 1...10_000 {
        let delivery = try await iterator.next()
        guard case .item(let item) = delivery, item.time == UInt64(number) else {
          Issue.record("something else came than item \(number)")
          return
        }
      }
    }
  }

  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func severalReadersOfOneConnectionGetAll(seed: UInt64) async throws {
    let total = 5000
    try await conversation { peer in
      var random = SplitMix64(seed: seed)
      for _ in 0..<3 { try peer.confirmObservation() }
      for number in 0..<total { try peer.post(["a", "b", "c"].random(&random), text: "\(number)") }
      for name in ["a", "b", "c"] { try peer.post(name, text: "end") }
    } client: { connection in
      var random = SplitMix64(seed: seed)
      let numbers = try await withThrowingTaskGroup(of: [String].self) { group in
        for name in ["a", "b", "c"] {
          let notifications = try await connection.observe(name, limit: [1, 2, 7, 300].random(&random))
          let pause = [1, 3, 100].random(&random)
          group.addTask {
            var texts: [String] = []
            for try await delivery in notifications {
              guard let text = delivery.text, text != "end" else { break }
              texts.append(text)
              if texts.count % pause == 0 { await Task.yield() }
            }
            return texts
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(numbers.compactMap { Int($0) }.sorted() == Array(0..<total))
    }
  }
}

extension Array {
  fileprivate func random(_ numbers: inout SplitMix64) -> Element {
    self[Int.random(in: indices, using: &numbers)]
  }
}
