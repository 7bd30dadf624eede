// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
package import TribuneWire

extension Connection {
  /// Attaches a delegate to an object's chain.
  ///
  /// The connection does not retain the delegate. If a question or notification comes for a deallocated
  /// delegate, the connection detaches the delegate, and answers a question with ``Answer/abstain``.
  ///
  /// - Parameters:
  ///   - delegate: the delegate, to which the caller must keep a reference.
  ///   - object: the object whose chain the delegate joins; empty for all objects.
  ///   - patterns: 1 to 128 patterns of the names that the delegate responds to.
  ///   - order: the position in the chain. Lower values come first. Equal values keep the order of attaching.
  ///   - onFailure: the effect of the delegate's timeout, lost connection or error on the verdict.
  ///   - timeout: the time for each answer; nil for the bus's default, 5 s unless configured otherwise.
  ///   - label: the delegate's name in verdicts, at most 255 bytes.
  ///   - protocols: the protocols that the delegate conforms to, at most 32. If the object was declared with
  ///     a protocol, one of `protocols` must be that protocol or inherit from it.
  /// - Throws: `invalidPattern`, `invalidObject`, `limitExceeded`, `unknownProtocol`, `notConforming`;
  ///   `conflict` when this connection already has an attachment with this object, these patterns and this
  ///   label, even of the same delegate. Detach that attachment first.
  @discardableResult
  public func attach(
    _ delegate: some Delegate, to object: String = "", respondingTo patterns: [String], order: Int32 = 0,
    onFailure: FailurePolicy = .veto, timeout: Duration? = nil, label: String = "",
    conformingTo protocols: [String] = []
  ) async throws(TribuneError) -> Attachment {
    try await attach(
      delegate, to: object, respondingTo: patterns, order: order, onFailure: onFailure, timeout: timeout,
      label: label, conformingTo: protocols, onRefusal: nil)
  }

  /// - Parameter onRefusal: called if the bus's policy later ends the attachment, or if the bus refuses to
  ///   renew the attachment. If `onRefusal` is nil, the connection ends in these cases.
  package func attach(
    _ delegate: some Delegate, to object: String, respondingTo patterns: [String], order: Int32,
    onFailure: FailurePolicy, timeout: Duration?, label: String, conformingTo protocols: [String],
    onRefusal: (@Sendable (TribuneError) -> Void)?
  ) async throws(TribuneError) -> Attachment {
    let fields = Attach(
      order: order, failurePolicy: onFailure.wire, timeout: Checked.milliseconds(timeout), label: label,
      patterns: patterns, protocols: protocols)
    return try await attach(delegate, to: object, fields, onRefusal)
  }

  /// Makes a delegate the only delegate of an object, as Cocoa's `setDelegate:` does.
  ///
  /// If `object` is not empty, the call replaces all delegates of this object. If `object` is empty, the call
  /// replaces the delegates that are attached without an object and respond to one of the same names.
  /// Delegates of other users stay, unless the policy lets this user replace them. If the bus refuses the
  /// request, all delegates stay. Each replaced delegate receives ``Delegate/replaced(by:)``.
  /// The parameters and errors are those of
  /// ``attach(_:to:respondingTo:order:onFailure:timeout:label:conformingTo:)``.
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
    _ delegate: some Delegate, to object: String, _ fields: Attach,
    _ onRefusal: (@Sendable (TribuneError) -> Void)? = nil
  ) async throws(TribuneError) -> Attachment {
    var patterns: [Pattern] = []
    for pattern in fields.patterns { patterns.append(try Checked.pattern(pattern)) }
    guard !patterns.isEmpty else {
      throw TribuneError(.invalidPattern, "a delegate must respond to at least one name")
    }
    try Checked.count(patterns.count, "patterns in one attachment", max: WireLimits.patternsPerDelegate)
    try Checked.count(
      fields.protocols.count, "protocols in one attachment", max: WireLimits.protocolsPerDelegate)
    for name in fields.protocols { try Checked.protocolName(name) }
    try Checked.count(fields.label.utf8.count, "bytes in a label", max: WireLimits.labelLength)
    let message = Link.Message(object: try Checked.object(object))
    var renewal = fields
    renewal.isSet = false
    let attached = AttachedDelegate(
      delegate, object: object, patterns: patterns, renewal: renewal, onRefusal: onRefusal)
    // If an equal attachment of a deallocated delegate remained, the bus would report a `conflict`.
    link.detachDeallocated()
    let serial = try await link.register(fields, message, as: .attachment(attached))
    return Attachment(attached, serial: serial, connection: self)
  }

  /// Takes a ``Hold``, which vetoes queries for permission whose names match a pattern.
  ///
  /// - Parameters:
  ///   - pattern: the pattern of the names.
  ///   - object: the vetoed queries' object; nil for every object. Queries without an object always match.
  ///   - why: the reason in verdicts, truncated at 4,096 bytes.
  ///   - label: the holder's name in verdicts, at most 255 bytes. The bus does not verify this name.
  ///   - span: the time until the hold expires; nil for a hold that does not expire.
  /// - Throws: `invalidPattern`, `invalidObject`, `limitExceeded`; `refused` when the span is not positive or
  ///   the reason is blank.
  @discardableResult
  public func hold(
    _ pattern: String, object: String? = nil, why: String, label: String = "", expiresIn span: Duration? = nil
  ) async throws(TribuneError) -> Hold {
    try await hold(pattern, object: object, why: why, label: label, expiresIn: span, isLast: false)
  }

  /// - Parameters:
  ///   - isLast: true if the hold is the last frame that the connection sends. `Hold.duplicateSocket()` can
  ///     then return a descriptor for a child process. If the connection sends another frame, even by
  ///     ``Hold/release()``, the bus ends the connection.
  ///   - holder: the process that verdicts and lists show as the holder; nil for this process. Only root and
  ///     the user that runs the bus may name another process.
  package func hold(
    _ pattern: String, object: String? = nil, why: String, label: String = "",
    expiresIn span: Duration? = nil, isLast: Bool, for holder: PeerIdentity? = nil
  ) async throws(TribuneError) -> Hold {
    let pattern = try Checked.pattern(pattern)
    let object = try Checked.object(object ?? "")
    guard !why.isBlank else { throw TribuneError(.refused, "a hold needs a reason") }
    let term = HoldTerm(
      expiry: try Checked.expiry(span, now: SystemClock.monotonicNanoseconds),
      lastEpoch: isLast ? link.epoch : nil)
    let message = Link.Message(name: pattern.text, object: object, payload: why.reasonBytes)
    let serial = try await link.register(
      TribuneWire.Hold(expiry: term.expiry, label: label, isLast: isLast, holder: holder), message,
      as: .hold(term))
    return Hold(serial: serial, term: term, connection: self)
  }

  /// Asks the bus to give one of this user's delegates more time, even a delegate of another connection.
  ///
  /// This call is for programs that a delegate runs. A delegate itself uses
  /// ``Question/deferAnswer(by:status:)``. The call returns when the bus has accepted the new time.
  ///
  /// - Parameters:
  ///   - query: the id of the query in which the delegate was asked.
  ///   - delegate: the delegate's id; 0 for the only delegate of this user that the query waits for.
  ///   - extension: the new time for the answer, counted from now, at most until the asker's deadline.
  ///   - status: a status text for the asker, truncated at 4,096 bytes.
  /// - Throws: `notFound` when the query does not wait for that delegate; any other refusal of the bus, for
  ///   example if `delegate` is 0 and the query waits for several delegates of this user.
  public func deferAnswer(
    query: UInt64, delegate: UInt64 = 0, by extension: Duration, status: String = ""
  ) async throws(TribuneError) {
    let fields = Defer(
      query: QueryID(rawValue: query), delegate: DelegateID(rawValue: delegate),
      extension: Checked.milliseconds(`extension`))
    try await link.request(fields, .init(payload: status.reasonBytes), flags: .acknowledge)
  }
}
