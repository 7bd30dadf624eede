// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

/// What the library's observers are promised, against the real daemon.
@Suite("The notification center", .timeLimit(.minutes(2)))
struct NotificationCenterTests {
  /// Four connections subscribe 2,500 times each while one posts without a pause.
  @Test("a snapshot goes on with the changes, none doubled and none missing, however the two race")
  func snapshotsRacePosts() async throws {
    let bus = try TestBus()
    let poster = try await bus.connect()
    let post: @Sendable (Int) async throws -> Void = { number in
      try await poster.postAcknowledged(
        "counter.didCount", object: "counter/1", userInfo: UserInfo("\(number)"),
        options: PostOptions(isRetained: true))
    }
    try await post(0)
    let counting = Task {
      var number = 1
      while !Task.isCancelled {
        try await post(number)
        number += 1
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        let observer = try await bus.connect()
        group.addTask {
          for round in 0..<2500 {
            // Every other time with two patterns that both match, which are two snapshots to the bus.
            let patterns = round.isMultiple(of: 2) ? ["counter.*"] : ["counter.*", "counter.didCount"]
            let notifications = try await observer.observe(anyOf: patterns, retained: true)
            var iterator = notifications.makeAsyncIterator()
            let snapshot = try #require(try await iterator.nextNumber())
            #expect(snapshot.isRetained)
            for step in 1...3 {
              let change = try #require(try await iterator.nextNumber())
              #expect(!change.isRetained)
              #expect(change.number == snapshot.number + step, "in round \(round)")
            }
            await notifications.cancel()
          }
          await observer.close()
        }
      }
      try await group.waitForAll()
    }
    counting.cancel()
    await poster.close()
  }

  @Test("a will waits for who is suspended, and names who has not done it")
  func awaitedWill() async throws {
    let bus = try TestBus()
    let poster = try await bus.connect()
    let suspended = try await bus.connect()
    let failing = try await bus.connect()
    let indifferent = try await bus.connect()
    var held = try await suspended.observe("disk.*", suspension: .hold, awaited: true).makeAsyncIterator()
    var failed = try await failing.observe("disk.willUnmount", awaited: true).makeAsyncIterator()
    let plain = try await indifferent.observe("disk.*")
    try await suspended.suspend()
    try await poster.postAcknowledged("disk.didFill")
    let infos = try await poster.connections()
    #expect(infos.filter(\.isSuspended).map(\.id) == [suspended.id])
    #expect(infos.filter { $0.heldBytes > 0 }.map(\.id) == [suspended.id])

    let waiting = Task { try await poster.postAwaited("disk.willUnmount", deadline: .seconds(100)) }
    #expect(try await held.nextNotification()?.name == "disk.didFill")
    try await held.nextNotification()?.acknowledgement?.done()
    try await failed.nextNotification()?.acknowledgement?.failed("it is in use")
    let reply = try await waiting.value
    #expect(reply.acknowledged == 1)
    #expect(reply.missing.map(\.connection) == [failing.id])
    #expect(reply.missing.map(\.kind) == [.failed])
    #expect(reply.missing.map(\.reason) == ["it is in use"])

    #expect(try await poster.postAwaited("net.willStop") == AwaitedReply(acknowledged: 0))
    try await suspended.resume()
    #expect(!suspended.isSuspended)
    await plain.cancel()
    for connection in [poster, suspended, failing, indifferent] { await connection.close() }
  }

  @Test("an observer that goes away does not keep a poster waiting")
  func observerThatGoes() async throws {
    let bus = try TestBus()
    let poster = try await bus.connect()
    let closing = try await bus.connect()
    let cancelling = try await bus.connect()
    var closed = try await closing.observe("a.*", awaited: true).makeAsyncIterator()
    let cancelled = try await cancelling.observe("a.*", awaited: true)
    let waiting = Task { try await poster.postAwaited("a.willB", deadline: .seconds(100)) }
    let kept = try await closed.nextNotification()
    #expect(kept?.acknowledgement != nil)
    await closing.close()
    var reading = cancelled.makeAsyncIterator()
    _ = try await reading.nextNotification()
    let reply = try await waiting.value
    #expect(reply.acknowledged == 0)
    #expect(reply.missing.map(\.connection) == [closing.id, cancelling.id])
    #expect(reply.missing.map(\.kind) == [.gone, .failed])
    for connection in [poster, cancelling] { await connection.close() }
  }

  @Test("what is retained is listed, and cleared by an empty one")
  func retained() async throws {
    let bus = try TestBus()
    let connection = try await bus.connect()
    let retain = PostOptions(isRetained: true)
    try await connection.postAcknowledged("b.didC", object: "o", userInfo: "[1]", options: retain)
    try await connection.postAcknowledged("b.didC", object: "p", userInfo: "[1,2]", options: retain)
    try await connection.postAcknowledged("b.didC", object: "o", options: retain)
    let infos = try await connection.retained()
    #expect(infos.map(\.object) == ["p"])
    #expect(infos.map(\.byteCount) == [5])
    #expect(infos.map(\.connection) == [connection.id])
    await connection.close()
  }
}

extension Notifications.AsyncIterator {
  /// The next, which has to be a notification.
  fileprivate mutating func nextNotification() async throws -> Notification? {
    switch try await next() {
    case .notification(let notification): return notification
    case let other:
      Issue.record("no notification, but \(String(describing: other))")
      return nil
    }
  }

  fileprivate mutating func nextNumber() async throws -> (number: Int, isRetained: Bool)? {
    guard let notification = try await nextNotification() else { return nil }
    let number = try #require(Int(notification.userInfo.text ?? ""))
    return (number, notification.isRetained)
  }
}
