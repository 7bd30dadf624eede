// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("Many connections of one user under systemd", .timeLimit(.minutes(15)))
final class SystemdAttackTests {
  private static let attacker: UInt32 = 65_534
  private static let most = 16_000
  private static let beside = 4_000

  private let machine: Container
  /// Other users may not follow the path of a process of root.
  private let folder: FileDescriptor
  private let root: RawClient
  private var clients: [ConnectionID: RawClient] = [:]

  init() throws {
    machine = try Container(
      enabled: ["tribuned.service", "tribuned.socket"],
      files: [
        "/etc/tribune/policy.d/attack.policy": "allow observe disk.* user:*\n",
        // The default for this user is 7,680.
        "/etc/tribune/tribuned.conf":
          "[Bus]\nConnectionsMax=18000\n[User \"\(Self.attacker)\"]\nShare=1000\n",
      ])
    let path = "\(machine.root)/run/tribune"
    folder = FileDescriptor(owning: try retrying { unsafe open(path, O_DIRECTORY | O_CLOEXEC) })
    root = try RawClient.greeted(machine)
    try root.observe("settled.*", serial: 1)
    try TribuneSystem.ThisProcess.raiseDescriptorLimit()
  }

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

  private func processorTime() throws -> UInt64 {
    let text = try String(contentsOfFile: "/proc/\(machine.leader)/schedstat", encoding: .utf8)
    return try #require(UInt64(text.prefix { $0 != " " }))
  }

  private func kill() throws -> Set<ConnectionID> {
    let entries = try root.connections()
    let surviving = entries.filter { $0.isSurviving && $0.peer.uid == Self.attacker }.map(\.id)
    let start = ContinuousClock.now
    try machine.does("systemctl", "kill", "--signal=KILL", "tribuned.service")
    _ = try connect()
    let away = ContinuousClock.now - start
    try root.settle()
    print("killed among \(entries.count) connections, of which \(surviving.count) survive: away for \(away)")
    // An idle machine takes at most 0.7 s. The limit catches a gross slowdown only.
    #expect(away < .seconds(10))
    return Set(surviving)
  }

  private func expectServed(_ ids: Set<ConnectionID>) throws {
    for id in ids {
      if let client = clients[id] { _ = try client.busEntry() }
    }
  }

  @Test("16,000 connections of one user, and killing the bus among them, use almost no time of systemd")
  func attack() throws {
    let before = try processorTime()
    try fill(to: Self.most / 2)
    let first = try kill()
    try fill(to: Self.most)
    try expectServed(first)
    while try root.connections().contains(where: { !$0.isSurviving }) { try root.settle() }
    let second = try kill()
    #expect(second.count == clients.count)
    try expectServed(second)
    print("systemd: \((try processorTime() - before) / 1_000_000) ms for \(Self.most) connections, two kills")

    let between = try processorTime()
    for id in clients.keys.dropFirst(Self.beside) { clients[id] = nil }
    // Until then, the user has as many connections as it may have.
    while try root.connections().count > Self.beside + 1 { try root.settle() }
    for _ in 0..<Self.beside { _ = try connect() }
    let third = try kill()
    #expect(third.isSuperset(of: clients.keys))
    for _ in 0..<Self.beside { _ = try connect() }
    try expectServed(third)
    print(
      "systemd: \((try processorTime() - between) / 1_000_000) ms for churn beside \(Self.beside), one kill")
    // Usually a tenth of that; over two minutes if systemd's own store had the connections.
    #expect(try processorTime() - before < 500_000_000)
    #expect(try machine.number("NRestarts") == 3)
  }
}
