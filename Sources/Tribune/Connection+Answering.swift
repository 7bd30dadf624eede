// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

extension Connection {
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
  ///   - protocols: the protocols that the delegate conforms to, at most 32. An object that was declared with
  ///     a protocol takes only delegates that conform to it, or to one that inherits from it.
  /// - Throws: `invalidPattern`, `invalidObject`, `limitExceeded`, `unknownProtocol`, `notConforming`,
  ///   `connectionLost`, `cancelled`; `refused` when another delegate of this connection responds to exactly
  ///   these names of the object under this label, and when the same attachment is taken back meanwhile again
  ///   and again.
  @discardableResult
  public func attach(
    _ delegate: some Delegate, to object: String = "", respondingTo patterns: [String], order: Int32 = 0,
    onFailure: FailurePolicy = .veto, timeout: Duration? = nil, label: String = "",
    conformingTo protocols: [String] = []
  ) async throws(TribuneError) -> Attachment {
    let fields = Attach(
      order: order, failurePolicy: onFailure.wire, timeout: Checked.milliseconds(timeout), label: label,
      patterns: patterns, protocols: protocols)
    return try await attach(delegate, to: object, fields)
  }

  /// Makes a delegate the only one of an object, in place of those that it has, as Cocoa's `setDelegate:` does.
  ///
  /// The replaced ones are told with ``Delegate/replaced(by:)``. Delegates of any object stay, unless the
  /// object is empty: then they are what is replaced.
  ///
  /// - Parameters:
  ///   - delegate: who is asked from now on.
  ///   - object: the object; empty for any.
  ///   - patterns: the names that the delegate responds to, 1 to 128.
  ///   - order: the place in the chain: lower is earlier, equal goes by time of attaching.
  ///   - onFailure: what silence, a lost connection or an error counts as.
  ///   - timeout: the time for an answer; nil is the bus's default, 5 s unless it is set otherwise.
  ///   - label: what verdicts call the delegate, at most 255 bytes.
  ///   - protocols: the protocols that the delegate conforms to, at most 32.
  /// - Throws: as
  ///   ``attach(_:to:respondingTo:order:onFailure:timeout:label:conformingTo:)``; nobody is replaced then.
  @discardableResult
  public func set(
    _ delegate: some Delegate, to object: String = "", respondingTo patterns: [String], order: Int32 = 0,
    onFailure: FailurePolicy = .veto, timeout: Duration? = nil, label: String = "",
    conformingTo protocols: [String] = []
  ) async throws(TribuneError) -> Attachment {
    let fields = Attach(
      order: order, failurePolicy: onFailure.wire, timeout: Checked.milliseconds(timeout), label: label,
      patterns: patterns, isSet: true, protocols: protocols)
    return try await attach(delegate, to: object, fields)
  }

  private func attach(
    _ delegate: some Delegate, to object: String, _ fields: Attach
  ) async throws(TribuneError) -> Attachment {
    var patterns: [Pattern] = []
    for pattern in fields.patterns { patterns.append(try Checked.pattern(pattern)) }
    guard !patterns.isEmpty else {
      throw TribuneError(.invalidPattern, "a delegate responds to one name at least")
    }
    try Checked.count(patterns.count, "patterns in one attachment", max: WireLimits.patternsPerDelegate)
    try Checked.count(
      fields.protocols.count, "protocols in one attachment", max: WireLimits.protocolsPerDelegate)
    for name in fields.protocols { try Checked.protocolName(name) }
    try Checked.count(fields.label.utf8.count, "bytes in a label", max: WireLimits.labelLength)
    let (registered, attached) = try await link.attach(
      delegate, to: try Checked.object(object), patterns: patterns, fields)
    return Attachment(attached, serial: registered.serial, connection: self)
  }

  /// Vetoes what is asked under names that match, without being asked.
  ///
  /// It lasts until ``Hold/release()``, until it expires, or until the connection ends, whichever is first,
  /// whether or not the object that is returned is kept. Values can be asked for all the same.
  ///
  /// - Parameters:
  ///   - pattern: the names.
  ///   - object: the object; nil is any.
  ///   - why: what verdicts give as the reason; cut at 4,096 bytes.
  ///   - span: when it expires, from now; nil is never.
  /// - Throws: `invalidPattern`, `invalidObject`, `limitExceeded`, `connectionLost`, `cancelled`; `refused` when
  ///   the span is not more than nothing, or nothing is said why.
  @discardableResult
  public func hold(
    _ pattern: String, object: String? = nil, why: String, expiresIn span: Duration? = nil
  ) async throws(TribuneError) -> Hold {
    let pattern = try Checked.pattern(pattern)
    let object = try Checked.object(object ?? "")
    guard !why.isEmpty else { throw TribuneError(.refused, "whoever holds has to say why") }
    let term = HoldTerm(expiry: try Checked.expiry(span, now: SystemClock.monotonicNanoseconds))
    let registered = try await link.hold(pattern.text, object: object, why: why, term)
    return Hold(serial: registered.serial, term: term, connection: self)
  }

  /// Says "I am at it" for a delegate of this user, which may be another connection's: for what runs under it.
  ///
  /// Returns when the bus has taken it. A delegate itself uses ``Question/deferAnswer(by:status:)``.
  ///
  /// - Parameters:
  ///   - query: the query that the delegate is asked in.
  ///   - delegate: the delegate's id; 0 for the one delegate of this user that the query waits for.
  ///   - extension: the time until the answer, from now, which the asker's own deadline bounds.
  ///   - status: what to tell the asker; cut at 4,096 bytes.
  /// - Throws: `notFound` when that delegate is not waited for; `connectionLost`, `cancelled`, and what else the
  ///   bus refuses it for, as when 0 could mean several delegates.
  public func deferAnswer(
    query: UInt64, delegate: UInt64 = 0, by extension: Duration, status: String = ""
  ) async throws(TribuneError) {
    let fields = Defer(
      query: QueryID(rawValue: query), delegate: DelegateID(rawValue: delegate),
      extension: Checked.milliseconds(`extension`))
    _ = try await link.request(fields, .init(payload: status.reasonBytes), flags: .acknowledge) { reply, _ in
      .okay(reply)
    }
  }
}
