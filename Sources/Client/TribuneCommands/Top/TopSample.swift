// SPDX-License-Identifier: Apache-2.0

import Tribune

/// What a bus has said at a moment: its figures, and what one view shows.
struct TopSample: Sendable {
  enum Content: Sendable {
    case delegates(queries: [QueryInfo], attached: [DelegateInfo], statistics: [ParticipantStatistics])
    case queries([QueryInfo])
    /// With the number of holds of each connection, by its id.
    case connections([ConnectionInfo], holds: [String: Int])
    case names([NameStatistics])
    case users([UserStatistics])
    /// Why the bus does not tell this client, or cannot.
    case refused(String)
  }

  var view: TopView
  var moment: ContinuousClock.Instant
  var status: BusStatus
  var content: Content
  /// Why the bus does not list everything for this user; nil if it does.
  var restriction: String?

  static func take(of view: TopView, over connection: Connection) async throws(TribuneError) -> TopSample {
    let status = try await connection.status()
    let content: Content
    do throws(TribuneError) {
      content =
        switch view {
        case .delegates:
          .delegates(
            queries: try await connection.queries(), attached: try await connection.delegates(),
            statistics: try await connection.participantStatistics())
        case .queries: .queries(try await connection.queries())
        case .connections:
          .connections(
            try await connection.connections(), holds: try await connection.holds().countsByConnection)
        case .names: .names(try await connection.nameStatistics())
        case .users: .users(try await connection.userStatistics())
        }
    } catch {
      guard error.code == .notPermitted || error.code == .refused else { throw error }
      content = .refused(error.message)
    }
    return TopSample(
      view: view, moment: .now, status: status, content: content,
      restriction: try await restriction(of: connection))
  }

  private static func restriction(of connection: Connection) async throws(TribuneError) -> String? {
    do throws(TribuneError) {
      try await connection.requirePermission(to: "list", "**", object: "")
      return nil
    } catch {
      guard error.code == .notPermitted else { throw error }
      return error.message
    }
  }
}
