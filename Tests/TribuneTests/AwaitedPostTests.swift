// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune

/// Posting awaited notifications.
@Suite(.timeLimit(.minutes(15)))
struct AwaitedPostTests {
  @Test func theReplyNamesTheObserversThatAreNotDone() async throws {
    let posted = try await conversation { peer in
      let post = try peer.next(.post)
      #expect([post.name, post.object, post.payload] == ["disk.willUnmount", "disk/1", "{}"])
      #expect(post.header.flags == [])
      let failures: [(Awaited.Failure, String)] = [(.timedOut, ""), (.gone, ""), (.failed, "no room")]
      let missing = failures.enumerated().map { place, failure in
        Awaited.Missing(
          connection: ConnectionID(rawValue: UInt64(place + 3)), peer: identity(0, "").peer,
          failure: failure.0, reason: failure.1, elapsed: place == 0 ? .max : 1500)
      }
      try peer.send(Awaited(acknowledged: 4, missing: missing), serial: post.serial)
      return try post.decode(Post.self)
    } client: { connection in
      let reply = try await connection.postAwaited(
        "disk.willUnmount", object: "disk/1", userInfo: "{}", deadline: .seconds(2.5), isRetained: true)
      #expect(reply.acknowledged == 4)
      #expect(reply.missing.map(\.connection) == [":3", ":4", ":5"])
      #expect(reply.missing.map(\.kind) == [.timedOut, .gone, .failed])
      #expect(reply.missing.first?.elapsed == .microseconds(Int64.max))
      #expect(
        reply.missing.last
          == .init(
            connection: ":5", pid: 100, uid: 1000, process: "editor", unit: "editor.service", kind: .failed,
            reason: "no room", elapsed: .microseconds(1500)))
    }
    #expect(posted == Post(options: [.awaited, .retain], deadline: 2500))
  }

  /// The bus's reply may have been on its way when the task was cancelled.
  @Test(arguments: [false, true])
  func cancellingTheTaskCancelsTheAwaitedPostOnTheBus(replyCrosses: Bool) async throws {
    let posted = Gate()
    try await conversation { peer in
      let post = try peer.next(.post)
      posted.open()
      let cancel = try peer.next(.cancel)
      #expect(try cancel.decode(Cancel.self).target == post.serial)
      if replyCrosses {
        try peer.send(Awaited(acknowledged: 1, missing: []), serial: post.serial)
        try peer.send(Refusal(.notFound), serial: cancel.serial, text: "there is no such thing")
      } else {
        try peer.send(Refusal(.cancelled), serial: post.serial, text: "taken back")
        try peer.send(Okay(), serial: cancel.serial)
      }
      try peer.confirmPost()
    } client: { connection in
      let task = Task { await failure { try await connection.postAwaited("a.willB") } }
      await posted.opened()
      task.cancel()
      #expect(await task.value == TribuneError(.cancelled, "the task was cancelled"))
      try await connection.postAcknowledged("ping")
    }
  }

  @Test func refusalsAndWrongRepliesAreThrown() async throws {
    try await conversation { peer in
      try peer.send(Refusal(.limitExceeded), serial: try peer.next(.post).serial, text: "enough")
      // This confirms the post, but does not say who is done.
      try peer.send(Okay(), serial: try peer.next(.post).serial)
    } client: { connection in
      #expect(
        await failure { try await connection.postAwaited("a.willB") }
          == TribuneError(.limitExceeded, "enough"))
      #expect(await failure { try await connection.postAwaited("a.willB") }?.code == .protocolViolation)
    }
  }
}
