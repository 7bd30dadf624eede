// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct CallTests {
  enum Call {
    case ask, query, explain, post, awaitedPost, snapshot, hold

    var kind: FrameKind {
      switch self {
      case .ask, .query: .ask
      case .explain: .list
      case .post, .awaitedPost: .post
      case .snapshot: .observe
      case .hold: .hold
      }
    }

    func make(over connection: Connection) async throws {
      switch self {
      case .ask: _ = try await connection.ask("a.shouldB")
      case .query: _ = try await connection.query("a.rows")
      case .explain: _ = try await connection.explain("a.shouldB", object: "b")
      case .post: try await connection.postAcknowledged("a.b")
      case .awaitedPost: _ = try await connection.postAwaited("a.willB")
      case .snapshot: _ = try await connection.observe("a.*", retained: true)
      case .hold: _ = try await connection.hold("a.shouldB", why: "c")
      }
    }
  }

  @Test(
    arguments: [
      (.query, .recursion, .recursion), (.explain, .invalidName, .invalidName),
      (.post, .limitExceeded, .limitExceeded), (.awaitedPost, .limitExceeded, .limitExceeded),
      (.snapshot, .limitExceeded, .limitExceeded),
    ] as [(Call, ErrorCode, TribuneError.Code)])
  func theRefusalOfACallIsThrown(call: Call, code: ErrorCode, thrown: TribuneError.Code) async throws {
    let rest = try await conversation { peer in
      try peer.send(Refusal(code), serial: try peer.next(call.kind).serial, text: "enough")
      return try peer.restOfKinds()
    } client: { connection in
      #expect(await failure { try await call.make(over: connection) } == TribuneError(thrown, "enough"))
    }
    #expect(rest == [])
  }

  @Test
  @MainActor
  func aCallBeginsOnTheThreadOfItsActor() async throws {
    let own = Thread.ID.current
    let reply = await Reply<Bool>.wait { _ in
      Thread.ID.current == own
    } onCancel: {
    }
    #expect(try reply.get())
  }

  /// The reply may be on its way when the task is cancelled.
  @Test(
    arguments: [
      (.ask, false), (.awaitedPost, false), (.awaitedPost, true), (.snapshot, true), (.hold, false),
    ] as [(Call, Bool)])
  func cancellingTheTaskCancelsItsCallOnTheBus(call: Call, replyCrosses: Bool) async throws {
    let isSent = Gate()
    try await conversation { peer in
      let frame = try peer.next(call.kind)
      if call == .snapshot { try peer.retained("a.b", under: frame) }
      isSent.open()
      let cancel = try peer.next(.cancel)
      #expect(try cancel.decode(Cancel.self).target == frame.serial)
      switch call {
      case .awaitedPost where replyCrosses:
        try peer.send(Awaited(acknowledged: 1, missing: []), serial: frame.serial)
        try peer.send(Refusal(.notFound), serial: cancel.serial, text: "there is no such thing")
      case .snapshot:
        try peer.retained("a.c", under: frame)
        try peer.confirm(frame)
        try peer.send(Okay(), serial: cancel.serial)
      case .hold: break
      default:
        try peer.send(Refusal(.cancelled), serial: frame.serial, text: "taken back")
        try peer.send(Okay(), serial: cancel.serial)
      }
      try peer.confirmPost()
    } client: { connection in
      let task = Task { await failure { try await call.make(over: connection) } }
      await isSent.opened()
      task.cancel()
      #expect(await task.value == .taskCancelled)
      try await connection.postAcknowledged("ping")
    }
  }
}
