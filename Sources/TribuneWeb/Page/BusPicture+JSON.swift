// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

/// The sections of the page. Times are moments, so that a section that has not changed is the same.
nonisolated extension BusPicture {
  /// Rows that a section has at most; the page says how many more there are.
  static let rowsMax = 1_000

  func busJSON(at now: UInt64, verdictsLost: Int) -> JSONValue {
    var members: [(name: String, value: JSONValue)] = [
      ("connected", .bool(isConnected)), ("absence", absence.map { .string($0) } ?? .null),
      ("gaps", .array(gaps.map { .string($0) })), ("verdictsLost", .integer(verdictsLost)),
    ]
    if let status {
      members += [
        ("software", .string(status.software)), ("address", .string(status.address)),
        ("pid", .integer(Int(status.pid))),
        ("started", .second(now, before: status.uptime)),
        ("connections", .integer(status.connections)), ("observations", .integer(status.observations)),
        ("delegates", .integer(status.delegates)), ("holds", .integer(status.holds)),
        ("queries", .integer(status.queries)), ("posted", .integer(status.posted)),
        ("delivered", .integer(status.delivered)), ("lost", .integer(status.lost)),
        ("asked", .integer(status.asked)), ("vetoed", .integer(status.vetoed)),
        ("denied", .integer(status.denied)),
      ]
    }
    return .object(members)
  }

  func queriesJSON(at now: UInt64) -> JSONValue {
    Self.rows(queries) { query in
      let waits = query.participants.filter(\.isAwaited).map { participant in
        JSONValue.object([
          ("label", .string(participant.label)), ("process", .string(participant.process)),
          ("unit", .string(participant.units.primary)), ("queued", .bool(participant.state == .queued)),
        ])
      }
      let asker = Who(
        connection: query.connection, pid: Int(query.pid), uid: Int(query.uid), process: query.process,
        unit: query.units.primary)
      return [
        ("name", .string(query.name)), ("object", .string(query.object)), ("asker", asker.json),
        ("since", .second(now, before: query.age)), ("until", .second(now, before: .zero - query.remaining)),
        ("waits", .array(waits)),
      ]
    }
  }

  func holdsJSON(at now: UInt64) -> JSONValue {
    Self.rows(holds) { hold in
      [
        ("id", .unsigned(hold.id)), ("label", .string(hold.label)), ("pattern", .string(hold.pattern)),
        ("object", .string(hold.object)), ("why", .string(hold.why)),
        ("who", Who(hold).json), ("since", .second(now, before: hold.age)),
        ("until", hold.expiresIn.map { .second(now, before: .zero - $0) } ?? .null),
      ]
    }
  }

  /// In the order in which they are asked, object by object.
  var delegatesJSON: JSONValue {
    let ordered = delegates.sorted {
      $0.object != $1.object
        ? $0.object < $1.object : $0.order != $1.order ? $0.order < $1.order : $0.id < $1.id
    }
    return Self.rows(ordered) { delegate in
      [
        ("id", .unsigned(delegate.id)), ("label", .string(delegate.label)),
        ("object", .string(delegate.object)),
        ("order", .integer(Int(delegate.order))), ("patterns", .array(delegate.patterns.map { .string($0) })),
        ("onFailure", .string(delegate.failurePolicy.rawValue)), ("timeout", .seconds(delegate.timeout)),
        ("who", Who(delegate).json),
      ]
    }
  }

  func connectionsJSON(at now: UInt64) -> JSONValue {
    Self.rows(connections) { connection in
      [
        ("who", Who(connection).json), ("since", .second(now, before: connection.age)),
        ("observations", .integer(connection.observations)), ("delegates", .integer(connection.delegates)),
        ("queries", .integer(connection.queries)), ("posted", .integer(connection.posted)),
        ("lost", .integer(connection.lost)), ("queued", .integer(connection.queuedBytes)),
        ("buffered", .integer(connection.heldBytes)), ("paused", .bool(connection.isPaused)),
        ("lossy", .bool(connection.isLossy)), ("suspended", .bool(connection.isSuspended)),
      ]
    }
  }

  private static func rows<Row>(
    _ rows: [Row], _ members: (Row) -> [(name: String, value: JSONValue)]
  ) -> JSONValue {
    .object([
      ("rows", .array(rows.prefix(rowsMax).map { .object(members($0)) })),
      ("omitted", .integer(max(0, rows.count - rowsMax))),
    ])
  }
}

nonisolated extension JSONValue {
  /// The second since 1970 that is nearest to a moment, which is given in microseconds, less a span. It is the same whenever it
  /// is computed, as a rule.
  fileprivate static func second(_ now: UInt64, before span: Duration) -> JSONValue {
    .integer(Int(((Double(now) / 1e6) - span / .seconds(1)).rounded()))
  }
}

nonisolated extension Who {
  init(_ hold: HoldInfo) {
    self.init(
      connection: hold.connection, pid: Int(hold.pid), uid: Int(hold.uid), process: hold.process,
      unit: hold.unit)
  }

  init(_ delegate: DelegateInfo) {
    self.init(
      connection: delegate.connection, pid: Int(delegate.pid), uid: Int(delegate.uid),
      process: delegate.process,
      unit: delegate.unit)
  }
}
