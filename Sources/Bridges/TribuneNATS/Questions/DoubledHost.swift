// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneService

/// Detects another gateway with this host's name, because other hosts cannot distinguish the two.
nonisolated final class DoubledHost: Sendable {
  /// After the link comes up, the gateway waits for this time before it answers. Within this time, another
  /// gateway with the same host name announces itself.
  private static let listening = Duration.milliseconds(500)

  private struct State {
    var other: (instance: Instance, heardAt: ContinuousClock.Instant)?
    /// Nil while the link is down.
    var listensUntil: ContinuousClock.Instant?
  }

  private let host: String
  private let state = Mutex(State())

  init(_ host: String) { self.host = host }

  /// Why this gateway's own answers cannot be trusted; nil if they can.
  var doubt: String? {
    guard let other = state.withLock({ $0.other }), .now - other.heardAt < Neighbours.silenceMax else {
      return nil
    }
    return "another gateway says that it is \(host)"
  }

  /// Returns `doubt` after the listening time has ended.
  func knownDoubt() async -> String? {
    let now = ContinuousClock.now
    let end = state.withLock { $0.listensUntil } ?? now + Self.listening
    if end > now { await rest(for: end - now) }
    return doubt
  }

  func linkChanged(isUp: Bool) {
    state.withLock { $0.listensUntil = isUp ? .now + Self.listening : nil }
  }

  /// - Returns: true if the other gateway is new, so it may not know this one.
  func remember(_ instance: Instance) -> Bool {
    let wasKnown = doubt != nil
    let former = state.withLock { state in
      defer { state.other = (instance, .now) }
      return state.other
    }
    if !wasKnown, let doubt { ServiceLog.error(doubt) }
    return former?.instance != instance
  }
}
