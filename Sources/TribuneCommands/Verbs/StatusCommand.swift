// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

/// `status [CONNECTION]`.
struct StatusCommand: Command {
  /// `:N`; nil to show the bus.
  private let connection: String?

  init(_ invocation: Invocation) throws(CommandError) {
    guard let text = invocation.operands.first else {
      connection = nil
      return
    }
    guard let id = ConnectionID(text) else {
      throw .usage("\"\(text.terminalSafe)\" is not the id of a connection, such as :1 or 1")
    }
    connection = id.description
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    if let connection {
      try await showConnection(connection, in: context)
    } else {
      try await showBus(in: context)
    }
    return ExitStatus.success
  }

  private func showBus(in context: Context) async throws(CommandError) {
    let bus = try await context.request { connection throws(TribuneError) in try await connection.status() }
    let rows = [
      ("Address", bus.address), ("PID", String(bus.pid)), ("Software", bus.software),
      ("Uptime", bus.uptime.formatted), ("Connections", String(bus.connections)),
      ("Observations", String(bus.observations)), ("Delegates", String(bus.delegates)),
      ("Holds", String(bus.holds)),
      ("Queries", "\(bus.queries) under way, \(bus.asked) asked, \(bus.vetoed) vetoed"),
      ("Notifications", "\(bus.posted) posted, \(bus.delivered) delivered, \(bus.lost) lost"),
      ("Refused", "\(bus.denied) by the policy"),
    ]
    try context.write(labelled(rows), or: bus.json)
  }

  private func showConnection(_ id: String, in context: Context) async throws(CommandError) {
    let (connections, allObservations, allDelegates, allHolds) = try await context.request {
      bus throws(TribuneError) -> ([ConnectionInfo], [ObservationInfo], [DelegateInfo], [HoldInfo]) in
      (
        try await bus.connections(), try await bus.observations(), try await bus.delegates(),
        try await bus.holds()
      )
    }
    guard let connection = connections.first(where: { $0.id == id }) else {
      throw .failure("there is no connection \(id)")
    }
    let observations = allObservations.filter { $0.connection == id }
    let delegates = allDelegates.filter { $0.connection == id }
    let holds = allHolds.filter { $0.connection == id }
    if context.json != .off {
      guard case .object(var members) = connection.json(holds: .array(holds.map(\.json))) else { return }
      members.removeAll { $0.name == "observations" || $0.name == "delegates" }
      members.append(("observations", .array(observations.map(\.json))))
      members.append(("delegates", .array(delegates.map(\.json))))
      return try context.print(.object(members))
    }
    var rows = [
      ("Connection", connection.id), ("PID", String(connection.pid)), ("Process", connection.process),
      ("UID", String(connection.uid)), ("GID", String(connection.gid)),
      ("Unit", connection.units.description),
      ("Age", connection.age.formatted), ("Queries", String(connection.queries)),
      ("Notifications", "\(connection.posted) posted, \(connection.lost) lost"),
      ("Queued", connection.queuedBytes.counted("byte")),
    ]
    if connection.isPaused { rows.append(("State", "paused, so that its observers can catch up")) }
    if connection.isLossy { rows.append(("State", "lossy: it does not read")) }
    if connection.isSuspended {
      rows.append(
        ("State", "suspended; \(connection.heldBytes.counted("byte is", "bytes are")) buffered for it"))
    }
    if !connection.isSurviving { rows.append(("State", "not surviving: a restart of the bus closes it")) }
    try context.write(labelled(rows))
    var observationTable = Table(["OBSERVES", "OBJECT", "WHEN SUSPENDED", "AWAITED"])
    for observation in observations {
      observationTable.append([
        observation.pattern.isEmpty ? "**" : observation.pattern,
        observation.object.isEmpty ? "any" : observation.object,
        observation.suspension.rawValue, observation.isAwaited ? "yes" : "no",
      ])
    }
    for table in [observationTable, Table(delegates: delegates), Table(holds: holds)] {
      let text = context.text(of: table)
      if !text.isEmpty { try context.write("\n" + text) }
    }
  }

  /// Lines with right-aligned labels.
  private func labelled(_ rows: [(label: String, value: String)]) -> String {
    let width = rows.map(\.label.count).max() ?? 0
    return rows.map { row in
      String(repeating: " ", count: width - row.label.count) + row.label + ": "
        + (row.value.isEmpty ? "-" : row.value.terminalSafe) + "\n"
    }.joined()
  }
}

extension BusStatus {
  fileprivate var json: JSONValue {
    .object([
      ("address", .string(address)), ("pid", .integer(Int(pid))), ("software", .string(software)),
      ("uptime", .seconds(uptime)), ("connections", .integer(connections)),
      ("observations", .integer(observations)), ("delegates", .integer(delegates)),
      ("holds", .integer(holds)),
      ("queries", .integer(queries)), ("posted", .integer(posted)), ("delivered", .integer(delivered)),
      ("lost", .integer(lost)), ("asked", .integer(asked)), ("vetoed", .integer(vetoed)),
      ("denied", .integer(denied)),
    ])
  }
}

extension ObservationInfo {
  fileprivate var json: JSONValue {
    .object([
      ("pattern", .string(pattern)), ("object", .string(object)),
      ("suspension", .string(suspension.rawValue)), ("awaited", .bool(isAwaited)),
    ])
  }
}
