// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

/// One question about leases to tribune-nats, on the bus of this host.
struct LeaseQuery: Sendable {
  let name: String
  /// The lease; empty for all.
  let lease: String
  let userInfo: UserInfo

  init(_ verb: String, _ lease: String = "", _ members: [(name: String, value: JSONValue)] = []) {
    name = "cluster.lease.\(verb)"
    self.lease = lease
    userInfo = UserInfo(JSONValue.object(members).compactBytes)
  }

  /// - Throws: why there is no value; the status is that of no verdict. It may have been done.
  func value(over connection: Connection) async throws(CommandError) -> UserInfo {
    let reply: QueryReply
    do throws(TribuneError) {
      reply = try await bounded(by: connection.bus.replyTimeout(for: nil)) {
        [self] () async throws(TribuneError) -> QueryReply in
        try await connection.query(name, object: lease, userInfo: userInfo)
      }
    } catch {
      throw CommandError(error, status: ExitStatus.noVerdict)
    }
    guard let value = reply.value else {
      throw CommandError(message: Self.lack(reply.outcomes), status: ExitStatus.noVerdict)
    }
    return value
  }

  func reply(over connection: Connection) async throws(CommandError) -> LeaseReply {
    guard let reply = LeaseReply(try await value(over: connection)) else {
      throw CommandError(
        message: "the reply to \(name) is none that this version knows", status: ExitStatus.noVerdict)
    }
    return reply
  }

  /// Why there is no value, for people.
  private static func lack(_ outcomes: [Outcome]) -> String {
    guard let outcome = outcomes.first(where: { $0.kind != .abstained }) else {
      return "nobody answers about leases here: is tribune-nats running?"
    }
    let gateway = "the gateway \(outcome.participant)"
    return switch outcome.kind {
    case .gone: "\(gateway) went before it answered: it is not known whether that was done"
    case .timedOut: "\(gateway) did not answer in time: it is not known whether that was done"
    default: outcome.reason.terminalSafe
    }
  }
}
