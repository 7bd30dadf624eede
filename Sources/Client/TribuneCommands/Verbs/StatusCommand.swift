// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

struct StatusCommand: Command {
  /// The connection's id, such as `:3`; nil to show the bus.
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
    let snapshot = try await context.request { connection throws(TribuneError) in
      try await BusSnapshot(of: connection, .names, .participants, .queries)
    }
    let bus = snapshot.status
    var rows: [(label: String, value: String)] = [
      ("Address", bus.address), ("PID", String(bus.pid)), ("Software", bus.software),
      ("Uptime", "\(bus.uptime.formatted), counting since then"), ("Connections", String(bus.connections)),
      ("Observations", String(bus.observations)), ("Delegates", String(bus.delegates)),
      ("Holds", String(bus.holds)), ("Actions", "\(bus.actions) under way"),
      ("Queries", "\(bus.queries) under way, \(bus.asked) asked, \(bus.vetoed) vetoed"),
      ("Notifications", "\(bus.posted) posted, \(bus.delivered) delivered, \(bus.lost) lost"),
      ("Refused", "\(bus.denied) by the policy, \(bus.refused) for other reasons"),
    ]
    rows += bus.loadRows + Self.rows(of: snapshot)
    try context.write(labelled(rows), or: bus.json)
  }

  private func showConnection(_ id: String, in context: Context) async throws(CommandError) {
    let (connections, departed, allObservations, allDelegates, allHolds, allActions) =
      try await context.request {
        bus throws(TribuneError) -> (
          [ConnectionInfo], [DepartedConnectionInfo], [ObservationInfo], [DelegateInfo], [HoldInfo],
          [ActionInfo]
        ) in
        let connections = try await bus.connections()
        if connections.contains(where: { $0.id == id }) {
          return (
            connections, [], try await bus.observations(), try await bus.delegates(), try await bus.holds(),
            try await bus.actions()
          )
        }
        return (connections, try await bus.departedConnections(), [], [], [], [])
      }
    guard let connection = connections.first(where: { $0.id == id }) else {
      guard let connection = departed.first(where: { $0.id == id }) else {
        throw .failure("there is no connection \(id)")
      }
      try context.write(labelled(connection.rows), or: connection.json)
      throw .failure("there is no connection \(id) any more")
    }
    let observations = allObservations.filter { $0.connection == id }
    let delegates = allDelegates.filter { $0.connection == id }
    let holds = allHolds.filter { $0.connection == id }
    let actions = allActions.filter { $0.connection == id }
    if context.writesValues {
      let json = connection.json(holds: .array(holds.map(\.json)), actions: .array(actions.map(\.json)))
      guard case .object(var members) = json else { return }
      members.removeAll { $0.name == "observations" || $0.name == "delegates" }
      members += [
        ("observations", .array(observations.map(\.json))), ("delegates", .array(delegates.map(\.json))),
      ]
      return try context.print(.object(members))
    }
    var rows: [(label: String, value: String)] = [
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
      let held = connection.bufferedBytes.counted("byte is", "bytes are")
      let coalesced = connection.coalesced.counted("notification")
      rows.append(("State", "suspended; \(held) buffered for it, \(coalesced) coalesced"))
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
    let registered = [observationTable, Table(delegates: delegates), Table(holds: holds)]
    for table in registered + [Table(actions: actions)] {
      let text = try context.text(of: table)
      if !text.isEmpty { try context.write("\n" + text) }
    }
  }

  private static func rows(of snapshot: BusSnapshot) -> [(label: String, value: String)] {
    var rows: [(label: String, value: String)] = []
    var verdicts = DurationHistogram()
    for name in snapshot.names { verdicts.add(name.durations) }
    if let text = verdicts.summary { rows.append(("Verdicts", text)) }
    let slowest = snapshot.participants.filter { $0.role == .delegate && $0.uid != nil }
      .max { ($0.durations.quantile(0.99) ?? .zero) < ($1.durations.quantile(0.99) ?? .zero) }
    if let slowest, let text = slowest.durations.summary {
      rows.append(("Slowest", "\(slowest.identity): \(text)"))
    }
    if let oldest = snapshot.queries.first(where: { $0.participants.contains(where: \.isAwaited) }) {
      let awaited = oldest.participants.filter(\.isAwaited).map(\.identity)
      let more = awaited.count > 5 ? ", and others" : ""
      let names = awaited.prefix(5).joined(separator: ", ") + more
      rows.append(("Waiting", "\(oldest.name), for \(oldest.age.formatted), for \(names)"))
    }
    return rows
  }

  private func labelled(_ rows: [(label: String, value: String)]) -> String {
    let width = rows.map(\.label.count).max() ?? 0
    return rows.map { row in
      String(repeating: " ", count: width - row.label.count) + row.label + ": "
        + (row.value.isEmpty ? "-" : row.value.terminalSafe) + "\n"
    }.joined()
  }
}

extension DurationHistogram {
  fileprivate var summary: String? {
    guard let median = quantile(0.5), let most = quantile(0.99) else { return nil }
    return "median \(median.formatted), 99 % within \(most.formatted), longest \(longest.formatted)"
  }
}

extension ParticipantStatistics {
  fileprivate var identity: String { identityText(label, unit) ?? "user:\(uid ?? 0)" }
}

extension QueryInfo.Participant {
  fileprivate var identity: String { identityText(label, units.primary) ?? "\(process) \(pid)" }
}

/// The label is in quotation marks, because any process can claim any label.
private func identityText(_ label: String, _ unit: String) -> String? {
  let parts = [label.isEmpty ? "" : "\"\(label)\"", unit].filter { !$0.isEmpty }
  return parts.isEmpty ? nil : parts.joined(separator: " of ")
}

extension BusStatus {
  fileprivate var loadRows: [(label: String, value: String)] {
    let part = uptime > .zero ? busy / uptime : 0
    let percent = Int((part * 1000).rounded())
    return [
      (
        "Load",
        "busy \(percent / 10).\(percent % 10) % of the time, longest iteration \(longestIteration.formatted) lately"
      ),
      ("Log", "\(logUsed) of \(logMax) bytes used"), ("Keeper", "\(kept.counted("descriptor"))"),
    ]
  }

  fileprivate var json: JSONValue {
    .object([
      ("address", .string(address)), ("pid", .integer(Int(pid))), ("software", .string(software)),
      ("uptime", .seconds(uptime)), ("connections", .integer(connections)),
      ("observations", .integer(observations)), ("delegates", .integer(delegates)),
      ("holds", .integer(holds)), ("actions", .integer(actions)),
      ("queries", .integer(queries)), ("posted", .integer(posted)), ("delivered", .integer(delivered)),
      ("lost", .integer(lost)), ("asked", .integer(asked)), ("vetoed", .integer(vetoed)),
      ("denied", .integer(denied)), ("refused", .integer(refused)), ("postedBytes", .integer(postedBytes)),
      ("iterations", .integer(iterations)), ("busy", .seconds(busy)),
      ("longestIteration", .seconds(longestIteration)), ("logUsed", .integer(logUsed)),
      ("logMax", .integer(logMax)), ("kept", .integer(kept)),
    ])
  }
}

extension DepartedConnectionInfo {
  fileprivate var rows: [(label: String, value: String)] {
    [
      ("Connection", id), ("PID", String(pid)), ("Process", process), ("UID", String(uid)),
      ("GID", String(gid)), ("Unit", units.description), ("Age", age.formatted),
      ("Notifications", "\(posted) posted, \(lost) lost"),
      (
        "State",
        closedBecause.map { "gone for \(elapsed.formatted): the bus has closed it (\($0))" }
          ?? "gone for \(elapsed.formatted)"
      ),
    ]
  }

  fileprivate var json: JSONValue {
    .object(
      [
        ("connection", .string(id)), ("pid", .integer(Int(pid))), ("uid", .integer(Int(uid))),
        ("gid", .integer(Int(gid))), ("process", .string(process)),
      ] + units.members + [
        ("age", .seconds(age)), ("goneFor", .seconds(elapsed)),
        ("closedBecause", closedBecause.map { .string($0) } ?? .null), ("lost", .integer(lost)),
        ("posted", .integer(posted)),
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
