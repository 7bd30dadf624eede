// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension Connection {
  /// The bus's status and counters.
  ///
  /// - Throws: `protocolViolation` if the bus does not report its status.
  public func status() async throws(TribuneError) -> BusStatus {
    for case .bus(let entry) in try await link.list(.bus) { return BusStatus(entry) }
    throw .violation("the bus reports no status")
  }

  /// The connections of the bus, including this one.
  public func connections() async throws(TribuneError) -> [ConnectionInfo] {
    try await link.list(.connections).compactMap {
      if case .connection(let entry) = $0 { ConnectionInfo(entry) } else { nil }
    }
  }

  /// This connection, as the bus sees it.
  ///
  /// - Throws: `protocolViolation` if the bus does not list this connection.
  public func own() async throws(TribuneError) -> ConnectionInfo {
    let list = List(.connections, connection: session.connection.rawValue)
    for case .connection(let entry) in try await link.list(list, name: "", object: "") {
      return ConnectionInfo(entry)
    }
    throw .violation("the bus does not list this connection")
  }

  /// The connections that ended in the last minute, at most the latest 1,024, in the order of their ends.
  /// After a restart, the bus begins with an empty list.
  public func departedConnections() async throws(TribuneError) -> [DepartedConnectionInfo] {
    try await link.list(.departed).compactMap {
      if case .departed(let entry) = $0 { DepartedConnectionInfo(entry) } else { nil }
    }
  }

  public func observations() async throws(TribuneError) -> [ObservationInfo] {
    try await link.list(.observations).compactMap {
      if case .observation(let entry) = $0 { ObservationInfo(entry) } else { nil }
    }
  }

  /// The retained notifications, sorted by name and object.
  public func retained() async throws(TribuneError) -> [RetainedInfo] {
    try await link.list(.retained).compactMap {
      if case .retained(let entry) = $0 { RetainedInfo(entry) } else { nil }
    }
  }

  public func delegates() async throws(TribuneError) -> [DelegateInfo] {
    try await link.list(.delegates).compactMap {
      if case .delegate(let entry) = $0 { DelegateInfo(entry) } else { nil }
    }
  }

  public func holds() async throws(TribuneError) -> [HoldInfo] {
    try await link.list(.holds).compactMap {
      if case .hold(let entry) = $0 { HoldInfo(entry) } else { nil }
    }
  }

  /// The objects that are declared or have delegates.
  public func objects() async throws(TribuneError) -> [ObjectInfo] {
    try await link.list(.objects).compactMap {
      if case .object(let entry) = $0 { ObjectInfo(entry) } else { nil }
    }
  }

  /// The users' quotas, sorted by user. If the policy does not let this connection list everything, the list
  /// has only the quotas of this connection's user.
  public func accounts() async throws(TribuneError) -> [AccountInfo] {
    try await link.list(.accounts).compactMap {
      if case .account(let entry) = $0 { AccountInfo(entry) } else { nil }
    }
  }

  /// The queries under way, the oldest first.
  public func queries() async throws(TribuneError) -> [QueryInfo] {
    try await link.list(.queries).compactMap {
      if case .query(let entry) = $0, entry.stage == .asked { QueryInfo(entry) } else { nil }
    }
  }

  /// The actions under way, the oldest first.
  ///
  /// - Parameter includesWaiting: true to list also the actions that clients wait to begin.
  public func actions(
    includingWaiting includesWaiting: Bool = false
  ) async throws(TribuneError) -> [ActionInfo] {
    try await link.list(.queries)
      .compactMap { if case .query(let entry) = $0 { ActionInfo(entry) } else { nil } }
      .filter { includesWaiting || $0.stage == .underWay }
      .sorted { $0.query < $1.query }
  }

  /// Statistics of the busiest 1,000 names, as far as the policy lets this connection list them. If the
  /// policy lets this connection list everything, the last entry covers all other names.
  public func nameStatistics() async throws(TribuneError) -> [NameStatistics] {
    try await link.list(.names).compactMap {
      if case .name(let entry) = $0 { NameStatistics(entry) } else { nil }
    }
  }

  /// The outcomes of the busiest 1,000 delegates and awaited observers, then one entry for all others. If the
  /// policy does not let this connection list everything, the list has only the delegates and observers of
  /// this connection's user.
  public func participantStatistics() async throws(TribuneError) -> [ParticipantStatistics] {
    try await link.list(.participants).compactMap {
      if case .participant(let entry) = $0 { ParticipantStatistics(entry) } else { nil }
    }
  }

  /// The activity of users' processes: one entry for each user and unit. The list has the busiest 1,000
  /// entries, then one for all others. If the policy does not let this connection list everything, the list
  /// has only the entries of this connection's user.
  public func userStatistics() async throws(TribuneError) -> [UserStatistics] {
    try await link.list(.users).compactMap {
      if case .user(let entry) = $0 { UserStatistics(entry) } else { nil }
    }
  }

  /// The last verdicts of a bus that does not write to a journal, the oldest first.
  ///
  /// The list has the verdicts on this user's queries, and the verdicts on names that the policy lets this
  /// connection list. The daemon keeps two groups: the verdicts on queries of root and of the user that runs
  /// the bus, and the verdicts on other users' queries. Each group has at most 1,000 verdicts and 4 MiB. In a
  /// full group, the user with the most verdicts loses the oldest. When the daemon starts, the list is empty.
  ///
  /// - Throws: `notFound` if the bus writes its verdicts to a journal.
  public func pastVerdicts() async throws(TribuneError) -> [PastVerdict] {
    try await link.list(.verdicts).compactMap {
      if case .verdict(let entry) = $0 { PastVerdict(entry) } else { nil }
    }
  }

  public func protocols() async throws(TribuneError) -> [ProtocolInfo] {
    try await link.list(.protocols).compactMap {
      if case .protocol(let entry) = $0 { ProtocolInfo(entry) } else { nil }
    }
  }

  /// The messages of a protocol, including inherited ones.
  ///
  /// - Parameter what: a declared object, or the name of a protocol.
  /// - Throws: `invalidObject`; `notFound` or `unknownProtocol` when `what` is unknown.
  public func introspect(_ what: String) async throws(TribuneError) -> [MemberInfo] {
    let what = try Checked.object(what)
    guard !what.isEmpty else {
      throw TribuneError(.invalidObject, "the name of the object or protocol is empty")
    }
    return try await link.list(.members, object: what).compactMap {
      if case .member(let entry) = $0 { MemberInfo(entry) } else { nil }
    }
  }

  /// Returns the matching holds, the matching actions under way, the missing required delegates, and the
  /// delegates that a query with this name and object would ask. The call itself asks no delegate.
  ///
  /// - Throws: `invalidName`, `invalidObject`.
  public func explain(_ name: String, object: String = "") async throws(TribuneError) -> Explanation {
    let name = try Checked.name(name)
    let object = try Checked.object(object)
    var explanation = Explanation()
    for entry in try await link.list(.chain, name: name, object: object) {
      switch entry {
      case .hold(let entry): explanation.holds.append(HoldInfo(entry))
      case .missing(let entry): explanation.missing.append(entry.name)
      case .query(let entry):
        if let action = ActionInfo(entry), action.stage == .underWay { explanation.actions.append(action) }
      case .delegate(let entry): explanation.delegates.append(DelegateInfo(entry))
      case .object(let entry):
        explanation.protocolName = entry.protocolName.isEmpty ? nil : entry.protocolName
      case .bus, .connection, .observation, .protocol, .member, .retained, .access, .nearMiss, .ending,
        .departed, .account, .name, .participant, .user, .verdict:
        continue
      }
    }
    return explanation
  }

  /// Asks how the policy decides about an action, and why.
  ///
  /// - Parameters:
  ///   - action: the action, such as `hold`; tribune-policy(5) lists all actions.
  ///   - pattern: the name of a message, or the pattern of a registration.
  ///   - object: the object. An empty object means a message without an object, or a registration for all
  ///     objects.
  ///   - subject: the subject about which the policy decides; nil for the subject of `connection`.
  ///   - connection: the id of a connection, such as `:7`; nil for this connection. The bus ignores the
  ///     connection if `subject` is not nil.
  /// - Throws: `invalidPattern`, `invalidObject`; `refused` for an unknown action, or for a pattern or object
  ///   that the action cannot have; `reservedName` for a message whose name starts with `tribune.`;
  ///   `notFound` if the connection is unknown, or hidden from this process.
  public func policyDecision(
    on action: String, _ pattern: String, object: String = "", subject: PolicySubject? = nil,
    connection: String? = nil
  ) async throws(TribuneError) -> PolicyDecision {
    let pattern = try Checked.pattern(pattern)
    let object = try Checked.object(object)
    var number: UInt64 = 0
    if let connection {
      guard let id = ConnectionID(connection) else {
        throw TribuneError(.notFound, "\"\(connection.escaped)\" is not the id of a connection")
      }
      number = id.rawValue
    }
    let question = AccessQuestion(action: action, subject: subject.map(AccessSubject.init))
    let entries = try await link.list(
      List(question, connection: number), name: pattern.text, object: object)
    var decision: PolicyDecision?
    for entry in entries {
      switch entry {
      case .access(let entry): decision = PolicyDecision(entry)
      case .nearMiss(let entry):
        decision?.nearMisses.append(
          PolicyDecision.NearMiss(line: PolicyDecision.Line(entry.line), lacks: entry.lacks))
      default: continue
      }
    }
    guard let decision else { throw .violation("the bus reports no decision") }
    return decision
  }
}
