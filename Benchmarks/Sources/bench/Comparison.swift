// SPDX-License-Identifier: Apache-2.0

import CBusDriver
import Foundation

/// The bus and what could stand in its place, in turns: a line for each figure.
struct Comparison {
  private static let rounds = 3

  let servers: [Server]
  /// Peers that are not here, and why.
  let missing: [String]

  /// Starts what there is beside `ours`.
  init(ours: [Server], peers folder: String, in scratch: URL) {
    var servers = ours
    var missing: [String] = []
    for kind in Server.Kind.allCases where kind.isPeer {
      do {
        let program = try PeerProgram(kind, peers: folder)
        servers.append(try Server(kind, program: program.path, in: scratch))
        print("\(program.name) \(program.version)")
      } catch {
        missing.append("\(kind): not measured: \(error)")
      }
    }
    self.servers = servers
    self.missing = missing
  }

  func stop() {
    for server in servers.reversed() where server.kind.isPeer { server.stop() }
  }

  func run() async throws {
    try table("round trip, 64 B, p50 µs") { server in
      Double(try Driver.roundTrips(2_000, through: server).sorted()[1_000]) / 1_000
    }
    for receivers in [1, 10] {
      try table("stream of 128 B, 1 to \(receivers), M/s delivered") { server in
        let count = server.kind.isSlow ? 100_000 / receivers : 1_000_000 / receivers
        let duration = try Driver.stream(count, to: receivers, through: server)
        return Double(count * receivers) * 1_000 / Double(duration)
      }
    }
    try table("100 posters, 100 observers, 1,000 names, M/s delivered") { server in
      let count = server.kind.isSlow ? 20_000 : 200_000
      let crew = Crew(posters: 100, observers: 100, names: 1_000)
      let duration = try Driver.mixed(count, crew, through: server)
      return Double(count * Crew.fanOut) * 1_000 / Double(duration)
    }
    try table("stream of 1 MiB, 1 to 10, GB/s delivered") { server in
      let count = server.kind == .tribune ? 1_000 : 100
      let duration = try Driver.stream(count, of: 1 << 20, to: 10, through: server)
      return Double(count * 10 << 20) / Double(duration)
    }
    let tribune = servers[servers.firstIndex { $0.kind == .tribune } ?? 0]
    for _ in 0..<Self.rounds {
      func tail() throws -> Double {
        Double(try Driver.roundTrips(10_000, through: tribune).sorted()[9_900]) / 1_000
      }
      let alone = try tail()
      let (beside, amount) = try await Background.around(tribune, postsPerSecond: 100_000) { try tail() }
      print("ask, p99 µs: \(alone.fixed(1)), beside \(amount.posted) posts \(beside.fixed(1))")
    }
    for line in missing { print(line) }
  }

  private func table(_ title: String, _ measure: (Server) throws -> Double) throws {
    print("\n\(title)")
    var found: [Server.Kind: [Double]] = [:]
    for _ in 0..<Self.rounds {
      for server in servers {
        do {
          found[server.kind, default: []].append(try measure(server))
        } catch is Driver.Incapability {
          continue
        }
      }
    }
    for server in servers {
      guard let values = found[server.kind] else { continue }
      let sorted = values.sorted()
      print(
        server.kind.rawValue.padded(to: -14), sorted[sorted.count / 2].fixed(2).padded(to: 10),
        "(\(sorted[0].fixed(2)) to \(sorted[sorted.count - 1].fixed(2)))")
    }
  }
}

extension Server.Kind {
  fileprivate var isSlow: Bool {
    switch self {
    case .mosquitto, .dbusDaemon, .dbusBroker: true
    default: false
    }
  }
}
