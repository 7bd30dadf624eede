// SPDX-License-Identifier: Apache-2.0

import Tribune

struct TopSample: Sendable {
  var view: TopView
  var snapshot: BusSnapshot
  var refusal: String?
  /// Why the bus does not list everything for this user; nil if it lists everything.
  var restriction: String?

  static func take(of view: TopView, over connection: Connection) async throws(TribuneError) -> TopSample {
    var sample = TopSample(view: view, snapshot: try await BusSnapshot(of: connection))
    do throws(TribuneError) {
      try await sample.snapshot.read(view.lists, from: connection)
    } catch {
      guard error.code == .notPermitted || error.code == .refused else { throw error }
      sample.refusal = error.message
    }
    do throws(TribuneError) {
      try await connection.requirePermission(to: "list", "**", object: "")
    } catch {
      guard error.code == .notPermitted else { throw error }
      sample.restriction = error.message
    }
    return sample
  }
}

extension TopView {
  fileprivate var lists: [BusSnapshot.List] {
    switch self {
    case .delegates: [.queries, .delegates, .participants]
    case .queries: [.queries]
    case .connections: [.connections, .holds, .actions]
    case .names: [.names]
    case .users: [.users]
    }
  }
}
