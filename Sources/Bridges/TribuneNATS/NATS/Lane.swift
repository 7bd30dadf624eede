// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// A bounded queue from libnats's threads to the main actor. A full queue drops messages and counts them.
nonisolated final class Lane: Sendable {
  static let countMax = 8_192
  static let weightMax = 64 << 20

  struct Batch {
    var messages: [ClusterMessage] = []
    /// How many messages were dropped after `messages`.
    var dropped = 0
  }

  private struct State {
    var batch = Batch()
    var weight = 0
    var isAnnounced = false
  }

  private let state = Mutex(State())
  private let announce: @Sendable @MainActor () -> Void

  /// - Parameter announce: called for the first message, and for the first message after each `take()`.
  init(_ announce: @escaping @Sendable @MainActor () -> Void) { self.announce = announce }

  func put(_ message: ClusterMessage) {
    let weight = message.weight
    let isNews = state.withLock { state in
      if state.batch.messages.count >= Self.countMax || state.weight + weight > Self.weightMax {
        state.batch.dropped += 1
      } else {
        state.batch.messages.append(message)
        state.weight += weight
      }
      defer { state.isAnnounced = true }
      return !state.isAnnounced
    }
    guard isNews else { return }
    DispatchQueue.main.async { [announce] in MainActor.assumeIsolated(announce) }
  }

  func take() -> Batch {
    state.withLock { state in
      defer { state = State() }
      return state.batch
    }
  }
}
