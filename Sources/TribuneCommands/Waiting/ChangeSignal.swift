// SPDX-License-Identifier: Apache-2.0

/// Signals that something has changed. Signals that nobody has waited for yet count as one.
struct ChangeSignal: Sendable {
  private let changes: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() {
    (changes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  func note() { continuation.yield() }

  /// Nothing will change any more: nobody has to wait.
  func end() { continuation.finish() }

  /// Returns at the next change, or at once if there was one that nobody has waited for; also at the end, and when the
  /// task is cancelled, after which nobody may wait again.
  func wait() async {
    for await _ in changes { return }
  }
}
