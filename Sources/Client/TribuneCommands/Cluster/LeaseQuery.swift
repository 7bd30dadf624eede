// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem
import TribuneWire

/// A value query about leases, which are locks of the cluster. This host's tribune-nats answers the query.
struct LeaseQuery: Sendable {
  let name: String
  /// The lease's name; empty for all leases.
  let lease: String
  let userInfo: UserInfo

  init(_ verb: String, _ lease: String = "", _ members: [(name: String, value: JSONValue)] = []) {
    name = "cluster.lease.\(verb)"
    self.lease = lease
    userInfo = UserInfo(JSONValue.object(members).compactBytes)
  }

  /// - Throws: an error with the status `noVerdict`. tribune-nats may have carried out the request anyway.
  func value(over connection: Connection) async throws(CommandError) -> UserInfo {
    let reply = try await orEnd(with: ExitStatus.noVerdict) { () async throws(TribuneError) -> QueryReply in
      try await bounded(by: connection.bus.replyTimeout(for: nil)) {
        [self] () async throws(TribuneError) -> QueryReply in
        try await connection.query(name, object: lease, userInfo: userInfo)
      }
    }
    guard let value = reply.value else {
      throw CommandError(message: Self.lack(reply.outcomes), status: ExitStatus.noVerdict)
    }
    return value
  }

  func reply(over connection: Connection) async throws(CommandError) -> LeaseReply {
    guard let reply = LeaseReply(try await value(over: connection)) else {
      throw CommandError(
        message: "this version cannot read the reply to \(name)", status: ExitStatus.noVerdict)
    }
    return reply
  }

  private static func lack(_ outcomes: [Tribune.Outcome]) -> String {
    guard let outcome = outcomes.first(where: { $0.kind != .abstained }) else {
      return "no delegate here answers about leases: is tribune-nats running?"
    }
    let gateway = "the gateway \(outcome.participant)"
    return switch outcome.kind {
    case .gone: "\(gateway) went before it answered: it is not known whether that was done"
    case .timedOut: "\(gateway) did not answer in time: it is not known whether that was done"
    default: outcome.reason.terminalSafe
    }
  }
}

/// The reply of tribune-nats to a request. docs/PROTOCOL.md lists its fields.
enum LeaseReply: Equatable, Sendable {
  case acquired(again: Bool)
  /// Another host has the lease, or another command on this host has it.
  case busy([ListedOwner])
  case released
  case broken(ListedOwner)
  case absent([ListedOwner])
  case refused(String)

  init?(_ userInfo: UserInfo) {
    guard let root = userInfo.jsonRoot else { return nil }
    switch root["state"]?.string {
    case "acquired": self = .acquired(again: root["again"]?.bool ?? true)
    case "busy": self = .busy(root.leaseOwners)
    case "released": self = .released
    case "broken": self = .broken(ListedOwner(root["owner"] ?? root))
    case "absent": self = .absent(root.leaseOwners)
    case "refused": self = .refused(root["why"]?.string ?? "")
    default: return nil
    }
  }
}

struct ListedOwner: Equatable, Sendable {
  var host: String
  /// True if tribune-nats currently sees the host; nil if the owner is a client of FleetLock.
  var isPresent: Bool?
  /// Seconds since 1970, by the owner's clock.
  var since: Int
  var label: String
  var pid: Int
  var uid: Int
  var unit: String
  var isRunning: Bool?

  init(_ node: JSONNode) {
    host = node["host"]?.string ?? ""
    isPresent = node["present"]?.bool
    since = node["since"]?.integer ?? 0
    label = node["label"]?.string ?? ""
    pid = node["pid"]?.integer ?? 0
    uid = node["uid"]?.integer ?? 0
    unit = node["unit"]?.string ?? ""
    isRunning = node["running"]?.bool
  }

  var isGhost: Bool { isPresent == false }

  var isKept: Bool { isPresent == nil || isRunning == false }

  private var microseconds: UInt64 {
    let (microseconds, overflow) = UInt64(clamping: since).multipliedReportingOverflow(by: 1_000_000)
    return overflow ? .max : microseconds
  }

  /// Since when the owner has the lease, such as `10:02:11`. If that is not today, the date comes first.
  var sinceText: String {
    let now = LocalTime(microsecondsSince1970: SystemClock.wallMicroseconds)
    guard let time = LocalTime(microsecondsSince1970: microseconds) else {
      return "?"
    }
    return time.date == now?.date ? time.timeOfDay : "\(time.date) \(time.timeOfDay)"
  }

  /// Example: `db1 has it since 10:02:11, for backup (pid 42, backup.service)`.
  var line: String {
    let process = [pid > 0 ? "pid \(pid)" : "", unit.terminalSafe].filter { !$0.isEmpty }
    let whom = label.isEmpty ? "" : ", for \(label.terminalSafe)"
    let which = process.isEmpty ? "" : " (\(process.joined(separator: ", ")))"
    let ghost = isGhost ? "; that host is not there: it may be rebooting, or gone" : ""
    return "\(host.terminalSafe) has it since \(sinceText)\(whom)\(which)\(ghost)"
  }

  var json: JSONValue {
    .object([
      ("host", .string(host)), ("present", isPresent.map { .bool($0) } ?? .null),
      ("since", .unsigned(microseconds)),
      ("label", .string(label)), ("pid", .integer(pid)), ("uid", .integer(uid)), ("unit", .string(unit)),
      ("running", isRunning.map { .bool($0) } ?? .null),
    ])
  }
}

extension JSONNode {
  var leaseOwners: [ListedOwner] {
    guard let list = self["owners"] else { return [] }
    return (0..<list.count).compactMap { list[$0].map(ListedOwner.init) }
  }
}

extension UserInfo {
  var jsonRoot: JSONNode? {
    do {
      return try withBytes { bytes throws(JSONText.SyntaxError) in try JSONDocument(bytes).root }
    } catch {
      return nil
    }
  }
}
