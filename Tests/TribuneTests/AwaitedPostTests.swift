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

  @Test func aWrongReplyIsThrown() async throws {
    try await conversation { peer in
      // This confirms the post, but does not say who is done.
      try peer.send(Okay(), serial: try peer.next(.post).serial)
    } client: { connection in
      #expect(await failure { try await connection.postAwaited("a.willB") }?.code == .protocolViolation)
    }
  }
}
