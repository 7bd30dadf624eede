// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

extension Connection {
  /// Observes notifications by name and object.
  ///
  /// The call returns once the bus has confirmed the observation, which covers all later posts. With `retained`, the
  /// sequence begins with the matching retained notifications (``Notification/isRetained``) and continues with new
  /// ones, without a gap or a repetition.
  ///
  /// The connection drops nothing. Once `limit` deliveries wait in the sequence, further ones wait on the bus, which
  /// slows their posters down. While a sequence is full, the bus sends nothing to any sequence of the connection, not
  /// even to a monitor's. So read every sequence or cancel it. To read sequences independently, use a connection for
  /// each.
  ///
  /// - Parameters:
  ///   - pattern: the pattern of names; nil for any name.
  ///   - object: the object; nil for any object.
  ///   - limit: how many unread deliveries may wait in the sequence; at least one. If these have over 32 MiB of
  ///     userInfo, the connection requests no more until the program reads some.
  ///   - suspension: the treatment of notifications while the connection is suspended.
  ///   - retained: true to begin with the retained notifications.
  ///   - awaited: true if awaited posts must wait for this observer, which must acknowledge each of them
  ///     (``Notification/acknowledgement``).
  /// - Throws: `invalidPattern`, `invalidObject`, `limitExceeded`.
  public func observe(
    _ pattern: String? = nil, object: String? = nil, limit: Int = 4096,
    suspension: SuspensionBehavior = .coalesce, retained: Bool = false, awaited: Bool = false
  ) async throws(TribuneError) -> Notifications {
    try await observe(pattern.map { [$0] } ?? [], object, limit, suspension, retained, awaited)
  }

  /// Observes notifications whose name matches any of several patterns. The sequence has one copy of each notification.
  ///
  /// A retained notification that matches one pattern can come after a new notification that matches another pattern.
  ///
  /// - Throws: the errors of the other `observe`; `invalidPattern` also for an empty array.
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
    // If one observation fails, this function releases the subscription, which takes back the other observations.
    let subscription = Subscription(stream, on: self) { link, stream in link.endObserving(stream) }
    for (key, pattern) in observations { try await link.observe(key, pattern, into: stream) }
    return Notifications(subscription: subscription)
  }

  /// Suspends this connection's notifications, as Cocoa's NSDistributedNotificationCenter does.
  ///
  /// The call returns when the bus has confirmed the suspension. Until ``resume()``, the ``SuspensionBehavior`` of each
  /// observation decides about its notifications. Questions and notifications for delegates still arrive. Awaited and
  /// immediate notifications (``PostOptions/isImmediate``) also arrive, after those that the bus has buffered.
  /// Suspending twice has no further effect. Cancelling the task does not stop the suspension.
  public func suspend() async throws(TribuneError) { try await link.suspend(true) }

  /// Ends the suspension.
  ///
  /// The buffered notifications come before new ones, in the order of their posts. When the call returns, they are in
  /// the sequences, unless a sequence is full. Cancelling the task does not stop the call.
  public func resume() async throws(TribuneError) { try await link.suspend(false) }

  /// True if notifications are suspended, as the bus last confirmed.
  public var isSuspended: Bool { link.state.withLock { $0.isSuspended } }

  /// Monitors the frames whose names match any of the patterns. Without patterns, monitors all frames.
  ///
  /// The bus sends each frame to a connection once. If a connection has several monitors, each of their sequences gets
  /// the frames that any of the monitors matches.
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
