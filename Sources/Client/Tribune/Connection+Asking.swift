// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension Connection {
  /// Asks the delegates of an object, and those for any object, for permission before an action.
  ///
  /// If no delegate responds, the verdict is the default, at once. A matching hold vetoes, and so does a missing
  /// delegate that the bus's configuration requires. Cancelling the task cancels the query on the bus.
  ///
  /// - Parameters:
  ///   - name: such as `window.shouldClose`.
  ///   - object: empty for all objects.
  ///   - userInfo: for the delegates.
  ///   - deadline: of the verdict; nil for the bus's default, 30 s unless configured otherwise. It is rounded up to
  ///     whole milliseconds, at least one; above ``BusInfo/deadlineMax``, it is `refused`.
  ///   - mode: in which order to ask, and when to stop.
  ///   - default: the verdict when no delegate approves or vetoes.
  ///   - override: the reason for overriding vetoes, truncated at 4,096 bytes; nil to respect them. An overridden
  ///     verdict is allowed and lists the vetoes; the bus logs and posts it.
  ///   - isDryRun: tells the delegates that no action will follow.
  ///   - parent: the query that the caller is answering (``Question/query``).
  ///   - progress: called when a delegate is asked, when it defers, and with its outcome; runs on the connection's
  ///     thread and must not block.
  /// - Throws: `invalidName`, `reservedName`, `invalidObject`, `payloadTooLong`, `limitExceeded`, `recursion`,
  ///   `notPermitted` when the bus does not let this user override, `refused` for an override without a reason,
  ///   `unknownName`, `invalidParameter`, and any other refusal of the bus.
  public func ask(
    _ name: String, object: String = "", userInfo: UserInfo = .none, deadline: Duration? = nil,
    mode: Mode = .parallel, default: Verdict.Decision = .allowed, override: String? = nil,
    isDryRun: Bool = false, parent: UInt64? = nil, progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws(TribuneError) -> Verdict {
    let fields = try Ask(deadline, mode, `default`, override, parent, isDryRun ? .isDryRun : .none)
    return try await ask(fields, name, object, userInfo, progress).verdict
  }

  /// Asks for permission, and begins the action in the same step if the verdict is *allowed*.
  ///
  /// While the action is under way, the bus lists it, and each new hold that could have vetoed it learns that it is too
  /// late (``Hold/late``).
  ///
  /// Parameters and errors: as for `ask`.
  ///
  /// - Returns: the verdict, and the action if the verdict allows it.
  public func begin(
    _ name: String, object: String = "", userInfo: UserInfo = .none, deadline: Duration? = nil,
    mode: Mode = .parallel, default: Verdict.Decision = .allowed, override: String? = nil,
    parent: UInt64? = nil, progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws(TribuneError) -> (verdict: Verdict, action: Action?) {
    let fields = try Ask(deadline, mode, `default`, override, parent, .begins)
    let (verdict, serial) = try await ask(fields, name, object, userInfo, progress)
    let action = Action(
      query: verdict.query, key: ActionKey(name: name, object: object), serial: serial, connection: self)
    return (verdict, verdict.isAllowed ? action : nil)
  }

  /// Asks the delegates of an object, and those for any object, for a value, one after the other until one gives it.
  ///
  /// Without a value, ``QueryReply/value`` is nil, and the outcomes say why. Holds do not affect value queries.
  /// Cancelling the task cancels the query on the bus.
  ///
  /// Parameters: as for `ask`; the name is such as `browser.numberOfRows`.
  ///
  /// - Throws: `invalidName`, `reservedName`, `invalidObject`, `payloadTooLong`, `limitExceeded`, `recursion`,
  ///   `unknownName`, `invalidParameter`, and any other refusal of the bus.
  public func query(
    _ name: String, object: String = "", userInfo: UserInfo = .none, deadline: Duration? = nil,
    parent: UInt64? = nil, progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws(TribuneError) -> QueryReply {
    try await ask(.first, name, object, userInfo, deadline, parent, progress)
  }

  /// Asks all delegates of an object, and those for any object, at once, and collects every value.
  ///
  /// Parameters and errors: as for ``query(_:object:userInfo:deadline:parent:progress:)``.
  public func collect(
    _ name: String, object: String = "", userInfo: UserInfo = .none, deadline: Duration? = nil,
    parent: UInt64? = nil, progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws(TribuneError) -> QueryReply {
    try await ask(.collect, name, object, userInfo, deadline, parent, progress)
  }

  private func ask(
    _ mode: QueryMode, _ name: String, _ object: String, _ userInfo: UserInfo, _ deadline: Duration?,
    _ parent: UInt64?, _ progress: (@Sendable (Progress) -> Void)?
  ) async throws(TribuneError) -> QueryReply {
    let fields = Ask(deadline: Checked.milliseconds(deadline), mode: mode, parent: parent ?? 0)
    let verdict = try await ask(fields, name, object, userInfo, progress).verdict
    return QueryReply(
      query: verdict.query, outcomes: verdict.outcomes, omittedCount: verdict.omittedCount,
      similarName: verdict.similarName)
  }

  private func ask(
    _ fields: Ask, _ name: String, _ object: String, _ userInfo: UserInfo,
    _ progress: (@Sendable (Progress) -> Void)?
  ) async throws(TribuneError) -> (verdict: Verdict, serial: Serial) {
    var fields = fields
    if progress != nil { fields.flags.insert(.wantsProgress) }
    let message = try Link.Message(name, object, userInfo)
    let beginning = fields.flags.contains(.begins) ? ActionKey(name: name, object: object) : nil
    var serial: Serial = 0
    let verdict = try await link.request(fields, message, isTakenBack: true) { reply, given in
      serial = given
      return .verdict(reply, progress: progress, beginning: beginning)
    }
    return (verdict, serial)
  }
}

extension Ask {
  /// - Throws: `refused` for an override without a reason.
  fileprivate init(
    _ deadline: Duration?, _ mode: Mode, _ default: Verdict.Decision, _ override: String?, _ parent: UInt64?,
    _ flags: QueryFlags
  ) throws(TribuneError) {
    if let override, override.isBlank { throw TribuneError(.refused, "an override needs a reason") }
    self.init(
      deadline: Checked.milliseconds(deadline), mode: mode.wire, fallback: `default`.wire,
      parent: parent ?? 0, flags: override == nil ? flags : flags.union(.overrides),
      overrideReason: override?.prefix(utf8Length: WireLimits.reasonLength) ?? "")
  }
}
