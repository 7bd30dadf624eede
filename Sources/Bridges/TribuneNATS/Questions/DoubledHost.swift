// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneService

/// Whether another gateway says that it is this host: nobody could tell its answers from those of this one.
nonisolated final class DoubledHost: Sendable {
  /// How long a gateway that has just connected listens for another one, which says so at once, before it answers.
  private static let listening = Duration.milliseconds(500)

  private struct State {
    var other: (instance: Instance, heardAt: ContinuousClock.Instant)?
    /// Nil while there is no connection to NATS.
    var listensUntil: ContinuousClock.Instant?
  }

  private let host: String
  private let state = Mutex(State())

  init(_ host: String) { self.host = host }

  /// Why what this gateway answers cannot be believed; nil if it can, as far as it is known now.
  var doubt: String? {
    guard let other = state.withLock({ $0.other }), .now - other.heardAt < Neighbours.silenceMax else {
      return nil
    }
    return "another gateway says that it is \(host)"
  }

  /// The same, once this gateway has listened for long enough.
  func knownDoubt() async -> String? {
    let now = ContinuousClock.now
    let end = state.withLock { $0.listensUntil } ?? now + Self.listening
    if end > now { await rest(for: end - now) }
    return doubt
  }

  func linkChanged(isUp: Bool) {
    state.withLock { $0.listensUntil = isUp ? .now + Self.listening : nil }
  }

  /// - Returns: whether it may not know yet of this one.
  func note(_ instance: Instance) -> Bool {
    let wasKnown = doubt != nil
    let former = state.withLock { state in
      defer { state.other = (instance, .now) }
      return state.other
    }
    if !wasKnown, let doubt { ServiceLog.error(doubt) }
    return former?.instance != instance
  }
}
