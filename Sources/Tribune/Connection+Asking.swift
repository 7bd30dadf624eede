// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension Connection {
  /// Asks the delegates of an object, and those of any object, before something is done.
  ///
  /// When nobody responds, the verdict is the default, at once. A hold on the name vetoes it, and so does a
  /// delegate that the bus's configuration requires and that is not attached. Cancelling the task cancels the
  /// query on the bus.
  ///
  /// - Parameters:
  ///   - name: what is asked: `window.shouldClose`.
  ///   - object: whose delegates are asked; empty for those alone that are delegates of any object.
  ///   - userInfo: what goes with it.
  ///   - deadline: when there must be a verdict; nil is the bus's default, 30 s unless it is set otherwise.
  ///   - mode: how the query goes through the chain.
  ///   - default: the verdict when nobody approves or vetoes.
  ///   - override: why vetoes are not to keep the asker, cut at 4,096 bytes; nil when they are. The verdict is
  ///     allowed then, lists every veto, and says that it is overridden; the bus logs and posts it.
  ///   - isDryRun: whether the delegates are told that nothing will come of it.
  ///   - parent: the query that is being answered meanwhile (``Question/query``).
  ///   - progress: told when a delegate is asked, when it defers, and what came of it; runs on the
  ///     connection's own thread and must not block.
  /// - Throws: `invalidName`, `reservedName`, `invalidObject`, `payloadTooLong`, `limitExceeded`, `recursion`,
  ///   `notPermitted` for an override that the bus does not let this user have, `refused` for one without a
  ///   reason, `unknownName`, `invalidParameter`, `connectionLost`, `cancelled`, and what else the bus refuses
  ///   it for.
  public func ask(
    _ name: String, object: String = "", userInfo: UserInfo = .none, deadline: Duration? = nil,
    mode: Mode = .parallel, default: Verdict.Decision = .allowed, override: String? = nil,
    isDryRun: Bool = false, parent: UInt64? = nil, progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws(TribuneError) -> Verdict {
    if let override, override.isEmpty {
      throw TribuneError(.refused, "whoever overrides vetoes has to say why")
    }
    var flags: QueryFlags = progress == nil ? .none : .tellsProgress
    if isDryRun { flags.insert(.isDryRun) }
    if override != nil { flags.insert(.overrides) }
    let fields = Ask(
      deadline: Checked.milliseconds(deadline), mode: mode.wire, fallback: `default`.wire,
      parent: parent ?? 0,
      flags: flags, overrideReason: override?.prefix(utf8Length: WireLimits.reasonLength) ?? "")
    return try await ask(fields, name, object, userInfo, progress)
  }

  /// Asks the delegates of an object, and those of any object, for a value: one after the other, until one
  /// has it.
  ///
  /// No value is no error: ``QueryReply/value`` is nil then, and the outcomes say why. Holds do not keep
  /// anybody from asking for a value. Cancelling the task cancels the query on the bus.
  ///
  /// - Parameters:
  ///   - name: what is asked for: `browser.numberOfRows`.
  ///   - object: whose delegates are asked; empty for those alone that are delegates of any object.
  ///   - userInfo: what goes with it.
  ///   - deadline: when there must be a reply; nil is the bus's default, 30 s unless it is set otherwise.
  ///   - parent: the query that is being answered meanwhile (``Question/query``).
  ///   - progress: told when a delegate is asked, when it defers, and what came of it; runs on the
  ///     connection's own thread and must not block.
  /// - Throws: `invalidName`, `reservedName`, `invalidObject`, `payloadTooLong`, `limitExceeded`, `recursion`,
  ///   `unknownName`, `invalidParameter`, `connectionLost`, `cancelled`, and what else the bus refuses it for.
  public func query(
    _ name: String, object: String = "", userInfo: UserInfo = .none, deadline: Duration? = nil,
    parent: UInt64? = nil, progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws(TribuneError) -> QueryReply {
    try await ask(.first, name, object, userInfo, deadline, parent, progress)
  }

  /// Asks the delegates of an object, and those of any object, for a value: all at once, for all values.
  ///
  /// - Parameters:
  ///   - name: what is asked for: `browser.columns`.
  ///   - object: whose delegates are asked; empty for those alone that are delegates of any object.
  ///   - userInfo: what goes with it.
  ///   - deadline: when there must be a reply; nil is the bus's default, 30 s unless it is set otherwise.
  ///   - parent: the query that is being answered meanwhile (``Question/query``).
  ///   - progress: told when a delegate is asked, when it defers, and what came of it; runs on the
  ///     connection's own thread and must not block.
  /// - Throws: as ``query(_:object:userInfo:deadline:parent:progress:)``.
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
    let fields = Ask(
      deadline: Checked.milliseconds(deadline), mode: mode, parent: parent ?? 0,
      flags: progress == nil ? .none : .tellsProgress)
    let verdict = try await ask(fields, name, object, userInfo, progress)
    return QueryReply(query: verdict.query, outcomes: verdict.outcomes)
  }

  private func ask(
    _ fields: Ask, _ name: String, _ object: String, _ userInfo: UserInfo,
    _ progress: (@Sendable (Progress) -> Void)?
  ) async throws(TribuneError) -> Verdict {
    let message = Link.Message(
      name: try Checked.ownName(name), object: try Checked.object(object), payload: userInfo.bytes)
    return try await link.request(fields, message, isTakenBack: true) { reply, _ in
      .verdict(reply, progress: progress)
    }
  }
}
