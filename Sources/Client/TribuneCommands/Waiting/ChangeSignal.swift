// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Signals that something has changed. Signals that nobody has waited for yet count as one.
final class ChangeSignal: Sendable {
  private let changes: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let isPending = Atomic(false)

  init() {
    (changes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Whether a signal that nobody has waited for yet would count as one with the next.
  var isNoted: Bool { isPending.load(ordering: .acquiring) }

  func note() {
    isPending.store(true, ordering: .releasing)
    continuation.yield()
  }

  /// Nothing will change any more: nobody has to wait.
  func end() { continuation.finish() }

  /// Returns at the next change, or at once if there was one that nobody has waited for; also at the end, and when the
  /// task is cancelled, after which nobody may wait again.
  func wait() async {
    for await _ in changes {
      isPending.store(false, ordering: .releasing)
      return
    }
  }
}
