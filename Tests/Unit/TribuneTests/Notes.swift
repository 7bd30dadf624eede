// SPDX-License-Identifier: Apache-2.0

import Synchronization

@testable import Tribune

final class Notes: Sendable {
  private let (stream, continuation) = AsyncStream<String>.makeStream()
  private let unread = Mutex<[String]>([])

  func note(_ line: String) {
    unread.withLock { $0.append(line) }
    continuation.yield(line)
  }

  func next() async -> String? { await next(1).first }

  func next(_ count: Int) async -> [String] {
    var next: [String] = []
    for await line in stream {
      unread.withLock { _ = $0.removeFirst() }
      next.append(line)
      if next.count == count { break }
    }
    return next
  }

  var rest: [String] { unread.withLock { $0 } }
}

/// Returns when the task is cancelled.
func cancellation() async {
  for await _ in AsyncStream<Void>.makeStream().stream {}
}

extension Delivery {
  var word: String {
    switch self {
    case .notification(let notification):
      [
        notification.name, notification.userInfo.isEmpty ? nil : notification.userInfo.description,
        notification.isRetained ? "retained" : nil,
      ].compactMap { $0 }.joined(separator: " ")
    case .lost(let count): "lost \(count)"
    case .interrupted: "interrupted"
    }
  }
}

extension Notifications {
  func words(_ count: Int) async throws -> [String] {
    var words: [String] = []
    var iterator = makeAsyncIterator()
    for _ in 0..<count { words.append(try await iterator.next()?.word ?? "end") }
    return words
  }
}
