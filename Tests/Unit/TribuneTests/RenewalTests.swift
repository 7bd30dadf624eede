// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct RenewalTests {
  @Test func everythingThatIsRegisteredIsRegisteredAgain() async throws {
    try await conversationOverRestarts { peer in
      func takeRegistrations(_ peer: ScriptedPeer, as id: UInt64) throws -> [String] {
        try [FrameKind.observe, .declare, .attach, .hold, .monitor].map { kind in
          let frame = try peer.next(kind)
          try peer.confirm(frame, as: id)
          return "\(frame.serial) \(kind) \(frame.name) \(frame.object)"
        }
      }
      let before = try takeRegistrations(peer, as: 40)
      try peer.confirm(try peer.next(.suspend))
      let next = try peer.restart()
      try next.confirm(try next.next(.suspend))
      let after = try takeRegistrations(next, as: 50)
      #expect(after == before)
      try next.confirmSuccession(of: 7, received: 0)
    } client: { connection, events in
      let delegate = Teller()
      let notifications = try await connection.observe("a.*", object: "b", suspension: .hold)
      try await connection.declare("b", as: "P")
      let attachment = try await connection.attach(delegate, to: "b", respondingTo: ["a.should"])
      let hold = try await connection.hold("c.*", object: "d", why: "because")
      let traffic = try await connection.monitor(["e.*"])
      #expect([attachment.id, hold.id] == [40, 40])
      try await connection.suspend()
      await events.expectReconnection()
      #expect(connection.id == ":8")
      #expect(connection.isSuspended)
      #expect([attachment.id, hold.id] == [50, 50])
      withExtendedLifetime((notifications, traffic, delegate)) {}
    }
  }

  @Test func retainedNotificationsComeAgain() async throws {
    try await conversationOverRestarts { peer in
      for pass in 1...2 {
        let observe = try peer.confirmObservation()
        try peer.retained(observe.name.replacing("*", with: "kept"), text: "\(pass)", under: observe)
      }
      try peer.post("a.changed")
      try peer.confirmPost()
      let next = try peer.restart()
      for pass in 3...4 {
        let observe = try next.confirmObservation()
        #expect(try observe.decode(Observe.self).options == .retained)
        try next.retained(observe.name.replacing("*", with: "kept"), text: "\(pass)", under: observe)
      }
      try next.confirmSuccession(of: 7, received: 3)
      try next.post("a.last")
    } client: { connection, _ in
      let notifications = try await connection.observe(anyOf: ["a.*", "b.*"], retained: true)
      try await connection.postAcknowledged("a.goOn")
      #expect(
        try await notifications.words(6) == [
          "a.kept 1 retained", "b.kept 2 retained", "a.changed", "a.kept 3 retained", "b.kept 4 retained",
          "a.last",
        ])
    }
  }

  @Test func aRegistrationUnderWayIsSentAgain() async throws {
    try await conversationOverRestarts { peer in
      let first = try peer.next(.hold)
      let next = try peer.restart()
      let hold = try next.next(.hold)
      #expect(hold.serial == first.serial)
      try next.confirm(hold, as: 9)
      try next.confirmSuccession(of: 7, received: 0)
    } client: { connection, events in
      let hold = try await connection.hold("a.*", why: "because")
      #expect(hold.id == 9)
      await events.expectReconnection()
    }
  }

  @Test func aDelegateThatWasSetIsAttachedBesideOthersAgain() async throws {
    try await conversationOverRestarts { peer in
      let attach = try peer.next(.attach)
      #expect(try attach.decode(Attach.self).isSet)
      try peer.confirm(attach, as: 3)
      let next = try peer.restart()
      let again = try next.next(.attach)
      var fields = try attach.decode(Attach.self)
      fields.isSet = false
      #expect(try again.decode(Attach.self) == fields)
      #expect(again.object == attach.object)
      #expect(again.serial == attach.serial)
      try next.confirm(again, as: 4)
      try next.confirmSuccession(of: 7, received: 0)
    } client: { connection, events in
      let delegate = Teller()
      try await connection.set(delegate, to: "b", respondingTo: ["a.should"], order: 3, label: "it")
      await events.expectReconnection()
      withExtendedLifetime(delegate) {}
    }
  }

  @Test func aRegistrationTakenBackMeanwhileIsNotMadeAgain() async throws {
    let isReleased = Gate()
    try await conversationOverRestarts { peer in
      try peer.confirm(try peer.next(.hold), as: 3)
      try peer.confirm(try peer.next(.hold), as: 4)
      let cancel = try peer.next(.cancel)
      let next = try peer.restart()
      let hold = try next.next(.hold)
      #expect(try cancel.decode(Cancel.self).target != hold.serial)
      try next.confirm(hold, as: 5)
      try next.confirmSuccession(of: 7, received: 0)
      isReleased.wait()
    } client: { connection, _ in
      let hold = try await connection.hold("a.*", why: "because")
      let other = try await connection.hold("b.*", why: "because")
      // The bus goes before it confirms that, and the next one never has the hold.
      try await hold.release()
      isReleased.open()
      #expect(other.id == 5)
    }
  }

  @Test func aShortenedHoldDoesNotGrowByItsRenewal() async throws {
    let end = SystemClock.monotonicNanoseconds + 3_600_000_000_000
    try await conversationOverRestarts { peer in
      let hold = try peer.next(.hold)
      #expect(try hold.decode(TribuneWire.Hold.self).expiry == 0)
      try peer.confirm(hold, as: 3, expiry: end)
      let next = try peer.restart()
      let again = try next.next(.hold)
      #expect(try again.decode(TribuneWire.Hold.self).expiry == end)
      try next.confirm(again, as: 4, expiry: end)
      try next.confirmSuccession(of: 7, received: 0)
    } client: { connection, events in
      let hold = try await connection.hold("a.*", why: "because")
      #expect(await events.next() == "disconnected connectionLost")
      #expect(await events.next() == "reconnected 0")
      #expect(hold.isShortened)
      let left = try #require(hold.expiresIn)
      #expect(left > .zero && left <= .seconds(3600))
    }
  }

  @Test func aHoldCanExpireDuringAnInterruption() async throws {
    let isOver = Gate()
    try await conversationOverRestarts { peer in
      let hold = try peer.next(.hold)
      try peer.confirm(hold, as: 3, expiry: try hold.decode(TribuneWire.Hold.self).expiry)
      let next = try peer.restart()
      let again = try next.next(.hold)
      isOver.wait()
      #expect(try again.decode(TribuneWire.Hold.self).expiry <= SystemClock.monotonicNanoseconds)
      try next.send(Refusal(.invalidValue), serial: again.serial, text: "that is over")
      try next.confirmSuccession(of: 7, received: 0)
    } client: { connection, events in
      let hold = try await connection.hold("a.*", why: "because", expiresIn: .milliseconds(50))
      #expect(await events.next() == "disconnected connectionLost")
      // This query is asked later and waits as long, so the hold has expired by then.
      #expect(
        await failure { try await connection.ask("a.late", deadline: .milliseconds(50)) } == .notSentInTime)
      isOver.open()
      #expect(await hold.expired())
      #expect(await events.next() == "reconnected 0")
    }
  }

  @Test func theRefusalOfARegistrationEndsTheConnection() async throws {
    try await conversationOverRestarts { peer in
      try peer.confirmObservation()
      try peer.confirm(try peer.next(.attach), as: 3)
      let next = try peer.restart()
      try next.confirmObservation()
      try next.send(Refusal(.notPermitted), serial: try next.next(.attach).serial, text: "not you")
    } client: { connection, _ in
      let delegate = Teller()
      var iterator = try await connection.observe("a.*").makeAsyncIterator()
      try await connection.attach(delegate, respondingTo: ["a.should"])
      let error = await connection.closed()
      #expect(error?.code == .notPermitted)
      #expect(error?.message.contains("not you") == true)
      #expect(await failure { try await iterator.next() } == error)
      #expect(connection.hasEnded)
      withExtendedLifetime(delegate) {}
    }
  }

  @Test func aDelegateThatMayBeLostIsRefusedAlone() async throws {
    try await conversationOverRestarts { peer in
      for id in 3...4 { try peer.confirm(try peer.next(.attach), as: UInt64(id)) }
      let next = try peer.restart()
      try next.send(Refusal(.notPermitted), serial: try next.next(.attach).serial, text: "not you")
      let other = try next.next(.attach)
      try next.confirm(other, as: 5)
      try next.confirmSuccession(of: 7, received: 0)
      try next.send(Ended.notPermitted("nor you"), serial: other.serial)
    } client: { connection, events in
      let delegate = Teller()
      let (refusals, refused) = AsyncStream<TribuneError>.makeStream()
      for name in ["a.should", "b.should"] {
        _ = try await connection.attach(
          delegate, to: "", respondingTo: [name], order: 0, onFailure: .veto, timeout: nil, label: "",
          conformingTo: [], onRefusal: { refused.yield($0) })
      }
      await events.expectReconnection()
      var messages: [String] = []
      for await refusal in refusals.prefix(2) { messages.append(refusal.message) }
      #expect(messages == ["not you", "nor you"])
      #expect(!connection.hasEnded)
      withExtendedLifetime(delegate) {}
    }
  }

  @Test func thousandsOfRegistrationsAreMadeAgain() async throws {
    let count = try await conversationOverRestarts { peer in
      for _ in 0..<5000 { try peer.confirm(try peer.next(.hold), as: 1) }
      let next = try peer.restart()
      var serials: [Serial] = []
      for _ in 0..<5000 {
        let hold = try next.next(.hold)
        serials.append(hold.serial)
        try next.confirm(hold, as: 1)
      }
      #expect(serials == serials.sorted())
      try next.confirmSuccession(of: 7, received: 0)
      return Set(serials).count
    } client: { connection, events in
      let why = String(repeating: "because ", count: 30)
      for number in 0..<5000 { try await connection.hold("a\(number).*", why: why) }
      await events.expectReconnection()
    }
    #expect(count == 5000)
  }
}
