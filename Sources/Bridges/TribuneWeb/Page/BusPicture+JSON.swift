// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

/// The JSON has times instead of ages, so it stays the same while the bus does not change.
nonisolated extension BusPicture {
  private static let rowsMax = 1_000
  private static let rowBytesMax = 1 << 20
  private static let waitsMax = 16

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
        ("actions", .integer(status.actions)),
        ("queries", .integer(status.queries)), ("posted", .integer(status.posted)),
        ("delivered", .integer(status.delivered)), ("lost", .integer(status.lost)),
        ("asked", .integer(status.asked)), ("vetoed", .integer(status.vetoed)),
        ("denied", .integer(status.denied)),
      ]
    }
    return .object(members)
  }

  package func queriesJSON(at now: UInt64) -> [UInt8] {
    Self.rows(queries) { query in
      let awaited = query.participants.filter(\.isAwaited)
      let waits = awaited.prefix(Self.waitsMax).map { participant in
        JSONValue.object([
          ("label", .string(participant.label)), ("process", .string(participant.process)),
          ("pid", .integer(Int(participant.pid))),
          ("unit", .string(participant.units.primary)), ("queued", .bool(participant.state == .queued)),
        ])
      }
      // If not all participants fit, the bus prefers those for which the query waits. So if the query waits
      // for all listed ones with a connection, it may also wait for omitted ones.
      let isFull = query.participants.allSatisfy { $0.isAwaited || $0.connection == nil }
      let asker = Who(
        connection: query.connection, pid: Int(query.pid), uid: Int(query.uid), process: query.process,
        unit: query.units.primary)
      return [
        ("name", .string(query.name)), ("object", .string(query.object)), ("asker", asker.json),
        ("since", .second(now, before: query.age)), ("until", .second(now, before: .zero - query.remaining)),
        ("waits", .array(waits)),
        ("waitsOmitted", .integer(awaited.count - waits.count + (isFull ? query.omittedCount : 0))),
      ]
    }
  }

  package func holdsJSON(at now: UInt64) -> [UInt8] {
    Self.rows(holds) { hold in
      [
        ("id", .unsigned(hold.id)), ("label", .string(hold.label)), ("pattern", .string(hold.pattern)),
        ("object", .string(hold.object)), ("why", .string(hold.why)),
        ("who", Who(hold).json), ("since", .second(now, before: hold.age)),
        ("until", hold.expiresIn.map { .second(now, before: .zero - $0) } ?? .null),
      ]
    }
  }

  var delegatesJSON: [UInt8] {
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

  func connectionsJSON(at now: UInt64) -> [UInt8] {
    Self.rows(connections) { connection in
      [
        ("who", Who(connection).json), ("since", .second(now, before: connection.age)),
        ("observations", .integer(connection.observations)), ("delegates", .integer(connection.delegates)),
        ("queries", .integer(connection.queries)), ("posted", .integer(connection.posted)),
        ("lost", .integer(connection.lost)), ("queued", .integer(connection.queuedBytes)),
        ("buffered", .integer(connection.bufferedBytes)), ("paused", .bool(connection.isPaused)),
        ("lossy", .bool(connection.isLossy)), ("suspended", .bool(connection.isSuspended)),
      ]
    }
  }

  private static func rows<Row>(
    _ rows: [Row], _ members: (Row) -> [(name: String, value: JSONValue)]
  ) -> [UInt8] {
    var output = Array("{\"rows\":[".utf8)
    var count = 0
    for row in rows.prefix(rowsMax) {
      let json = JSONValue.object(members(row)).compactBytes
      guard output.count + json.count <= rowBytesMax else { break }
      if count > 0 { output.append(UInt8(ascii: ",")) }
      output += json
      count += 1
    }
    return output + Array("],\"omitted\":\(rows.count - count)}".utf8)
  }
}

nonisolated extension JSONValue {
  /// `now` is in microseconds. The result is rounded to seconds, so later calls for the same event give the
  /// same result.
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
