// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

/// tribune-logind's report about the effect of a hold or an override on the host.
struct HostEnforcement {
  private static let time = Duration.seconds(15)

  enum Event: String {
    case hold, allowed, override
  }

  let says: String
  let isInForce: Bool
  let isTooLate: Bool
  let obstacles: [String]

  static func concerns(_ pattern: String) -> Bool { !WellKnownQuestions.hostNames(matching: pattern).isEmpty }

  /// Asks tribune-logind, which replies once logind enforces the hold, or no longer blocks the allowed
  /// action. Returns nil if the pattern is not about the host, or if tribune-logind is not attached.
  static func ask(
    about pattern: String, after event: Event, within limit: Duration? = time, over connection: Connection
  ) async throws(TribuneError) -> HostEnforcement? {
    guard concerns(pattern) else { return nil }
    // The bus logs each query that it refuses, so this function first checks the permission.
    try await connection.requirePermission(to: "ask", WellKnownQuestions.enforcement, object: "")
    let userInfo = JSONValue.object([("name", .string(pattern)), ("after", .string(event.rawValue))])
    let reply = try await connection.query(
      WellKnownQuestions.enforcement, userInfo: UserInfo(userInfo.compactBytes),
      deadline: min(limit ?? connection.bus.deadlineDefault, connection.bus.deadlineMax))
    if let value = reply.value { return try HostEnforcement(value) }
    guard let outcome = reply.outcomes.first(where: { $0.kind != .abstained }) else { return nil }
    throw TribuneError(
      .refused, outcome.reason.isEmpty ? "tribune-logind \(outcome.kind.rawValue)" : outcome.reason)
  }

  private init(_ value: UserInfo) throws(TribuneError) {
    do throws(JSONText.SyntaxError) {
      let root = try value.withBytes { bytes throws(JSONText.SyntaxError) in try JSONDocument(bytes) }.root
      says = root["says"]?.string ?? ""
      isInForce = root["isInForce"]?.bool == true
      isTooLate = root["isTooLate"]?.bool == true
      let list = root["obstacles"]
      obstacles = (0..<(list?.count ?? 0)).compactMap { list?[$0]?.string }
    } catch {
      throw TribuneError(.refused, "\(error)")
    }
  }
}
