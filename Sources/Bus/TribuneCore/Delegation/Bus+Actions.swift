// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
package import TribuneWire

/// Actions under way. If an ask has the flag `begins` and its verdict is *allowed*, the bus registers the
/// action together with the verdict. So a hold or delegate cannot come between the verdict and the action.
extension Bus {
  /// - Returns: the new id of the action; nil if an existing action moves to this connection.
  mutating func begin(_ frame: FrameView, from slot: ConnectionSlot, at now: Instant) throws(WireError)
    -> QueryID?
  {
    let fields = try frame.decode(Begin.self)
    let serial = frame.header.serial
    try frame.name.requireUnreservedName()
    let name = try frame.pattern()
    guard name.isLiteral else { throw WireError(.invalidName, "\"\(name.text)\" is a pattern, not a name") }
    try frame.object.requireOneObject()
    let object = frame.object.byteCount == 0 ? nil : ExactText(String(repairing: frame.object))
    try requireFresh(serial, from: slot)
    try requirePermission(.ask, on: [name], object: object?.text ?? "", from: slot)
    if fields.stage == .claiming {
      try requirePermission(.claim, on: [name], object: object?.text ?? "", from: slot)
    }
    try requirePermissionToAct(name.text, object: object?.text ?? "", from: slot)
    let length = ActionRegistration.rememberedLength(keyLength: frame.name.byteCount + frame.object.byteCount)
    try requireCapacity(toRemember: length, from: slot)
    guard fields.stage != .asked else { throw WireError(.invalidValue, "a query begins with an ask") }
    guard fields.stage == .underWay || fields.query.rawValue == 0 else {
      throw WireError(.invalidValue, "an action that waits has not begun, so it cannot move")
    }
    var before: ActionRegistration?
    if fields.query.rawValue != 0 {
      let user = connections[slot].peer.uid
      guard let action = actions[fields.query], action.isUnderWay, action.peer.uid == user,
        action.name == name, action.object == object
      else {
        throw WireError(.notFound, "no such action \(fields.query.rawValue) of user \(user) is under way")
      }
      before = action
    }
    try requireActionCapacity(from: slot, beside: before == nil ? 0 : 1)
    let id = before?.id ?? QueryID(rawValue: ids.queries.next())
    // An action without `before` began at an unknown time, so each matching hold counts as too late.
    let last = fields.stage == .underWay ? before?.lastDelegate.rawValue ?? 0 : ids.delegates.last
    let action = ActionRegistration(
      id: id, connection: connections[slot].id, peer: connections[slot].peer, slot: slot, serial: serial,
      name: name, object: object, began: before?.began ?? now,
      lastDelegate: DelegateID(rawValue: last), stage: fields.stage)
    if let before {
      forget(before)
      add(action, beside: [])
      emit(.okay(slot, serial, Okay(registration: serial)))
      return nil
    }
    let key = frame.bytes.extracting(frame.header.nameStart..<frame.header.payloadStart)
    let holds = holds.against(key, nameLength: frame.header.nameLength)
    add(action, beside: holds)
    emit(.okay(slot, serial, Okay(registration: serial)))
    guard action.isUnderWay else { return id }
    for hold in holds where hold.lateCount == 1 {
      emit(.late(hold.slot, hold.serial, Late(delegate: hold.identity.id, actions: 1)))
    }
    announce(.didBegin(action.entry(at: now)))
    return id
  }

  /// Throws unless the policy allows the connection to post the *will* of the action. Permission to ask
  /// is not enough to begin an action, because clients that hold too late wait for the action's end.
  func requirePermissionToAct(_ name: String, object: String, from slot: ConnectionSlot) throws(WireError) {
    guard let will = NameSyntax.will(forQuestion: name) else {
      throw neverAsked(name, .invalidName)
    }
    try requirePermission(.post, on: [Pattern(accepted: will)], object: object, from: slot)
  }

  /// Throws if a limit forbids another action. Actions have their own limit, because at the end of each
  /// action, the bus examines all holds that came too late for any action.
  mutating func requireActionCapacity(from slot: ConnectionSlot, beside moved: Int = 0) throws(WireError) {
    let account = connections[slot].account
    guard
      restoring.isReplaying || account.isPrivileged
        || actions.count(of: account.uid) - moved < BusLimits.actionsMax
    else {
      throw WireError(limit: "\(BusLimits.actionsMax) actions under way of a user (tribunectl actions)")
    }
    try accounts.require(1, of: .registrations, for: connections[slot].account)
    try requireRequestCapacity(from: slot)
  }

  /// Begins the action of a query that has ended. The verdict must be *allowed*.
  mutating func beginAction(of id: QueryID, _ asker: Query.Asker, _ tail: QueryTail, at now: Instant) {
    let object = tail.objectText
    let claim = claim(of: asker.id, on: tail.key, nameLength: tail.nameLength)
    let action = ActionRegistration(
      id: id, connection: asker.id, peer: asker.peer, slot: asker.slot, serial: asker.serial,
      name: Pattern(accepted: tail.nameText), object: object.isEmpty ? nil : ExactText(object), began: now,
      lastDelegate: claim?.lastDelegate ?? DelegateID(rawValue: ids.delegates.last))
    add(action, beside: claim == nil ? [] : holds.against(tail.key, nameLength: tail.nameLength))
    announce(.didBegin(action.entry(at: now)))
  }

  private mutating func add(_ action: ActionRegistration, beside holds: [HoldRegistration]) {
    actions.insert(action, beside: holds)
    register(action)
  }

  private mutating func register(_ action: ActionRegistration) {
    let slot = action.slot
    connections[slot].actions[action.serial] = action
    connections[slot].registeredLengths[action.serial] = action.rememberedLength
    accounts.charge(action.rememberedLength, of: .log, to: connections[slot].account)
    accounts.charge(1, of: .registrations, to: connections[slot].account)
    guard connections[slot].isDetached else { return }
    connections[slot].account.charges.detached[.log] += action.rememberedLength
    connections[slot].account.charges.detached[.registrations] += 1
  }

  /// Removes the action from its connection, but does not end it: the action may move to another connection.
  private mutating func forget(_ action: ActionRegistration) {
    connections[action.slot].actions[action.serial] = nil
    releaseCharge(of: action.serial, from: action.slot)
  }

  mutating func end(_ action: ActionRegistration, at now: Instant) {
    forget(action)
    leave(action, at: now)
  }

  /// Every action ends in this method.
  mutating func leave(_ action: ActionRegistration, at now: Instant) {
    for hold in actions.remove(action) {
      emit(.late(hold.slot, hold.serial, Late(delegate: hold.identity.id, actions: 0)))
    }
    let entry = action.entry(at: now)
    announce(action.isUnderWay ? .didEnd(entry) : .didStopWaiting(entry))
  }

  // MARK: Slots

  /// The vetoes of the actions with the query's name and object, if they fill all slots together with those
  /// that wait for a slot and came before the asker's connection. An action without an object is about every
  /// object, as is a query without one. 0 slots stand for any number.
  func standingActions(
    in slots: UInt32, against key: RawSpan, nameLength: Int, from asker: ConnectionID, at now: Instant
  ) -> Standing {
    if slots == 0 { return Standing() }
    let (name, object) = subject(of: key, nameLength)
    let under = actions.met(by: name, object) + actions.waiting(for: name, object, before: asker)
    guard under.count >= slots else { return Standing() }
    var budget = OutcomeBudget(limits)
    let listed = under.prefix { budget.admit($0.rememberedLength) }
    return Standing(
      outcomes: listed.map { $0.outcome(at: now) }, omittedHolds: under.count - listed.count)
  }

  /// The asker's claim on the query's name and object. Holds that are too late for it do not veto the query.
  func claim(of asker: ConnectionID, on key: RawSpan, nameLength: Int) -> ActionRegistration? {
    if actions.hasNoLine { return nil }
    let (name, object) = subject(of: key, nameLength)
    return actions.claim(of: asker, on: name, object)
  }

  private func subject(of key: RawSpan, _ nameLength: Int) -> (name: Pattern, object: ExactText?) {
    let object = String(repairing: key.extracting(droppingFirst: nameLength))
    return (
      Pattern(accepted: String(repairing: key.extracting(first: nameLength))),
      object.isEmpty ? nil : ExactText(object)
    )
  }

  // MARK: Restarts

  func append(_ action: ActionRegistration, to buffer: ByteBuffer) {
    buffer.append(action.id.rawValue)
    buffer.append(action.connection.rawValue)
    buffer.append(action.serial)
    buffer.append(action.began.nanoseconds)
    buffer.append(action.lastDelegate.rawValue)
    buffer.appendField(action.name.text)
    buffer.appendField(action.objectText)
    buffer.append(action.stage.rawValue)
  }

  /// Restores an action from the log. If this method throws, the bus is unchanged.
  package mutating func restoreAction(_ fields: RawSpan) throws(WireError) {
    var reader = FieldReader(fields)
    let id = QueryID(rawValue: try reader.integer())
    let connection = ConnectionID(rawValue: try reader.integer())
    let serial: Serial = try reader.integer()
    let began = Instant(nanoseconds: try reader.integer())
    let lastDelegate = DelegateID(rawValue: try reader.integer())
    let name = try Pattern(try reader.text())
    guard name.isLiteral else { throw WireError(.invalidName, "an action has the name of a question") }
    let object = try reader.text()
    try object.utf8Bytes.requireOneObject()
    guard let stage = ActionStage(rawValue: try reader.integer()), stage != .asked else {
      throw WireError(.invalidValue, "an action is under way, or waits")
    }
    try requireValidID(id.rawValue)
    guard actions[id] == nil else {
      throw WireError(.duplicateSerial, "action \(id.rawValue) is already under way")
    }
    guard let slot = connections[connection] else {
      throw WireError(.notFound, "\(connection), of action \(id.rawValue), is not connected")
    }
    try requireFresh(serial, from: slot)
    raiseHighest(query: id.rawValue)
    let action = ActionRegistration(
      id: id, connection: connection, peer: connections[slot].peer, slot: slot, serial: serial, name: name,
      object: object.isEmpty ? nil : ExactText(object), began: began, lastDelegate: lastDelegate,
      stage: stage)
    let key = name.text + object
    add(action, beside: holds.against(key.utf8Bytes, nameLength: name.text.utf8.count))
  }

  // MARK: Lists

  func actionEntries(
    of connection: Connection, for slot: ConnectionSlot?, at now: Instant
  ) -> [QueryEntry] {
    connection.actions.values.sorted { $0.id < $1.id }
      .filter { mayList($0.name, object: $0.objectText, of: connection.id, for: slot) }
      .map { $0.entry(at: now) }
  }
}
