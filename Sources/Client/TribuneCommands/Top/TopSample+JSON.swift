// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

extension TopSample {
  var json: [JSONValue] {
    let (holds, actions) = (
      snapshot.holds.map(\.connection).counts, snapshot.actions.map(\.connection).counts
    )
    return switch view {
    case .delegates: DelegateRows(snapshot).json
    case .queries: snapshot.queries.map(\.json)
    case .connections:
      snapshot.connections.map {
        $0.json(holds: .integer(holds[$0.id, default: 0]), actions: .integer(actions[$0.id, default: 0]))
      }
    case .names: snapshot.names.map(\.json)
    case .users: snapshot.users.map(\.json)
    }
  }
}

extension JSONValue {
  /// The uid; null for users that the bus counts together.
  static func uid(_ uid: UInt32?) -> JSONValue { uid.map { .integer(Int($0)) } ?? .null }
}

extension OutcomeCounts {
  var json: JSONValue {
    .object([
      ("approved", .integer(approved)), ("vetoed", .integer(vetoed)), ("abstained", .integer(abstained)),
      ("timedOut", .integer(timedOut)), ("gone", .integer(gone)), ("failed", .integer(failed)),
      ("held", .integer(held)), ("answered", .integer(answered)),
    ])
  }
}

extension QueryInfo {
  fileprivate var json: JSONValue {
    .object(
      [
        ("query", .unsigned(id)), ("name", .string(name)), ("object", .string(object)),
        ("mode", mode.map { .string($0.rawValue) } ?? .null), ("dryRun", .bool(isDryRun)),
        ("age", .seconds(age)), ("remaining", .seconds(remaining)), ("connection", .string(connection)),
      ] + units.members(ofProcess: pid, uid, process) + [
        ("participants", .array(participants.map(\.json))), ("participantsOmitted", .integer(omittedCount)),
      ])
  }
}

extension QueryInfo.Participant {
  fileprivate var json: JSONValue {
    let state =
      switch state {
      case .unasked: "unasked"
      case .queued: "queued"
      case .asked: "asked"
      case .settled(let outcome): outcome.rawValue
      }
    return .object(
      [
        ("delegate", .unsigned(delegate)), ("label", .string(label)), ("state", .string(state)),
        ("reason", .string(reason)), ("elapsed", .seconds(elapsed)),
        ("remaining", .seconds(ifKnown: remaining)),
        ("connection", connection.map { .string($0) } ?? .null),
      ] + units.members(ofProcess: pid, uid, process))
  }
}

extension NameStatistics {
  fileprivate var json: JSONValue {
    .object(
      [
        ("name", name.map { .string($0) } ?? .null), ("asked", .integer(asked)), ("vetoed", .integer(vetoed)),
        ("overridden", .integer(overridden)), ("cancelled", .integer(cancelled)), ("outcomes", outcomes.json),
      ] + durations.members)
  }
}

extension UserStatistics {
  fileprivate var json: JSONValue {
    .object([
      ("uid", .uid(uid)), ("unit", .string(unit)), ("connections", .integer(connections)),
      ("posted", .integer(posted)), ("postedBytes", .integer(postedBytes)),
      ("delivered", .integer(delivered)), ("lost", .integer(lost)), ("asked", .integer(asked)),
      ("denied", .integer(denied)), ("refused", .integer(refused)),
    ])
  }
}
