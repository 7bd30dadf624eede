// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

extension Connection {
  /// Observes notifications whose name matches a pattern and that are about an object.
  ///
  /// Returns once the bus has confirmed: what is posted from then on is observed.
  ///
  /// With `retained`, the sequence begins with what the bus has retained and matches
  /// (``Notification/isRetained``), and goes on with what is posted: none is missing in between, and none
  /// is there twice. What of it is over the limit is told as lost, as always.
  ///
  /// - Parameters:
  ///   - pattern: the names; nil is any.
  ///   - object: the object; nil is any.
  ///   - limit: how many deliveries, of 64 MiB together, are held for the reader; the oldest are dropped
  ///     first, and told.
  ///   - suspension: what becomes of them while the connection is suspended.
  ///   - retained: whether what is retained comes first.
  ///   - awaited: whether posters that wait do so for this observer. Then it says of each such notification how
  ///     it went (``Notification/acknowledgement``); one that it has not read in time has failed.
  /// - Throws: `invalidPattern`, `invalidObject`, `connectionLost`, `cancelled`; `limitExceeded`, also when
  ///   what is retained cannot be sent because this connection has not read what was sent before.
  public func observe(
    _ pattern: String? = nil, object: String? = nil, limit: Int = 4096,
    suspension: SuspensionBehavior = .coalesce, retained: Bool = false, awaited: Bool = false
  ) async throws(TribuneError) -> Notifications {
    let wishes = ObservationWishes(suspension: suspension, wantsRetained: retained, isAwaited: awaited)
    return try await observe(pattern.map { [$0] } ?? [], object, limit, wishes)
  }

  /// Observes notifications whose name matches any of several patterns, one copy of each.
  ///
  /// - Throws: as the other `observe`; `invalidPattern` also when there is none.
  public func observe(
    anyOf patterns: [String], object: String? = nil, limit: Int = 4096,
    suspension: SuspensionBehavior = .coalesce, retained: Bool = false, awaited: Bool = false
  ) async throws(TribuneError) -> Notifications {
    guard !patterns.isEmpty else {
      throw TribuneError(.invalidPattern, "an observation of any of no patterns is none")
    }
    let wishes = ObservationWishes(suspension: suspension, wantsRetained: retained, isAwaited: awaited)
    return try await observe(patterns, object, limit, wishes)
  }

  private struct ObservationWishes {
    var suspension: SuspensionBehavior
    var wantsRetained: Bool
    var isAwaited: Bool
  }

  private func observe(
    _ patterns: [String], _ object: String?, _ limit: Int, _ wishes: ObservationWishes
  ) async throws(TribuneError) -> Notifications {
    let object = try Checked.object(object ?? "")
    let stream = DeliveryStream<Delivery>(limit: limit)
    var key = LinkState.ObservationKey(
      pattern: "", object: object, suspension: wishes.suspension.wire, isAwaited: wishes.isAwaited,
      snapshotStream: wishes.wantsRetained ? ObjectIdentifier(stream) : nil)
    var observations: [(LinkState.ObservationKey, Pattern?)] = patterns.isEmpty ? [(key, nil)] : []
    var seen: Set<String> = []
    for pattern in patterns where seen.insert(pattern).inserted {
      key.pattern = pattern
      observations.append((key, try Checked.pattern(pattern)))
    }
    // Should one of them fail, the subscription goes, and takes the others back.
    let subscription = Subscription(stream, on: self) { link, stream in link.endObserving(stream) }
    if wishes.wantsRetained { stream.holdChangesBack() }
    for (key, pattern) in observations { try await link.observe(key, pattern, into: stream) }
    if wishes.wantsRetained { stream.letChangesCome() }
    return Notifications(subscription: subscription)
  }

  /// Suspends this connection's notifications, as with Cocoa's NSDistributedNotificationCenter.
  ///
  /// Returns when the bus has confirmed. From then on each observation's ``SuspensionBehavior`` says what
  /// becomes of what it would receive, until ``resume()``. Questions, and what delegates are told, come all
  /// the same; so does what is awaited or posted as immediate (``PostOptions/isImmediate``), behind what is
  /// held. Suspending twice is once.
  ///
  /// - Throws: `connectionLost`. Cancelling the task does not stop it.
  public func suspend() async throws(TribuneError) { try await link.suspend(true) }

  /// Resumes this connection's notifications.
  ///
  /// When it returns, what was held has come: it is in the sequences, in the order in which it was posted.
  ///
  /// - Throws: `connectionLost`. Cancelling the task does not stop it.
  public func resume() async throws(TribuneError) { try await link.suspend(false) }

  /// Whether the connection is suspended, as far as the bus has confirmed.
  public var isSuspended: Bool { link.state.withLock { $0.isSuspended } }

  /// Everything that passes over the bus under names that match any of the patterns; none is everything.
  ///
  /// A connection is shown each message once: when it monitors several times, each sequence brings what any
  /// of them asked for.
  ///
  /// - Throws: `invalidPattern`, `limitExceeded`, `connectionLost`, `cancelled`, and what else the bus refuses it for.
  public func monitor(_ patterns: [String] = []) async throws(TribuneError) -> Traffic {
    for pattern in patterns { _ = try Checked.pattern(pattern) }
    let stream = DeliveryStream<TrafficDelivery>(limit: 4096)
    let subscription = Subscription(stream, on: self) { link, stream in link.endMonitoring(stream) }
    for pattern in patterns.isEmpty ? [""] : patterns {
      try await link.monitor(pattern, into: stream)
    }
    return Traffic(subscription: subscription)
  }
}
