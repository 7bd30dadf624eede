// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A connection to the bus: tells, asks, observes and answers.
///
/// Any number of tasks may use one connection at the same time. Dropping the last reference to it and to
/// what it gave out ends it as ``close()`` does, without waiting.
public final class Connection: Sendable {
  /// The connection's id, `:N`: a number that no other connection ever has.
  public let id: String
  /// The bus at the other end.
  public let bus: BusInfo

  let link: Link

  init(link: Link, id: String, bus: BusInfo) {
    self.link = link
    self.id = id
    self.bus = bus
  }

  deinit { link.abandon() }

  /// Connects to a bus.
  ///
  /// - Parameter address: where it listens; by default what ``Address/resolve()`` finds.
  /// - Throws: `unreachable`, `invalidAddress`, `unsupportedVersion`, `limitExceeded`, `cancelled`;
  ///   `protocolViolation` when it is no bus that answers.
  public static func connect(to address: Address? = nil) async throws(TribuneError) -> Connection {
    if let address {
      try await Link.connect(to: address)
    } else {
      try await Link.connect(to: try Address.resolve())
    }
  }

  /// Posts a notification: queued behind what was sent before, and not waited for.
  ///
  /// Suspends only while more than 1 MiB waits to be written. What a task posts in turn stays in order.
  ///
  /// - Throws: `invalidName`, `reservedName`, `invalidObject`, `payloadTooLong`, `connectionLost`; `cancelled`
  ///   when the task is cancelled while it waits for room, and then nothing was posted.
  public func post(
    _ name: String, object: String = "", userInfo: UserInfo = .none
  ) async throws(TribuneError) {
    let name = try Checked.ownName(name)
    let object = try Checked.object(object)
    try await link.post(.init(name: name, object: object, payload: userInfo.bytes))
  }

  /// Posts a notification and returns when the bus has it.
  ///
  /// - Throws: as `post`, and what the bus refuses it for.
  public func postAcknowledged(
    _ name: String, object: String = "", userInfo: UserInfo = .none
  ) async throws(TribuneError) {
    let name = try Checked.ownName(name)
    let object = try Checked.object(object)
    let message = Link.Message(name: name, object: object, payload: userInfo.bytes)
    _ = try await link.request(Post(), message, flags: .acknowledge) { .okay($0) }
  }

  /// Observes notifications whose name matches a pattern and that are about an object.
  ///
  /// Returns once the bus has confirmed: what is posted from then on is observed.
  ///
  /// - Parameters:
  ///   - pattern: the names; nil is any.
  ///   - object: the object; nil is any.
  ///   - limit: how many deliveries, of 64 MiB together, are held for the reader; the oldest are dropped
  ///     first, and told.
  /// - Throws: `invalidPattern`, `invalidObject`, `limitExceeded`, `connectionLost`, `cancelled`.
  public func observe(
    _ pattern: String? = nil, object: String? = nil, limit: Int = 4096
  ) async throws(TribuneError) -> Notifications {
    try await observe(patterns: pattern.map { [$0] } ?? [], object: object, limit: limit)
  }

  /// Observes notifications whose name matches any of several patterns, one copy of each.
  ///
  /// - Throws: as the other `observe`; `invalidPattern` also when there is none.
  public func observe(
    anyOf patterns: [String], object: String? = nil, limit: Int = 4096
  ) async throws(TribuneError) -> Notifications {
    guard !patterns.isEmpty else {
      throw TribuneError(.invalidPattern, "an observation of any of no patterns is none")
    }
    return try await observe(patterns: patterns, object: object, limit: limit)
  }

  private func observe(
    patterns: [String], object: String?, limit: Int
  ) async throws(TribuneError) -> Notifications {
    let object = try Checked.object(object ?? "")
    var keys: [(LinkState.ObservationKey, Pattern?)] = []
    for pattern in Set(patterns) {
      keys.append((.init(pattern: pattern, object: object), try Checked.pattern(pattern)))
    }
    if keys.isEmpty { keys = [(.init(pattern: "", object: object), nil)] }
    let stream = DeliveryStream<Delivery>(limit: limit)
    // Should one of them fail, the subscription goes, and takes the others back.
    let subscription = Subscription(stream, on: self) { link, stream in link.endObserving(stream) }
    for (key, pattern) in keys { try await link.observe(key, pattern, into: stream) }
    return Notifications(subscription: subscription)
  }

  /// Everything that passes over the bus under names that match any of the patterns; none is everything.
  ///
  /// A connection is shown each message once: when it monitors several times, each sequence brings what any of
  /// them asked for.
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

  /// Returns when the connection has ended: why, or nil after ``close()``; nil too when the task is cancelled.
  public func closed() async -> TribuneError? {
    await link.ended()
  }

  /// Writes what was posted, then ends the connection; returns when it has ended.
  ///
  /// Sequences end cleanly, what was asked and is not answered fails with `connectionLost`. A bus that does
  /// not read for 5 seconds is not waited for longer.
  public func close() async {
    await link.close()
  }
}
