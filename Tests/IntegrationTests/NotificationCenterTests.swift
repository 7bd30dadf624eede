// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

/// The promises to the library's observers, against the real daemon.
@Suite("The notification center", .timeLimit(.minutes(2)))
struct NotificationCenterTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  /// Four connections subscribe 2,500 times each while one posts without a pause.
  @Test("after a snapshot, each change arrives exactly once, however the two race")
  func snapshotsRacePosts() async throws {
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
            // Every other round has two matching patterns, for which the bus makes two snapshots.
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
}

extension Notifications.AsyncIterator {
  /// The number in the next delivery, which has to be a notification.
  fileprivate mutating func nextNumber() async throws -> (number: Int, isRetained: Bool)? {
    let delivery = try await next()
    guard case .notification(let notification)? = delivery else {
      Issue.record("expected a notification, received \(String(describing: delivery))")
      return nil
    }
    let number = try #require(Int(notification.userInfo.text ?? ""))
    return (number, notification.isRetained)
  }
}
