// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune

@Suite("Connections that have ended", .timeLimit(.minutes(15)))
struct DepartedConnectionsTests {
  @Test(
    "are listed with the bus's reason for closing them",
    arguments: [(0, nil), (9, "tooSlow"), (4097, "error 4097")] as [(UInt16, String?)])
  func list(rawReason: UInt16, reason: String?) async throws {
    var entry = DepartedEntry(
      id: ConnectionID(rawValue: 8),
      peer: PeerIdentity(
        pid: 42, uid: 1000, gid: 100, process: "a", units: PeerUnits(system: "a.service")),
      age: 2_000_000, elapsed: 1_500_000, reason: nil, lost: 3, posted: .max)
    entry.rawReason = rawReason
    try await conversation { [entry] peer in
      try peer.list(.departed, [.departed(entry)])
    } client: { connection in
      let departed = try await connection.departedConnections()
      #expect(
        departed == [
          DepartedConnectionInfo(
            id: ":8", pid: 42, uid: 1000, gid: 100, process: "a", units: Units(system: "a.service"),
            age: .seconds(2), elapsed: .milliseconds(1500), closedBecause: reason, lost: 3, posted: .max)
        ])
    }
  }
}
