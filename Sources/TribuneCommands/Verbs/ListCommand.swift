// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

/// `list`.
struct ListCommand: Command {
  /// Whether to list retained notifications instead of connections.
  private let listsRetained: Bool

  init(_ invocation: Invocation) throws(CommandError) { listsRetained = invocation.has(.retained) }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    if listsRetained { try await listRetained(in: context) } else { try await listConnections(in: context) }
    return ExitStatus.success
  }

  private func listRetained(in context: Context) async throws(CommandError) {
    let retained = try await context.request { connection throws(TribuneError) in
      try await connection.retained()
    }
    if context.json != .off {
      for notification in retained { try context.print(notification.json) }
      return
    }
    var table = Table([
      Table.Column(title: "NAME"), Table.Column(title: "OBJECT"),
      Table.Column(title: "BYTES", isNumeric: true),
      Table.Column(title: "AGE", isNumeric: true), Table.Column(title: "CONNECTION", isNumeric: true),
      Table.Column(title: "UID", isNumeric: true),
    ])
    for notification in retained {
      table.append([
        Table.Cell(text: notification.name, style: .bold), Table.Cell(text: notification.object),
        Table.Cell(text: String(notification.byteCount)), Table.Cell(text: notification.age.inWords),
        Table.Cell(text: notification.connection), Table.Cell(text: String(notification.uid)),
      ])
    }
    if !retained.isEmpty { try context.print(table) }
    if context.showsLegend {
      try context.print(
        (retained.isEmpty ? "" : "\n") + "\(retained.count.counted("notification")) retained.")
    }
  }

  private func listConnections(in context: Context) async throws(CommandError) {
    let connections = try await context.request { connection throws(TribuneError) in
      try await connection.connections()
    }
    if context.json != .off {
      for connection in connections { try context.print(connection.json) }
      return
    }
    var table = Table([
      Table.Column(title: "CONNECTION", isNumeric: true), Table.Column(title: "PID", isNumeric: true),
      Table.Column(title: "PROCESS"), Table.Column(title: "UID", isNumeric: true),
      Table.Column(title: "UNIT"),
      Table.Column(title: "OBSERVATIONS", isNumeric: true), Table.Column(title: "DELEGATES", isNumeric: true),
      Table.Column(title: "QUERIES", isNumeric: true), Table.Column(title: "QUEUED", isNumeric: true),
      Table.Column(title: "LOST", isNumeric: true), Table.Column(title: "STATE"),
      Table.Column(title: "AGE", isNumeric: true),
    ])
    for connection in connections {
      table.append([
        Table.Cell(text: connection.id, style: .bold), Table.Cell(text: String(connection.pid)),
        Table.Cell(text: connection.process), Table.Cell(text: String(connection.uid)),
        Table.Cell(text: connection.unit), Table.Cell(text: String(connection.observations)),
        Table.Cell(text: String(connection.delegates)), Table.Cell(text: String(connection.queries)),
        Table.Cell(text: String(connection.queuedBytes)),
        Table.Cell(text: String(connection.lost)),
        Table.Cell(text: connection.state, style: connection.isLossy ? .red : .plain),
        Table.Cell(text: connection.age.inWords),
      ])
    }
    try context.print(table)
    if context.showsLegend { try context.print("\n\(connections.count.counted("connection")) listed.") }
  }
}

extension ConnectionInfo {
  /// The connection's exceptional states: paused, lossy, suspended, not surviving; empty for none.
  fileprivate var state: String {
    [
      (isPaused, "paused"), (isLossy, "lossy"), (isSuspended, "suspended"), (!isSurviving, "not surviving"),
    ].filter(\.0).map(\.1).joined(separator: ", ")
  }

  var json: JSONValue {
    .object([
      ("connection", .string(id)), ("pid", .integer(Int(pid))), ("uid", .integer(Int(uid))),
      ("gid", .integer(Int(gid))), ("process", .string(process)), ("unit", .string(unit)),
      ("age", .seconds(age)), ("observations", .integer(observations)), ("delegates", .integer(delegates)),
      ("queries", .integer(queries)), ("queuedBytes", .integer(queuedBytes)), ("lost", .integer(lost)),
      ("posted", .integer(posted)), ("paused", .bool(isPaused)), ("lossy", .bool(isLossy)),
      ("suspended", .bool(isSuspended)), ("heldBytes", .integer(heldBytes)),
      ("surviving", .bool(isSurviving)),
    ])
  }
}

extension RetainedInfo {
  var json: JSONValue {
    .object([
      ("name", .string(name)), ("object", .string(object)), ("bytes", .integer(byteCount)),
      ("age", .seconds(age)), ("connection", .string(connection)), ("uid", .integer(Int(uid))),
    ])
  }
}
