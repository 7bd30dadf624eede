// SPDX-License-Identifier: Apache-2.0

/// What connections that do nothing cost a daemon in memory.
struct Footprint: Codable, Equatable {
  /// Bytes for each that are the most.
  static let target = 4_096
  /// Connections that come and go first, so that what the daemon needs once it has.
  private static let warmUp = 100

  var connections: Int
  /// Bytes of memory that the daemon had resident without them, and with them.
  var before: Int
  var after: Int

  var bytesEach: Int { (after - before) / connections }

  /// - Parameter server: one that nobody has used.
  nonisolated(nonsending) static func measure(_ connections: Int, on server: Server) async throws -> Footprint
  {
    try await Crowd(connections: warmUp, observationsEach: 0).around(server) {}
    let before = try server.residentBytes()
    let after = try await Crowd(connections: connections, observationsEach: 0).around(server) {
      try server.residentBytes()
    }
    return Footprint(connections: connections, before: before, after: after)
  }
}
