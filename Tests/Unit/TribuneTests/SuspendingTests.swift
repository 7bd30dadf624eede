// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct SuspendingTests {
  @Test func bufferedNotificationsWithinTheLimitHaveArrivedWhenResumingReturns() async throws {
    let suspensions = try await conversation { peer in
      try peer.confirmObservation()
      let suspend = try peer.next(.suspend)
      try peer.send(Okay(), serial: suspend.serial)
      let resume = try peer.next(.suspend)
      try peer.send(Lost(count: 2))
      for number in 0..<3 { try peer.post("a", text: "\(number)") }
      try peer.send(Okay(), serial: resume.serial)
      return [try suspend.decode(Suspend.self).isSuspended, try resume.decode(Suspend.self).isSuspended]
    } client: { connection in
      let notifications = try await connection.observe("a", suspension: .hold)
      #expect(!connection.isSuspended)
      try await connection.suspend()
      #expect(connection.isSuspended)
      try await connection.resume()
      #expect(!connection.isSuspended)
      await notifications.cancel()
      var iterator = notifications.makeAsyncIterator()
      #expect(try await iterator.next() == .lost(2))
      for number in 0..<3 { #expect(try await iterator.next()?.text == "\(number)") }
      #expect(try await iterator.next() == nil)
    }
    #expect(suspensions == [true, false])
  }

  @Test func aRefusalChangesNothing() async throws {
    try await conversation(reconnectingFor: .zero, busEndsFirst: true) { peer in
      try peer.send(Refusal(.unknownKind), serial: try peer.next(.suspend).serial, text: "what?")
      _ = try peer.next(.suspend)
    } client: { connection in
      #expect(await failure { try await connection.suspend() } == TribuneError(.refused, "what?"))
      #expect(!connection.isSuspended)
      #expect(await failure { try await connection.suspend() }?.code == .connectionLost)
      #expect(await failure { try await connection.resume() }?.code == .connectionLost)
      #expect(!connection.isSuspended)
    }
  }

  @Test func cancellingTheTaskDoesNotStopSuspending() async throws {
    let (sent, gate) = (Gate(), Gate())
    let rest = try await conversation { peer in
      let suspend = try peer.next(.suspend)
      sent.open()
      gate.wait()
      try peer.send(Okay(), serial: suspend.serial)
      return try peer.restOfKinds()
    } client: { connection in
      let task = Task { try await connection.suspend() }
      await sent.opened()
      task.cancel()
      gate.open()
      try await task.value
      #expect(connection.isSuspended)
    }
    #expect(rest == [])
  }

  @Test(arguments: Tribune.SuspensionBehavior.allCases)
  func theSuspensionBehaviorOfAnObservationReachesTheBus(behavior: Tribune.SuspensionBehavior) async throws {
    let observed = try await conversation { peer in
      let fields = try peer.confirmObservation().decode(Observe.self)
      let entry = ObservationEntry(
        connection: ConnectionID(rawValue: 7), pattern: "a", object: "", suspension: fields.suspension,
        isAwaited: true)
      try peer.list(.observations, [.observation(entry)])
      return fields
    } client: { connection in
      let notifications = try await connection.observe("a", suspension: behavior, awaited: true)
      let listed = try await connection.observations()
      #expect(
        listed == [
          ObservationInfo(connection: ":7", pattern: "a", object: "", suspension: behavior, isAwaited: true)
        ])
      await notifications.cancel()
    }
    #expect(observed == Observe(options: .awaited, suspension: behavior.wire))
  }

  @Test func observationsWithDifferentOptionsAreTwoToTheBus() async throws {
    let gate = Gate()
    let rest = try await conversation { peer in
      for _ in 0..<3 { try peer.confirmObservation() }
      gate.wait()
      try peer.post("a", text: "1")
      return try peer.restOfKinds()
    } client: { connection in
      let all = [
        try await connection.observe("a"), try await connection.observe("a", suspension: .drop),
        try await connection.observe("a", awaited: true),
        try await connection.observe("a", suspension: .drop),
      ]
      gate.open()
      for notifications in all {
        var iterator = notifications.makeAsyncIterator()
        #expect(try await iterator.next()?.text == "1")
      }
      for notifications in all { await notifications.cancel() }
    }
    #expect(rest == [.cancel, .cancel, .cancel])
  }
}
