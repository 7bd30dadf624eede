// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

extension Connection {
  /// Observes notifications by name and object.
  ///
  /// Returns once the bus has confirmed the observation. It covers all later posts. With `retained`, the sequence
  /// begins with the matching retained notifications (``Notification/isRetained``) and continues with new ones, without
  /// a gap or a repetition.
  ///
  /// The connection drops nothing. Once `limit` deliveries wait in the sequence, further ones wait on the bus, which
  /// slows their posters down. All sequences of a connection, also those of monitors, share this flow: one that is full
  /// stops the others. So read every sequence, or cancel it, and use a connection for each independent pace.
  ///
  /// - Parameters:
  ///   - pattern: the pattern of names; nil for any name.
  ///   - object: the object; nil for any object.
  ///   - limit: how many unread deliveries wait in the sequence; at least one. If they have over 32 MiB of userInfo, no
  ///     more are requested until some are read.
  ///   - suspension: the treatment of notifications while the connection is suspended.
  ///   - retained: true to begin with the retained notifications.
  ///   - awaited: true if awaited posts shall wait for this observer, which must acknowledge each of them
  ///     (``Notification/acknowledgement``).
  /// - Throws: `invalidPattern`, `invalidObject`, `limitExceeded`.
  public func observe(
    _ pattern: String? = nil, object: String? = nil, limit: Int = 4096,
    suspension: SuspensionBehavior = .coalesce, retained: Bool = false, awaited: Bool = false
  ) async throws(TribuneError) -> Notifications {
    try await observe(pattern.map { [$0] } ?? [], object, limit, suspension, retained, awaited)
  }

  /// Observes notifications whose name matches any of several patterns, one copy of each. The retained notifications of
  /// a pattern can come after new ones of an earlier pattern.
  ///
  /// - Throws: as the other `observe`; `invalidPattern` also for an empty array.
  public func observe(
    anyOf patterns: [String], object: String? = nil, limit: Int = 4096,
    suspension: SuspensionBehavior = .coalesce, retained: Bool = false, awaited: Bool = false
  ) async throws(TribuneError) -> Notifications {
    guard !patterns.isEmpty else { throw TribuneError(.invalidPattern, "an observation needs a pattern") }
    return try await observe(patterns, object, limit, suspension, retained, awaited)
  }

  private func observe(
    _ patterns: [String], _ object: String?, _ limit: Int, _ suspension: SuspensionBehavior,
    _ wantsRetained: Bool, _ isAwaited: Bool
  ) async throws(TribuneError) -> Notifications {
    let object = try Checked.object(object ?? "")
    let stream = DeliveryStream<Delivery>(limit: limit)
    var key = LinkState.ObservationKey(
      pattern: "", object: ExactText(object), suspension: suspension.wire, isAwaited: isAwaited,
      snapshotStream: wantsRetained ? ObjectIdentifier(stream) : nil)
    var observations: [(LinkState.ObservationKey, Pattern?)] = patterns.isEmpty ? [(key, nil)] : []
    var seen: Set<String> = []
    for pattern in patterns where seen.insert(pattern).inserted {
      key.pattern = pattern
      observations.append((key, try Checked.pattern(pattern)))
    }
    // If one observation fails, the subscription is released, which takes back the others.
    let subscription = Subscription(stream, on: self) { link, stream in link.endObserving(stream) }
    for (key, pattern) in observations { try await link.observe(key, pattern, into: stream) }
    return Notifications(subscription: subscription)
  }

  /// Suspends this connection's notifications, as Cocoa's NSDistributedNotificationCenter does.
  ///
  /// Returns when the bus has confirmed. Until ``resume()``, each observation's ``SuspensionBehavior`` applies to its
  /// notifications. Questions and notifications to delegates still arrive, and so do awaited and immediate
  /// notifications (``PostOptions/isImmediate``), after the buffered ones. Suspending twice has no further effect.
  /// Cancelling the task does not stop it.
  public func suspend() async throws(TribuneError) { try await link.suspend(true) }

  /// Ends the suspension. The buffered notifications come first, in the order of their posts. On return, they are in the
  /// sequences, unless one is full. Cancelling the task does not stop this.
  public func resume() async throws(TribuneError) { try await link.suspend(false) }

  /// As the bus last confirmed.
  public var isSuspended: Bool { link.state.withLock { $0.isSuspended } }

  /// Monitors the traffic whose names match any of the patterns; without patterns, all traffic.
  ///
  /// The bus sends each message to a connection once. If the connection monitors several times, each sequence has the
  /// messages of all its monitors.
  ///
  /// - Throws: `invalidPattern`, `limitExceeded`, and any other refusal of the bus.
  public func monitor(_ patterns: [String] = []) async throws(TribuneError) -> Traffic {
    for pattern in patterns { _ = try Checked.pattern(pattern) }
    let stream = DeliveryStream<TrafficDelivery>(limit: 4096)
    let subscription = Subscription(stream, on: self) { link, stream in link.endMonitoring(stream) }
    for pattern in patterns.isEmpty ? [""] : patterns {
      _ = try await link.request(Monitor(), .init(name: pattern), isTakenBack: true) { reply, _ in
        .registration(reply, .monitor(stream))
      }
    }
    return Traffic(subscription: subscription)
  }
}
