// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension Connection {
  /// Asks delegates for permission before an action.
  ///
  /// The bus asks the object's delegates and the delegates attached without an object. A matching hold
  /// vetoes, and so does the lack of a required delegate (`RequireDelegate=`). Without such a veto, and
  /// without responding delegates, the verdict is `default` at once. Cancelling the task cancels the query.
  ///
  /// - Parameters:
  ///   - name: the question's name, such as `window.shouldClose`.
  ///   - object: the object of the action; empty for all objects.
  ///   - userInfo: the payload for the delegates.
  ///   - deadline: the longest time until the verdict; nil for the bus's default, 30 s unless configured
  ///     otherwise. The library rounds the time up to whole milliseconds, at least one. The bus refuses a
  ///     time above ``BusInfo/deadlineMax`` with `refused`.
  ///   - mode: the rule by which the bus asks the delegates, and ends the query.
  ///   - default: the verdict if the query gets neither an approval nor a veto. `Default=veto` in the bus's
  ///     configuration takes precedence.
  ///   - override: the reason for overriding vetoes, truncated at 4,096 bytes; nil to respect vetoes. An
  ///     overridden verdict is *allowed* and lists the vetoes. The bus logs and announces the override.
  ///   - isDryRun: true to tell the delegates that this program will not act on the verdict.
  ///   - slots: the number of such actions that may be under way at the same time, at least 1; nil for any
  ///     number. If so many actions with this name and object are under way (or with this name, if one of the
  ///     two has no object), each of them vetoes.
  ///   - parent: the id of the query that the caller is answering (``Question/query``); nil if the caller
  ///     answers none.
  ///   - progress: called when the bus asks a delegate, when a delegate defers, and when a delegate has an
  ///     outcome. This closure runs on the connection's thread and must not block.
  /// - Throws: `invalidName`, `reservedName`, `invalidObject`, `payloadTooLong`, `limitExceeded`,
  ///   `recursion`; `notPermitted` when the policy does not let this user ask or override; `refused` for an
  ///   override with a blank reason; `unknownName`, `invalidParameter`, and any other refusal of the bus.
  public func ask(
    _ name: String, object: String = "", userInfo: UserInfo = .none, deadline: Duration? = nil,
    mode: Mode = .parallel, default: Verdict.Decision = .allowed, override: String? = nil,
    isDryRun: Bool = false, slots: Int? = nil, parent: UInt64? = nil,
    progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws(TribuneError) -> Verdict {
    let fields = try Ask(deadline, mode, `default`, override, slots, parent, isDryRun ? .isDryRun : .none)
    return try await ask(fields, name, object, userInfo, progress).verdict
  }

  /// Asks for permission, and begins the action in the same step if the verdict is *allowed*.
  ///
  /// The bus lists the action while the action is under way. If a new hold would have vetoed the action, the
  /// bus tells the holder that the hold is too late (``Hold/late``).
  /// The parameters and errors are those of `ask`.
  ///
  /// - Returns: the verdict, and the action; the action is nil if the verdict is *vetoed*.
  public func begin(
    _ name: String, object: String = "", userInfo: UserInfo = .none, deadline: Duration? = nil,
    mode: Mode = .parallel, default: Verdict.Decision = .allowed, override: String? = nil,
    slots: Int? = nil, parent: UInt64? = nil, progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws(TribuneError) -> (verdict: Verdict, action: Action?) {
    let fields = try Ask(deadline, mode, `default`, override, slots, parent, .begins)
    let (verdict, serial) = try await ask(fields, name, object, userInfo, progress)
    let action = Action(
      query: verdict.query, key: ActionKey(name: name, object: object), serial: serial, connection: self)
    return (verdict, verdict.isAllowed ? action : nil)
  }

  /// Asks delegates for a value, one after the other, until one of them gives a value.
  ///
  /// The bus asks the object's delegates and the delegates attached without an object. Without any value,
  /// ``QueryReply/value`` is nil, and ``QueryReply/outcomes`` has the outcome of each delegate.
  /// Holds do not affect value queries. Cancelling the task cancels the query.
  ///
  /// The parameters are those of `ask`. An example of a name is `browser.numberOfRows`.
  ///
  /// - Throws: `invalidName`, `reservedName`, `invalidObject`, `payloadTooLong`, `limitExceeded`,
  ///   `recursion`, `unknownName`, `invalidParameter`, and any other refusal of the bus.
  public func query(
    _ name: String, object: String = "", userInfo: UserInfo = .none, deadline: Duration? = nil,
    parent: UInt64? = nil, progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws(TribuneError) -> QueryReply {
    try await ask(.first, name, object, userInfo, deadline, parent, progress)
  }

  /// Asks delegates for values, all at once, and collects every value.
  ///
  /// The bus asks the object's delegates and the delegates attached without an object. The parameters and
  /// errors are those of ``query(_:object:userInfo:deadline:parent:progress:)``.
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
    let (serial, response) = try await link.request(
      fields, message, isTakenBack: true, as: .query(progress: progress, beginning: beginning))
    guard case .verdict(let verdict) = response else {
      preconditionFailure("a query ended without a verdict")
    }
    return (verdict, serial)
  }
}

extension Ask {
  fileprivate init(
    _ deadline: Duration?, _ mode: Mode, _ default: Verdict.Decision, _ override: String?, _ slots: Int?,
    _ parent: UInt64?, _ flags: QueryFlags
  ) throws(TribuneError) {
    if let override, override.isBlank { throw TribuneError(.refused, "an override needs a reason") }
    if let slots, slots < 1 { throw TribuneError(.refused, "an action needs at least one slot") }
    self.init(
      deadline: Checked.milliseconds(deadline), mode: mode.wire, fallback: `default`.wire,
      parent: parent ?? 0, flags: override == nil ? flags : flags.union(.overrides),
      overrideReason: override?.prefix(utf8Length: WireLimits.reasonLength) ?? "",
      slots: slots.map { UInt32(clamping: $0) } ?? 0)
  }
}
