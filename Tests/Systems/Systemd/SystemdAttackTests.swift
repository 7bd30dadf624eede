// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// One user connects as often as it can, and the bus is killed meanwhile: what that costs the service manager.
@Suite("Many connections of one user under systemd", .timeLimit(.minutes(15)))
final class SystemdAttackTests {
  private static let attacker: UInt32 = 65_534
  private static let most = 16_000
  private static let beside = 4_000

  private let machine: Container
  /// The folder of the bus's socket. No other user may follow the path of a process of root.
  private let folder: FileDescriptor
  /// One connection of root.
  private let root: RawClient
  private var clients: [ConnectionID: RawClient] = [:]

  init() throws {
    machine = try Container(
      enabled: ["tribuned.service", "tribuned.socket"],
      files: [
        "/etc/tribune/policy.d/attack.policy": "allow observe disk.* user:*\n",
        // Without that, the user gets 7,680.
        "/etc/tribune/tribuned.conf":
          "[Bus]\nConnectionsMax=18000\n[User \"\(Self.attacker)\"]\nShare=1000\n",
      ])
    let path = "\(machine.root)/run/tribune"
    folder = FileDescriptor(owning: try retrying { unsafe open(path, O_DIRECTORY | O_CLOEXEC) })
    root = try RawClient.greeted(machine)
    try root.observe("settled.*", serial: 1)
    try TribuneSystem.ThisProcess.raiseDescriptorLimit()
  }

  /// Connects the attacker once more, with an observation.
  private func connect() throws -> (id: ConnectionID, client: RawClient) {
    let client = try RawClient(path: "/proc/self/fd/\(folder.rawValue)/bus", user: Self.attacker)
    let id = try client.greet().connection
    try client.observe("disk.*", serial: 1)
    return (id, client)
  }

  private func fill(to count: Int) throws {
    while clients.count < count {
      let (id, client) = try connect()
      clients[id] = client
    }
  }

  /// Nanoseconds of processor time that the container's systemd has used.
  private func processorTime() throws -> UInt64 {
    let text = try String(contentsOfFile: "/proc/\(machine.leader)/schedstat", encoding: .utf8)
    return try #require(UInt64(text.prefix { $0 != " " }))
  }

  /// Kills the bus.
  ///
  /// - Returns: the attacker's connections that the bus had just listed as surviving.
  private func kill() throws -> Set<ConnectionID> {
    let entries = try root.connections()
    let surviving = entries.filter { $0.isSurviving && $0.peer.uid == Self.attacker }.map(\.id)
    let start = ContinuousClock.now
    try machine.does("systemctl", "kill", "--signal=KILL", "tribuned.service")
    // This one waits at the socket for the next bus.
    _ = try connect()
    let away = ContinuousClock.now - start
    try root.settle()
    print("killed among \(entries.count) connections, of which \(surviving.count) survive: away for \(away)")
    // An idle machine takes 0.7 s at most. The limit only catches what is out of all proportion.
    #expect(away < .seconds(10))
    return Set(surviving)
  }

  /// Expects that the bus still serves these connections.
  private func expectServed(_ ids: Set<ConnectionID>) throws {
    for id in ids {
      if let client = clients[id] { _ = try client.busEntry() }
    }
  }

  @Test("a bus with 16,000 connections of one user, and killed among them, costs systemd next to nothing")
  func attack() throws {
    let before = try processorTime()
    // A kill when half of them have connected.
    try fill(to: Self.most / 2)
    let first = try kill()
    try fill(to: Self.most)
    try expectServed(first)
    // With all there, and each known to the keeper.
    while try root.connections().contains(where: { !$0.isSurviving }) { try root.settle() }
    let second = try kill()
    #expect(second.count == clients.count)
    try expectServed(second)
    print("systemd: \((try processorTime() - before) / 1_000_000) ms for \(Self.most) connections, two kills")

    // Connection churn beside 4,000, with a kill in the middle of it.
    let between = try processorTime()
    for id in clients.keys.dropFirst(Self.beside) { clients[id] = nil }
    for _ in 0..<Self.beside { _ = try connect() }
    let third = try kill()
    #expect(third.isSuperset(of: clients.keys))
    for _ in 0..<Self.beside { _ = try connect() }
    try expectServed(third)
    print(
      "systemd: \((try processorTime() - between) / 1_000_000) ms for churn beside \(Self.beside), one kill")
    // A tenth of that is usual. With the connections in systemd's own store, it was over two minutes.
    #expect(try processorTime() - before < 500_000_000)
    #expect(try machine.number("NRestarts") == 3)
  }
}
