// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
package import TribuneWire

/// Decides by the policy what each connection may do. A replay of the log after a restart skips these
/// decisions, because the log has only accepted frames. After the replay, the server calls `apply` with the
/// current policy, as at a reload.
extension Bus {
  // MARK: Messages

  /// - Parameter route: the index of the route (`NotificationCenter`) of the name and the object. This method
  ///   caches the decision in the route.
  @inline(__always) mutating func requirePermission(
    _ action: Action, on key: RawSpan, nameLength: Int, route: Int, from slot: ConnectionSlot
  ) throws(WireError) {
    let id = access.id(at: slot)
    guard id != Access.everythingID else { return }
    if let actions = center.actions(atRoute: route, for: id), actions.contains(action) { return }
    guard let permissions = deciding(at: slot) else { return }
    let actions = permissions.actions(with: key, nameLength: nameLength)
    center.remember(actions, atRoute: route, for: id)
    guard actions.contains(action) else { throw refusal(of: action, on: key, nameLength, permissions) }
  }

  /// - Parameter chain: the index of the chain (`DelegateChains`) of the name and the object. This method
  ///   caches the decision beside the chain.
  mutating func requirePermission(
    _ action: Action, on key: RawSpan, nameLength: Int, chain: Int, from slot: ConnectionSlot
  ) throws(WireError) {
    let id = access.id(at: slot)
    guard id != Access.everythingID else { return }
    if let actions = chains.actions(at: chain, for: id), actions.contains(action) { return }
    guard let permissions = deciding(at: slot) else { return }
    let actions = permissions.actions(with: key, nameLength: nameLength)
    chains.remember(actions, at: chain, for: id)
    guard actions.contains(action) else { throw refusal(of: action, on: key, nameLength, permissions) }
  }

  private func refusal(
    of action: Action, on key: RawSpan, _ nameLength: Int, _ permissions: Permissions
  ) -> WireError {
    let (name, object) = (key.extracting(first: nameLength), key.extracting(droppingFirst: nameLength))
    let denying = permissions.denyingLine(of: action, name, object)
    let about = object.byteCount == 0 ? "" : " for \"\(String(repairing: object).escaped)\""
    return refusal(
      of: "\(action.name) \(String(repairing: name))\(about)", permissions,
      denying.map { .denied(by: $0) } ?? .notAllowed)
  }

  // MARK: Registrations

  func requirePermission(
    _ action: Action, on patterns: [Pattern], object: String, from slot: ConnectionSlot
  ) throws(WireError) {
    guard let permissions = deciding(at: slot) else { return }
    if let refusal = refusal(of: action, patterns, object, permissions) { throw refusal }
  }

  private func refusal(
    of action: Action, _ patterns: [Pattern], _ object: String, _ permissions: Permissions
  ) -> WireError? {
    for pattern in patterns {
      let request = Request(action, pattern, object: object.isEmpty ? nil : object)
      let decision = permissions.decision(on: request)
      if !decision.isAllowed { return refusal(of: request.description, permissions, decision) }
    }
    return nil
  }

  /// The shortest `max=` of the lines that allow this subject to hold a part of the pattern.
  func permittedHoldMax(of pattern: Pattern, object: String?, from slot: ConnectionSlot) -> TimeSpan? {
    deciding(at: slot)?.holdMax(for: Request(.hold, pattern, object: object))
  }

  /// True if a `set` from this connection may replace the delegate. If the delegate belongs to another user,
  /// the policy must allow `set` on all patterns of the delegate.
  func mayReplace(_ delegate: DelegateRegistration, from slot: ConnectionSlot) -> Bool {
    guard let permissions = deciding(at: slot),
      connections[delegate.slot].peer.uid != connections[slot].peer.uid
    else { return true }
    return delegate.patterns.allSatisfy { pattern in
      permissions.decision(on: Request(.set, pattern, object: delegate.objectFilter)).isAllowed
    }
  }

  // MARK: Lists

  /// - Parameter object: nil for any object; empty for no object.
  func mayList(
    _ pattern: Pattern, object: String?, of other: ConnectionID, for slot: ConnectionSlot?
  ) -> Bool {
    !listable([pattern], object: object, of: other, for: slot).isEmpty
  }

  private func listable(
    _ patterns: [Pattern], object: String?, of other: ConnectionID, for slot: ConnectionSlot?
  ) -> [Pattern] {
    guard let slot, let permissions = deciding(at: slot), other != connections[slot].id else {
      return patterns
    }
    return patterns.filter { pattern in
      permissions.decision(on: Request(.list, pattern, object: object)).isAllowed
    }
  }

  func mayFollow(_ pattern: Pattern, object: String?, from slot: ConnectionSlot) -> Bool {
    deciding(at: slot)?.mayFollow(pattern, object: object) ?? true
  }

  /// Omits patterns that the connection has no permission to see. Returns nil if all patterns are omitted.
  package func listableEntry(of delegate: DelegateRegistration, for slot: ConnectionSlot?) -> DelegateEntry? {
    let patterns = listable(
      delegate.patterns, object: delegate.objectFilter, of: delegate.connection, for: slot)
    guard !patterns.isEmpty else { return nil }
    var entry = delegate.entry
    if patterns.count < delegate.patterns.count { entry.patterns = patterns.map(\.text) }
    return entry
  }

  /// The patterns by which `retainedNotifications` searches. They match the names of all retained
  /// notifications that the connection may list. nil if the search must include all names.
  func patternsOfListable(at slot: ConnectionSlot) -> Set<Pattern>? {
    deciding(at: slot)?.listablePatterns
  }

  package func visibleUsers(for slot: ConnectionSlot) -> VisibleUsers {
    guard let permissions = deciding(at: slot), !permissions.decision(on: .listAll).isAllowed else {
      return .all
    }
    return .only(connections[slot].peer.uid)
  }

  /// Throws unless the connection may list everything. Lists of objects and of protocols need this
  /// permission, because their entries have no message name that the policy could match.
  package func requirePermissionToListAll(from slot: ConnectionSlot) throws(WireError) {
    guard let permissions = deciding(at: slot) else { return }
    let decision = permissions.decision(on: .listAll)
    if !decision.isAllowed { throw refusal(of: Request.listAll.description, permissions, decision) }
  }

  // MARK: Announcements

  /// The receivers that may learn of a hold or an action: the connection `owner`, and connections that may
  /// list or ask a name that `pattern` matches.
  package mutating func followers(
    of pattern: String, object: String, by owner: ConnectionID, among receivers: [Receiver]
  ) -> [Receiver] {
    audiences(of: [Pattern(accepted: pattern)], object: object, by: owner, among: receivers)
      .first?.receivers ?? []
  }

  /// The receivers that may learn of a delegate, grouped by the patterns that they see. The delegate's
  /// connection sees all patterns. Others see the patterns that match a name which they may list or ask.
  package mutating func followers(
    of delegate: DelegateRegistration, among receivers: [Receiver]
  ) -> [(entry: DelegateEntry, receivers: [Receiver])] {
    audiences(
      of: delegate.patterns, object: delegate.object, by: delegate.connection, among: receivers
    ).map { patterns, receivers in
      var entry = delegate.entry
      entry.patterns = patterns.map(\.text)
      return (entry, receivers)
    }
  }

  private func audiences(
    of patterns: [Pattern], object: String, by owner: ConnectionID, among receivers: [Receiver]
  ) -> [(patterns: [Pattern], receivers: [Receiver])] {
    let object = object.isEmpty ? nil : object
    // The key is the id of the permissions, which all connections of a subject share.
    var visible: [UInt64: [Pattern]] = [:]
    var audiences: [(patterns: [Pattern], receivers: [Receiver])] = []
    for receiver in receivers {
      var seen = patterns
      if let permissions = deciding(at: receiver.slot), owner != connections[receiver.slot].id {
        seen =
          visible[permissions.id] ?? patterns.filter { permissions.mayFollow($0, object: object) }
        visible[permissions.id] = seen
      }
      if let place = audiences.firstIndex(where: { $0.patterns == seen }) {
        audiences[place].receivers.append(receiver)
      } else if !seen.isEmpty {
        audiences.append((seen, [receiver]))
      }
    }
    return audiences
  }

  // MARK: Groups

  package var groupsInPolicy: [UInt32] { access.namedGroups }

  // MARK: Changing

  /// Applies new rules. Ends registrations that the rules do not allow. Drops buffered notifications that the
  /// receiver may no longer observe. Forgets retained notifications that the poster's user may no longer
  /// retain. A delegate that this method ends is `gone` in its open queries.
  package mutating func apply(_ rules: AccessRules, at now: Instant) {
    let slots = connections.takenSlots
    access.change(to: rules, subjects: slots.map { ($0, connections[$0].subject) })
    center.invalidateRoutes()
    var ended: [(registration: RegistrationPlace, why: String)] = []
    for slot in slots {
      guard let permissions = access.permissions(at: slot) else { continue }
      ended += refused(at: slot, by: permissions).map { (RegistrationPlace(slot, $0), $1.message) }
      filterBuffered(for: slot)
    }
    if !ended.isEmpty {
      emit(.noLongerPermitted(ended))
      endRegistrations(ended.map(\.registration), at: now)
    }
    for kept in retained.all {
      let (name, object) = (kept.tail.nameText, kept.tail.objectText)
      guard !access.mayRetain(name, object, user: kept.uid) else { continue }
      forgetRetained(name: name, object: object)
    }
  }

  mutating func filterBuffered(for slot: ConnectionSlot) {
    guard let permissions = access.permissions(at: slot), let before = connections[slot].buffered?.byteCount
    else { return }
    let isChanged = connections[slot].buffered?.remove { name, object in
      !permissions.actions(with: name, object).contains(.observe)
    }
    guard isChanged == true else { return }
    countBuffered((connections[slot].buffered?.byteCount ?? 0) - before, for: slot)
    suspensions.slots.append(slot)
  }

  /// The registrations that `apply` would end under these rules. Throws unless the connection at `slot` has
  /// permission to monitor everything.
  package mutating func endings(
    by rules: AccessRules, for slot: ConnectionSlot
  ) throws(WireError) -> [EndingEntry] {
    try requirePermission(.monitor, on: [.any], object: "", from: slot)
    var other = Access(rules)
    var endings: [EndingEntry] = []
    for slot in connections.takenSlots {
      guard let permissions = other.permissionsOf(connections[slot].subject) else { continue }
      let (id, peer) = (connections[slot].id, connections[slot].peer)
      for (_, error) in refused(at: slot, by: permissions) {
        endings.append(EndingEntry(connection: id, peer: peer, why: error.message))
      }
    }
    return endings
  }

  private func refused(at slot: ConnectionSlot, by permissions: Permissions) -> [(Serial, WireError)] {
    let connection = connections[slot]
    var refused: [(Serial, WireError)] = []
    func check(_ serial: Serial, _ action: Action, _ patterns: [Pattern], _ object: String) {
      if let error = refusal(of: action, patterns, object, permissions) { refused.append((serial, error)) }
    }
    for (serial, one) in connection.observations.entries {
      check(serial, .observe, [one.pattern], one.object ?? "")
    }
    for (serial, one) in connection.monitors { check(serial, .monitor, [one.pattern ?? .any], "") }
    for (serial, one) in connection.delegates { check(serial, .delegate, one.patterns, one.object) }
    for (serial, one) in connection.holds { check(serial, .hold, [one.pattern], one.object ?? "") }
    for (serial, one) in connection.declarations { check(serial, .declare, [.any], one.objectToPermit) }
    return refused.sorted { $0.0 < $1.0 }
  }

  // MARK: Deciding

  /// The permissions to check. nil if the connection may do everything, and during a replay.
  private func deciding(at slot: ConnectionSlot) -> Permissions? {
    restoring.isReplaying ? nil : access.permissions(at: slot)
  }

  private func refusal(of what: String, _ permissions: Permissions, _ decision: Policy.Decision) -> WireError
  {
    let reason = permissions.policy.reason(of: decision)
    return WireError(.notPermitted, "\(permissions.subject.description) may not \(what): \(reason)")
  }
}

package enum VisibleUsers {
  case all
  case only(UInt32)

  package func contains(_ user: UInt32?) -> Bool {
    switch self {
    case .all: true
    case .only(let visible): user == visible
    }
  }
}
