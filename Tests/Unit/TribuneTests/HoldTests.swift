// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct HoldTests {
  @Test func aHoldReachesTheBusAndIsReleasedOnce() async throws {
    let rest = try await conversation { peer in
      let hold = try peer.next(.hold)
      #expect([hold.name, hold.object, hold.payload] == ["archive.**", "archive/photos", "a restore"])
      #expect(try hold.decode(TribuneWire.Hold.self).expiry == 0)
      try peer.send(Okay(registration: hold.serial, delegate: 8), serial: hold.serial)
      let cancel = try peer.next(.cancel)
      #expect(try cancel.decode(Cancel.self).target == hold.serial)
      try peer.send(Okay(), serial: cancel.serial)
      return try peer.restOfKinds()
    } client: { connection in
      let hold = try await connection.hold("archive.**", object: "archive/photos", why: "a restore")
      #expect(hold.id == 8)
      async let expired = hold.expired()
      try await hold.release()
      #expect(await expired == false)
      #expect(await hold.expired() == false)
      try await hold.release()
    }
    #expect(rest == [])
  }

  @Test func anExpiredHoldSaysSoAndNeedsNoRelease() async throws {
    let before = SystemClock.monotonicNanoseconds
    let rest = try await conversation { peer in
      let hold = try peer.takeHold()
      let expiry = try hold.decode(TribuneWire.Hold.self).expiry
      let earliest = before + 3_600_000_000_000
      #expect((earliest...earliest + 60_000_000_000).contains(expiry))
      try peer.send(Ended.expired, serial: hold.serial)
      return try peer.restOfKinds()
    } client: { connection in
      let hold = try await connection.hold("a.shouldB", why: "c", expiresIn: .seconds(3600))
      #expect(await hold.expired())
      try await hold.release()
      #expect(await hold.expired())
    }
    #expect(rest == [])
  }

  @Test func aHoldThatThePolicyEndsEndsTheConnectionWithTheReason() async throws {
    _ = try await conversation(reconnectingFor: .seconds(10)) { peer in
      let hold = try peer.takeHold()
      try peer.send(Ended.notPermitted("denied by 20.policy:4"), serial: hold.serial)
      return try peer.restOfKinds()
    } client: { connection in
      let hold = try await connection.hold("a.shouldB", why: "c")
      #expect(await hold.expired() == false)
      #expect(await connection.closed() == TribuneError(.notPermitted, "denied by 20.policy:4"))
    }
  }

  @Test func theNewReasonOfAHoldIsTheReasonOverAnInterruption() async throws {
    try await conversationOverRestarts { peer in
      let hold = try peer.takeHold()
      let amend = try peer.next(.amend)
      #expect(try amend.decode(Amend.self).target == hold.serial)
      #expect(amend.payload == "at 40 %")
      try peer.send(Okay(registration: hold.serial, delegate: 1), serial: amend.serial)
      let refused = try peer.next(.amend)
      try peer.send(Refusal(.limitExceeded), serial: refused.serial)
      let next = try peer.restart()
      let renewed = try next.takeHold()
      #expect(renewed.serial == hold.serial && renewed.payload == "at 40 %")
      try next.confirmSuccession(of: 7, received: 0)
    } client: { connection, events in
      let hold = try await connection.hold("a.shouldB", why: "begins")
      try await hold.update(why: "at 40 %")
      #expect(await failure { try await hold.update(why: "at 50 %") }?.code == .limitExceeded)
      #expect(await failure { try await hold.update(why: "") }?.code == .refused)
      await events.expectReconnection()
    }
  }

  @Test func aHoldEndsWithItsConnection() async throws {
    try await conversation(reconnectingFor: .zero, busEndsFirst: true) { peer in
      _ = try peer.takeHold()
    } client: { connection in
      let hold = try await connection.hold("a.shouldB", why: "c")
      #expect(await hold.expired() == false)
      #expect(await connection.closed()?.code == .connectionLost)
      try await hold.release()
    }
  }

  @Test func aHoldEndsIfItIsReleasedWhileItsConnectionCloses() async throws {
    let released = Gate()
    try await conversation(reconnectingFor: .zero, busEndsFirst: true) { peer in
      _ = try peer.takeHold()
      // The bus stays connected until then, so the client is still closing.
      released.wait()
    } client: { connection in
      let hold = try await connection.hold("a.shouldB", why: "c")
      connection.link.abandon()
      #expect(await failure { try await hold.release() }?.code == .connectionLost)
      #expect(await hold.expired() == false)
      released.open()
    }
  }

  @Test func cancellingATaskEndsItsWaitForTheExpiry() async throws {
    let rest = try await conversation { peer in
      _ = try peer.takeHold()
      return try peer.restOfKinds()
    } client: { connection in
      let hold = try await connection.hold("a.shouldB", why: "c")
      let task = Task { await hold.expired() }
      task.cancel()
      #expect(await task.value == false)
    }
    #expect(rest == [])
  }

  @Test func onlyTheConnectionWhoseLastFrameIsTheHoldHasASocketForChildren() async throws {
    let isChecked = Gate()
    try await conversationOverRestarts { peer in
      let first = try peer.takeHold()
      let last = try peer.takeHold()
      #expect(try [first, last].map { try $0.decode(TribuneWire.Hold.self).isLast } == [false, true])
      isChecked.wait()
      let next = try peer.restart()
      for _ in 0..<2 { #expect(try next.takeHold().decode(TribuneWire.Hold.self).isLast == false) }
      try next.confirmSuccession(of: 7, received: 0)
    } client: { connection, events in
      let first = try await connection.hold("a.shouldB", why: "c")
      let last = try await connection.hold("b.shouldC", why: "c", isLast: true)
      let socket = try last.duplicateSocket()?.rawValue
      #expect(socket != nil)
      isChecked.open()
      await events.expectReconnection()
      #expect(try first.duplicateSocket()?.rawValue == nil)
      #expect(try last.duplicateSocket()?.rawValue == nil)
    }
  }

  @Test func invalidHoldsAreNotSent() async throws {
    try await expectSilence { connection in
      func code(
        _ pattern: String = "a", object: String? = nil, why: String = "b", expiresIn: Duration? = nil
      ) async -> TribuneError.Code? {
        await failure {
          try await connection.hold(pattern, object: object, why: why, expiresIn: expiresIn)
        }?.code
      }
      #expect(await code("a..b") == .invalidPattern)
      #expect(await code(object: "\u{7}") == .invalidObject)
      #expect(await code(why: "") == .refused)
      #expect(await code(expiresIn: .zero) == .refused)
      #expect(await code(expiresIn: .seconds(-1)) == .refused)
    }
  }

  @Test(
    arguments: [
      (nil, 0), (.nanoseconds(1), 101), (Duration(secondsComponent: 0, attosecondsComponent: 1), 101),
      (.seconds(2), 2_000_000_100), (.seconds(Int64.max), UInt64(Int64.max)),
    ] as [(Duration?, UInt64)])
  func anExpiryIsOnTheMonotonicClockAndNeverOverflows(span: Duration?, nanoseconds: UInt64) throws {
    #expect(try Checked.expiry(span, now: 100) == nanoseconds)
  }
}

extension ScriptedPeer {
  fileprivate func takeHold() throws -> Frame {
    let hold = try next(.hold)
    try send(Okay(registration: hold.serial, delegate: 8), serial: hold.serial)
    return hold
  }

  func restOfKinds() throws -> [FrameKind?] {
    var kinds: [FrameKind?] = []
    while let frame = try nextIfAny() { kinds.append(frame.header.kind) }
    return kinds
  }
}
