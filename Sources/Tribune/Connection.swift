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

  /// Asks the delegates of an object, and those of any object, before something is done.
  ///
  /// When nobody responds, the verdict is the default, at once. Cancelling the task cancels the query on
  /// the bus.
  ///
  /// - Parameters:
  ///   - name: what is asked: `window.shouldClose`.
  ///   - object: whose delegates are asked; empty for those alone that are delegates of any object.
  ///   - userInfo: what goes with it.
  ///   - deadline: when there must be a verdict; nil is the bus's default, 30 s unless it is set otherwise.
  ///   - mode: how the query goes through the chain.
  ///   - default: the verdict when nobody approves or vetoes.
  ///   - parent: the query that is being answered meanwhile (``Question/query``).
  ///   - progress: told when a delegate defers; runs on the connection's own thread and must not block.
  /// - Throws: `invalidName`, `reservedName`, `invalidObject`, `payloadTooLong`, `limitExceeded`,
  ///   `connectionLost`, `cancelled`, and what else the bus refuses it for.
  public func ask(
    _ name: String, object: String = "", userInfo: UserInfo = .none, deadline: Duration? = nil,
    mode: Mode = .parallel, default: Verdict.Decision = .allowed, parent: UInt64? = nil,
    progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws(TribuneError) -> Verdict {
    let name = try Checked.ownName(name)
    let object = try Checked.object(object)
    let fields = Ask(
      deadline: Checked.milliseconds(deadline), mode: mode.wire, fallback: `default`.wire, parent: parent ?? 0
    )
    let message = Link.Message(name: name, object: object, payload: userInfo.bytes)
    return try await link.request(fields, message, isTakenBack: true) { .verdict($0, progress: progress) }
  }

  /// Attaches a delegate to an object's chain, which does not retain it.
  ///
  /// When the delegate is gone, the next question finds that out: it is abstained from, and the attachment
  /// taken back. Attaching the same delegate in the same way twice changes nothing.
  ///
  /// - Parameters:
  ///   - delegate: who is asked from now on.
  ///   - object: the object; empty for any.
  ///   - patterns: the names that the delegate responds to, 1 to 128.
  ///   - order: the place in the chain: lower is earlier, equal goes by time of attaching.
  ///   - onFailure: what silence, a lost connection or an error counts as.
  ///   - timeout: the time for an answer; nil is the bus's default, 5 s unless it is set otherwise.
  ///   - label: what verdicts call the delegate, at most 255 bytes.
  /// - Throws: `invalidPattern`, `invalidObject`, `limitExceeded`, `connectionLost`, `cancelled`; `refused` when
  ///   another delegate of this connection responds to exactly these names of the object.
  @discardableResult
  public func attach(
    _ delegate: some Delegate, to object: String = "", respondingTo patterns: [String], order: Int32 = 0,
    onFailure: FailurePolicy = .veto, timeout: Duration? = nil, label: String = ""
  ) async throws(TribuneError) -> Attachment {
    for pattern in patterns { _ = try Checked.pattern(pattern) }
    guard !patterns.isEmpty else {
      throw TribuneError(.invalidPattern, "a delegate responds to one name at least")
    }
    guard patterns.count <= WireLimits.patternsPerDelegate else {
      throw TribuneError(
        .limitExceeded,
        "\(patterns.count) patterns in one attachment, at most \(WireLimits.patternsPerDelegate)")
    }
    guard label.utf8.count <= WireLimits.labelLength else {
      throw TribuneError(
        .limitExceeded, "a label of \(label.utf8.count) bytes, at most \(WireLimits.labelLength)")
    }
    let fields = Attach(
      order: order, failurePolicy: onFailure.wire, timeout: Checked.milliseconds(timeout), label: label,
      patterns: patterns)
    let (serial, id) = try await link.attach(delegate, to: try Checked.object(object), fields)
    return Attachment(id: id, serial: serial, connection: self)
  }

  /// All connections of the bus, this one included.
  public func connections() async throws(TribuneError) -> [ConnectionInfo] {
    try await link.list(.connections).compactMap {
      if case .connection(let entry) = $0 { ConnectionInfo(entry) } else { nil }
    }
  }

  /// All observations of the bus.
  public func observations() async throws(TribuneError) -> [ObservationInfo] {
    try await link.list(.observations).compactMap {
      if case .observation(let entry) = $0 { ObservationInfo(entry) } else { nil }
    }
  }

  /// All attached delegates of the bus.
  public func delegates() async throws(TribuneError) -> [DelegateInfo] {
    try await link.list(.delegates).compactMap {
      if case .delegate(let entry) = $0 { DelegateInfo(entry) } else { nil }
    }
  }

  /// The bus as a whole.
  public func status() async throws(TribuneError) -> BusStatus {
    for case .bus(let entry) in try await link.list(.bus) { return BusStatus(entry) }
    throw .violation("the bus says nothing of itself")
  }

  /// The delegates that a query would be put to, in the chain's order. Nobody is asked.
  ///
  /// - Throws: `invalidName`, `invalidObject`, `connectionLost`, `cancelled`.
  public func explain(_ name: String, object: String = "") async throws(TribuneError) -> [DelegateInfo] {
    let name = try Checked.name(name)
    let object = try Checked.object(object)
    return try await link.list(.chain, name: name, object: object).compactMap {
      if case .delegate(let entry) = $0 { DelegateInfo(entry) } else { nil }
    }
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
