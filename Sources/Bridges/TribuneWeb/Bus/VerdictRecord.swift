// SPDX-License-Identifier: Apache-2.0

package import Tribune
import TribuneJSON
import TribuneWire

/// A verdict with its question.
nonisolated package struct VerdictRecord: Sendable {
  /// The time of the verdict, in microseconds since 1970.
  package var time: UInt64
  package var name: String
  package var object: String
  package var asker: Who
  /// The time from the question to the verdict; nil if the tracker did not see the question.
  package var elapsed: Duration?
  package var isValueQuery: Bool
  package var override: String?
  package var verdict: Tribune.Verdict
  package var userInfo = UserInfo.none

  /// The length limits of shown texts, in bytes.
  static let reasonMax = 1_024
  static let userInfoMax = 1_024

  func json(showingUserInfo showsUserInfo: Bool) -> JSONValue {
    var members: [(name: String, value: JSONValue)] = [
      ("time", .unsigned(time / 1_000)), ("query", .unsigned(verdict.query)), ("name", .string(name)),
      ("object", .string(object)), ("verdict", .string(isValueQuery ? "value" : verdict.decision.rawValue)),
      ("elapsed", elapsed.map { .seconds($0) } ?? .null), ("asker", asker.json),
      ("unanswered", .bool(verdict.isUnanswered)), ("overridden", .bool(verdict.isOverridden)),
      ("override", override.map { .string($0) } ?? .null), ("dryRun", .bool(verdict.isDryRun)),
      ("omitted", .integer(verdict.omittedCount)),
    ]
    members.append(("outcomes", .array(verdict.outcomes.map { Self.json($0, showsUserInfo) })))
    if showsUserInfo, !userInfo.isEmpty { members.append(("userInfo", Self.json(userInfo))) }
    return .object(members)
  }

  private static func json(_ outcome: Tribune.Outcome, _ showsUserInfo: Bool) -> JSONValue {
    var members: [(name: String, value: JSONValue)] = [
      ("label", .string(outcome.label)), ("outcome", .string(outcome.kind.rawValue)),
      ("reason", .string(shown(outcome.reason))), ("pid", .integer(Int(outcome.pid))),
      ("uid", .integer(Int(outcome.uid))), ("process", .string(outcome.process)),
      ("unit", .string(outcome.unit)), ("elapsed", .seconds(outcome.elapsed)),
    ]
    if showsUserInfo, let value = outcome.value { members.append(("value", json(value))) }
    return .object(members)
  }

  private static func json(_ userInfo: UserInfo) -> JSONValue {
    .string(String(decoding: userInfo.bytes.prefix(userInfoMax), as: UTF8.self))
  }

  static func shown(_ reason: String) -> String {
    reason.utf8.count <= reasonMax ? reason : reason.prefix(utf8Length: reasonMax) + "…"
  }
}
