// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

extension Connection {
  /// Observes notifications by name and object.
  ///
  /// The call returns when the bus has confirmed the observation. The observation covers every post that the
  /// bus reads after the confirmation. With `retained`, the sequence begins with the matching retained
  /// notifications (``Notification/isRetained``) and continues with new ones, without a gap or a repetition.
  ///
  /// A full sequence drops no delivery: once `limit` deliveries wait in it, further ones wait on the bus, and
  /// the bus slows down their posters. While one sequence is full, the bus also sends nothing to
  /// the connection's other sequences, including those of ``monitor(_:)``. So read every sequence, or cancel
  /// it. To read sequences independently of each other, use a connection for each.
  ///
  /// - Parameters:
  ///   - pattern: the pattern of names; nil for any name.
  ///   - object: the object; nil for any object.
  ///   - limit: how many unread deliveries may wait in the sequence; at least one. If the unread deliveries
  ///     have more than 32 MiB of userInfo, further ones also wait on the bus.
  ///   - suspension: what the bus does with matching notifications while the connection is suspended.
  ///   - retained: true to begin with the retained notifications.
  ///   - awaited: true if awaited posts must wait for this observer. The observer must then acknowledge each
  ///     awaited notification (``Notification/acknowledgement``).
  /// - Throws: `invalidPattern`, `invalidObject`, `limitExceeded`.
  public func observe(
    _ pattern: String? = nil, object: String? = nil, limit: Int = 4096,
    suspension: SuspensionBehavior = .coalesce, retained: Bool = false, awaited: Bool = false
  ) async throws(TribuneError) -> Notifications {
    try await observe(pattern.map { [$0] } ?? [], object, limit, suspension, retained, awaited)
  }

  /// Observes notifications whose name matches any of several patterns, and delivers one copy of each.
  ///
  /// A retained notification for one pattern can come after a new notification for another pattern.
  ///
  /// - Throws: the errors of the `observe` for one pattern; `invalidPattern` also for an empty array.
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
    // If one observation fails, releasing the subscription takes the other observations back.
    let subscription = Subscription(stream, on: self) { link, stream in link.endObserving(stream) }
    for (key, pattern) in observations { try await link.observe(key, pattern, into: stream) }
    return Notifications(subscription: subscription)
  }

  /// Suspends this connection's notifications, as Cocoa's NSDistributedNotificationCenter does.
  ///
  /// The call returns when the bus has confirmed the suspension. Until ``resume()``, each observation's
  /// ``SuspensionBehavior`` decides what the bus does with notifications. Delegates still receive questions
  /// and notifications. Immediate notifications (``PostOptions/isImmediate``) still arrive. Awaited
  /// notifications still arrive at awaited observers, unless these have ``SuspensionBehavior/drop``. Before
  /// an immediate or awaited notification, the bus delivers the buffered ones. A second call before
  /// ``resume()`` has no effect. Cancelling the task does not stop the call.
  public func suspend() async throws(TribuneError) { try await link.suspend(true) }

  /// Ends the suspension.
  ///
  /// The bus first delivers the buffered notifications, in posting order. When the call returns, they are in
  /// the sequences, except those that wait on the bus because a sequence is full. Cancelling the task does
  /// not stop the call.
  public func resume() async throws(TribuneError) { try await link.suspend(false) }

  /// True if the bus has confirmed a suspension, but not yet its end.
  public var isSuspended: Bool { link.state.withLock { $0.isSuspended } }

  /// Monitors the frames whose names match any of the patterns; without patterns, all frames. A frame that
  /// belongs to a query or post, such as an answer, matches by the name of that query or post. The bus shows
  /// a monitor neither hellos nor userInfo that came in a descriptor.
  ///
  /// The bus sends each frame to a connection once. If a connection has several monitors, each of their
  /// sequences gets the frames that any of the monitors matches.
  ///
  /// - Throws: `invalidPattern`, `limitExceeded`, and any other refusal of the bus.
  public func monitor(_ patterns: [String] = []) async throws(TribuneError) -> Traffic {
    for pattern in patterns { _ = try Checked.pattern(pattern) }
    let stream = DeliveryStream<TrafficDelivery>(limit: 4096)
    let subscription = Subscription(stream, on: self) { link, stream in link.endMonitoring(stream) }
    for pattern in patterns.isEmpty ? [""] : patterns {
      _ = try await link.register(Monitor(), .init(name: pattern), as: .monitor(stream))
    }
    return Traffic(subscription: subscription)
  }
}
