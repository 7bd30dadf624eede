// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

struct ListCommand: Command {
  private let listsRetained: Bool
  private let words: LiveWords?

  init(_ invocation: Invocation) throws(CommandError) {
    listsRetained = invocation.has(.retained)
    words = invocation.text(.complete).flatMap { LiveWords(rawValue: $0) }
    if words != nil { try invocation.refuse([.retained, .json, .shortJSON, .output], beside: .complete) }
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    if let words {
      try await list(words, in: context)
    } else if listsRetained {
      try await listRetained(in: context)
    } else {
      try await listConnections(in: context)
    }
    return ExitStatus.success
  }

  private func list(_ words: LiveWords, in context: Context) async throws(CommandError) {
    let found: [String]
    do throws(CommandError) {
      found = try await context.request { bus throws(TribuneError) in try await words.read(from: bus) }
    } catch {
      guard !words.wellKnown.isEmpty else { throw error }
      found = words.wellKnown.sorted()
    }
    try context.write(found.map { $0 + "\n" }.joined())
  }

  private func listRetained(in context: Context) async throws(CommandError) {
    let (entries, values) = try await context.request {
      bus throws(TribuneError) -> ([RetainedInfo], [Subject: Notification]) in
      let entries = try await bus.retained()
      return (entries, try await Self.values(of: entries, over: bus))
    }
    var table = Table([
      .init(title: "NAME", style: .bold), "OBJECT", .number("BYTES", rank: 3), .number("AGE", rank: 1),
      .number("CONNECTION", rank: 4), .number("UID", rank: 2), "USERINFO",
    ])
    var json: [JSONValue] = []
    for entry in entries {
      let userInfo = values[Subject(entry.name, entry.object)].flatMap {
        entry.describes($0) ? $0.userInfo : nil
      }
      table.append([
        entry.name, entry.object, String(entry.byteCount), entry.age.formatted, entry.connection,
        String(entry.uid), userInfo?.line ?? "",
      ])
      json.append(entry.json(userInfo ?? .none))
    }
    try context.list(
      json, text: try context.text(of: table), legend: "\(entries.count.counted("notification")) retained.")
  }

  private struct Subject: Hashable {
    var name: String
    var object: String

    init(_ name: String, _ object: String) { (self.name, self.object) = (name, object) }
  }

  /// Observes each name separately. The bus would refuse an observation of all names to a user who may
  /// observe only some of them.
  private static func values(
    of entries: [RetainedInfo], over bus: Connection
  ) async throws(TribuneError) -> [Subject: Notification] {
    var values: [Subject: Notification] = [:]
    for name in Set(entries.map(\.name)) {
      do throws(TribuneError) {
        for notification in try await RetainedSnapshot(of: name, over: bus).notifications {
          values[Subject(name, notification.object)] = notification
        }
      } catch {
        guard error.code == .notPermitted else { throw error }
      }
    }
    return values
  }

  private func listConnections(in context: Context) async throws(CommandError) {
    let (connections, holds, actions) = try await context.request {
      bus throws(TribuneError) -> ([ConnectionInfo], [HoldInfo], [ActionInfo]) in
      (try await bus.connections(), try await bus.holds(), try await bus.actions())
    }
    let holdCounts = holds.map(\.connection).counts
    let actionCounts = actions.map(\.connection).counts
    var table = Table([
      .init(title: "CONNECTION", isNumeric: true, style: .bold), .number("PID"), "PROCESS", .number("UID"),
      "UNIT", .number("OBSERVATIONS", rank: 5), .number("DELEGATES", rank: 6), .number("HOLDS", rank: 7),
      .number("ACTIONS", rank: 9), .number("QUERIES", rank: 8), .number("QUEUED", rank: 4),
      .number("LOST", rank: 3), "STATE",
      .number("AGE", rank: 2),
    ])
    for connection in connections {
      let holdCount = holdCounts[connection.id, default: 0]
      let texts = [
        connection.id, String(connection.pid), connection.process, String(connection.uid),
        connection.units.description,
        String(connection.observations), String(connection.delegates), String(holdCount),
        String(actionCounts[connection.id, default: 0]), String(connection.queries),
        String(connection.queuedBytes), String(connection.lost), connection.state,
        connection.age.formatted,
      ]
      table.append(texts, styles: connection.isLossy ? ["STATE": .red] : [:])
    }
    try context.list(
      connections.map {
        $0.json(
          holds: .integer(holdCounts[$0.id, default: 0]), actions: .integer(actionCounts[$0.id, default: 0]))
      },
      text: try context.text(of: table),
      legend: "\(connections.count.counted("connection")) listed.")
  }
}

extension [String] {
  var counts: [String: Int] { reduce(into: [:]) { $0[$1, default: 0] += 1 } }
}

extension ConnectionInfo {
  var state: String {
    [
      (isPaused, "paused"), (isLossy, "lossy"), (isSuspended, "suspended"), (!isSurviving, "not surviving"),
    ].filter(\.0).map(\.1).joined(separator: ", ")
  }

  /// - Parameters:
  ///   - holds: the list of the connection's holds, or only their number.
  ///   - actions: the list of the connection's actions, or only their number.
  func json(holds: JSONValue, actions: JSONValue) -> JSONValue {
    .object(
      [
        ("connection", .string(id)), ("pid", .integer(Int(pid))), ("uid", .integer(Int(uid))),
        ("gid", .integer(Int(gid))), ("process", .string(process)),
      ] + units.members + [
        ("age", .seconds(age)), ("observations", .integer(observations)), ("delegates", .integer(delegates)),
        ("holds", holds), ("actions", actions), ("queries", .integer(queries)),
        ("queuedBytes", .integer(queuedBytes)),
        ("lost", .integer(lost)),
        ("posted", .integer(posted)), ("paused", .bool(isPaused)), ("lossy", .bool(isLossy)),
        ("suspended", .bool(isSuspended)), ("bufferedBytes", .integer(bufferedBytes)),
        ("coalesced", .integer(coalesced)),
        ("surviving", .bool(isSurviving)), ("postedBytes", .integer(postedBytes)),
        ("delivered", .integer(delivered)), ("denied", .integer(denied)), ("refused", .integer(refused)),
        ("asked", .integer(asked)), ("pauses", .integer(pauses)), ("pausedTime", .seconds(pausedTime)),
        ("lossyTime", .seconds(lossyTime)),
      ])
  }
}

extension RetainedInfo {
  /// - Parameter userInfo: empty if this user may not observe the notification.
  func json(_ userInfo: UserInfo) -> JSONValue {
    .object([
      ("name", .string(name)), ("object", .string(object)), ("bytes", .integer(byteCount)),
      ("age", .seconds(age)), ("connection", .string(connection)), ("uid", .integer(Int(uid))),
      userInfo.jsonMember,
    ])
  }
}
