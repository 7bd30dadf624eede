// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport

@testable import TribuneNATS

@Suite("Leases behind a network that delays, loses, repeats and reorders", .timeLimit(.minutes(15)))
@MainActor
struct LeaseModelTests {
  @Test("No owner loses a confirmed lease", arguments: Seeds.all, [1, 2])
  func faults(seed: UInt64, slots: Int) async throws {
    try await live(LeaseWorld(seed, slots: slots, losesMessages: true))
  }

  @Test("Without losses, no lease stays that its owner does not know", arguments: Seeds.all, [1, 2])
  func delays(seed: UInt64, slots: Int) async throws {
    let world = LeaseWorld(seed, slots: slots, losesMessages: false)
    try await live(world)
    await world.end()
    try world.checkThatNothingIsLeft()
  }

  private func live(_ world: LeaseWorld) async throws {
    for _ in 0..<1_000 {
      await world.step()
      try world.check()
    }
  }
}

@MainActor
private final class LeaseWorld {
  @MainActor
  private final class Command {
    let host: String
    var id = Instance().text
    var hasLease = false
    var asking: Task<Void, Never>?
    var isReleasing = false
    var turn = 0

    init(_ host: String) { self.host = host }
  }

  private static let lease = "db"

  private let slots: Int
  private let losesMessages: Bool
  private let leases = LeasesInMemory()
  private let hosts = ["db1", "db2", "db3"]
  private let commands = ["db1", "db1", "db2", "db2", "db3"].map { Command($0) }
  private var gateways: [String: (link: SteppedLeases, changes: LeaseChanges)] = [:]
  private var running: Set<String> = []
  private var keepers: Set<String> = []
  private var random: SplitMix64

  init(_ seed: UInt64, slots: Int, losesMessages: Bool) {
    (random, self.slots, self.losesMessages) = (SplitMix64(seed: seed), slots, losesMessages)
    running = Set(commands.map(\.id))
    for host in hosts { connect(host) }
  }

  private func connect(_ host: String) {
    let link = SteppedLeases(leases)
    let changes = LeaseChanges(in: link, span: .seconds(3_600)) { [weak self] owner in
      MainActor.assumeIsolated { self?.running.contains(owner.id) ?? false }
    }
    gateways[host] = (link, changes)
  }

  // MARK: Steps

  func step() async {
    let host = hosts[Int.random(in: hosts.indices, using: &random)]
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<3:
      act(commands[Int.random(in: commands.indices, using: &random)])
      await settle()
    case 3 where losesMessages && random.oneIn(20): await restart(host)
    default: if let link = gateways[host]?.link { await move(link) }
    }
  }

  private func act(_ command: Command) {
    if random.oneIn(20) { return replace(command) }
    if command.asking != nil {
      guard random.oneIn(3) else { return }
      giveUp(command)
      if !random.oneIn(3) { acquire(command) }
    } else if command.hasLease, random.oneIn(2) {
      release(command)
    } else {
      acquire(command)
    }
  }

  private func acquire(_ command: Command) {
    let owner = LeaseOwner(host: command.host, id: command.id, boot: "b")
    ask(.acquire(owner, slots: slots), command) { conclusion in
      switch conclusion {
      case .made: command.hasLease = true
      case .failed, .unknown: break
      default: #expect(!command.hasLease, "it was told \(conclusion) of what it has")
      }
    }
  }

  private func release(_ command: Command) {
    (command.hasLease, command.isReleasing) = (false, true)
    ask(.release(host: command.host, machine: "", id: command.id), command) { [self] conclusion in
      command.isReleasing = false
      if case .made = conclusion { keepers.remove(command.host) } else { keepers.insert(command.host) }
      if random.oneIn(2) { renew(command) }
    }
  }

  private func ask(
    _ change: LeaseRecord.Change, _ command: Command, _ hear: @escaping (LeaseAttempt.Conclusion) -> Void
  ) {
    let turn = command.turn
    command.asking = Task { [changes = gateways[command.host]?.changes] in
      guard let conclusion = await changes?.make(change, of: Self.lease), command.turn == turn else { return }
      command.asking = nil
      hear(conclusion)
    }
  }

  private func giveUp(_ command: Command) {
    command.asking?.cancel()
    command.asking = nil
    command.turn += 1
    if command.isReleasing { keepers.insert(command.host) }
    command.isReleasing = false
  }

  private func replace(_ command: Command) {
    giveUp(command)
    if command.hasLease { keepers.insert(command.host) }
    command.hasLease = false
    renew(command)
  }

  private func renew(_ command: Command) {
    running.remove(command.id)
    command.id = Instance().text
    running.insert(command.id)
  }

  private func restart(_ host: String) async {
    for command in commands where command.host == host { giveUp(command) }
    await gateways[host]?.link.cut()
    connect(host)
  }

  private func move(_ link: SteppedLeases) async {
    if link.strayCount > 0, random.oneIn(4) {
      let index = Int.random(in: 0..<link.strayCount, using: &random)
      return random.oneIn(2) ? link.performStray(at: index) : link.dropStray(at: index)
    }
    guard link.callCount > 0 else { return }
    let index = Int.random(in: 0..<link.callCount, using: &random)
    switch Int.random(in: 0..<8, using: &random) {
    case 0..<3: link.perform(at: index)
    case 3 where losesMessages: await link.lose(at: index)
    case 4 where losesMessages: link.duplicate(at: index)
    default: await link.answer(at: index)
    }
  }

  func end() async {
    for command in commands { giveUp(command) }
    await settle()
    let links = gateways.values.map(\.link)
    while links.contains(where: { $0.callCount > 0 }) { for link in links { await link.answerAll() } }
  }

  // MARK: What always holds

  func check() throws {
    let owners = try leases.owners(Self.lease)
    for command in commands where command.hasLease {
      try #require(
        owners.contains { $0.id == command.id }, "\(command.host) has lost what it was told that it has")
    }
  }

  func checkThatNothingIsLeft() throws {
    let known = keepers.union(commands.filter(\.hasLease).map(\.host))
    #expect(try leases.owners(Self.lease).allSatisfy { known.contains($0.host) })
  }
}
