// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Restarts under systemd", .timeLimit(.minutes(15)))
struct SystemdRestartTests {
  private static let service = "tribuned.service"
  private static let keeper = "tribuned-keeper.service"
  private static let restarts = Seeds.isLong ? 20 : 10
  /// Each run has another seed: one account could come out even by luck.
  private static let runs = 1...(Seeds.isLong ? 3 : 1)
  private static let size = CrowdProgram.Size(
    observers: 30, posters: 15, delegates: 25, askers: 20, holders: 10)

  private let machine: Container

  init() throws {
    machine = try Container(
      enabled: ["tribuned.service", "tribuned.socket"],
      files: ["/etc/tribune/policy.d/crowd.policy": "allow * ** user:*\n"])
  }

  /// Disturbs the bus repeatedly while one crowd works inside and one outside of the container, and adds up their
  /// accounts. To repeat a run as the first one, set TRIBUNE_TEST_SEED to its printed seed.
  private func account(
    run: Int, during disturb: () throws -> Void, afterwards: ([CrowdProgram]) throws -> Void
  ) throws -> CrowdAccount {
    let seed = try #require(Seeds.all.last) &+ UInt64(run - Self.runs.lowerBound)
    var random = SplitMix64(seed: seed)
    let crowds = try [CrowdProgram.Side.inside, .outside].map { side in
      try CrowdProgram(side, of: Self.size, seed: random.next(), at: machine)
    }
    for crowd in crowds { try crowd.say("start") }
    for _ in 0..<Self.restarts {
      for crowd in crowds { try crowd.progress(Int.random(in: 1...8, using: &random)) }
      try disturb()
    }
    for crowd in crowds { try crowd.progress(5) }
    for crowd in crowds { try crowd.say("stop", until: "stopped") }
    for crowd in crowds { try crowd.say("settle", until: "settled") }
    try afterwards(crowds)

    try machine.does("tribunectl", "post", "load.end")
    var account = CrowdAccount()
    for crowd in crowds { try crowd.say("account") }
    for crowd in crowds { try account.add(try crowd.lines(to: "end")) }
    print("seed \(seed), \(Self.restarts) restarts: \(account.summary)")
    #expect(account.problems.isEmpty)
    #expect(account.posted.count == 2 * Self.size.posters)
    #expect(account.observers.count == 2 * Self.size.observers)
    #expect(account.asked > 0)
    return account
  }

  /// Clients outside cannot prove their identity, so they may have two holds: the old ones stay for five seconds.
  private func expectHolds(areDoubled: Bool = false) throws {
    let holds = try machine.does("tribunectl", "-j", "holds").split(separator: "\n").map { line in
      try jsonObject(line)
    }
    let expected = ["inside", "outside"].flatMap { side in (0..<Self.size.holders).map { "\(side)-\($0)" } }
    let found = holds.compactMap { $0["object"] as? String }
    #expect((areDoubled ? Array(Set(found)) : found).sorted() == expected.sorted())
    #expect(holds.allSatisfy { $0["why"] as? String == "held by \($0["object"] as? String ?? "")" })
  }

  enum Disturbance: CaseIterable {
    case busRestarted, bothRestarted, keeperKilled

    fileprivate var command: [String] {
      switch self {
      case .busRestarted: ["restart", service]
      case .bothRestarted: ["restart", service, keeper]
      case .keeperKilled: ["kill", "--signal=KILL", keeper]
      }
    }
  }

  @Test(
    "disturbances under load disconnect no client, lose nothing, and cause no wrong verdict",
    arguments: Disturbance.allCases, runs)
  func unnoticed(_ disturbance: Disturbance, run: Int) throws {
    let account = try account(run: run) {
      try machine.does(["systemctl"] + disturbance.command)
    } afterwards: { crowds in
      try expectHolds()
      let list = try machine.does("tribunectl", "-j", "list")
      for crowd in crowds {
        for connection in crowd.connections {
          #expect(list.contains("\"connection\":\"\(connection)\""), "\(crowd.side) \(connection) is gone")
        }
      }
    }
    #expect(account.unsure.isEmpty && account.wrong.isEmpty)
    #expect(account.broken.isEmpty && account.interrupted.isEmpty)
    #expect(try machine.number("NRestarts") == 0)
  }

  @Test(
    "after kills under load, every loss is reported, no verdict is wrong, every hold stands",
    arguments: runs)
  func killed(run: Int) throws {
    let account = try account(run: run) {
      try machine.restart(by: "KILL")
    } afterwards: { _ in
      try expectHolds()
    }
    #expect(try machine.number("NRestarts") == Self.restarts)
    // A verdict may name a delegate that was disconnected while it was asked. Questions to old connections of clients
    // outside time out, and their misses are unknown.
    for verdict in account.wrong {
      #expect(
        verdict.hasPrefix("wrong kind.shouldStop ")
          && (verdict.contains(" vetoed: gone") || verdict.contains(" vetoed: timedOut")), "\(verdict)")
    }
    #expect(account.interrupted.allSatisfy { $0.hasPrefix("outside-") }, "\(account.interrupted)")
    for error in account.broken { #expect(error.hasSuffix("(connectionLost)"), "\(error)") }
  }

  @Test(
    "after kills with the keeper under load, no verdict is wrong, and every hold stands again",
    arguments: runs)
  func bothKilled(run: Int) throws {
    let account = try account(run: run) {
      let started = try machine.property("InvocationID")
      try machine.does(
        "kill", "-KILL", try machine.property("MainPID"), try machine.property("MainPID", of: Self.keeper))
      try machine.waitForStart(after: started)
    } afterwards: { _ in
      try expectHolds(areDoubled: true)
    }
    for verdict in account.wrong { #expect(verdict.hasPrefix("wrong kind.shouldStop "), "\(verdict)") }
  }

  @Test("1,000 connections with 10,000 registrations are soon taken over without a loss")
  func time() throws {
    let clients = try (0..<1000).map { _ in try RawClient.greeted(machine) }
    for client in clients {
      for serial in 1...10 { try client.observe("part\(serial).*", serial: Serial(serial)) }
    }
    for _ in 0..<5 {
      try machine.does("systemctl", "restart", Self.service)
      let ended = try machine.number("InactiveEnterTimestampMonotonic")
      let ready = try machine.number("ActiveEnterTimestampMonotonic")
      // An idle machine takes at most 300 ms. The limit catches a gross slowdown only.
      #expect((0..<10_000_000).contains(ready - ended), "taken over in \(ready - ended) µs")
    }

    let poster = try RawClient.greeted(machine)
    for serial in 1...10 { try poster.send(Post(), serial: Serial(serial), name: "part\(serial).didMove") }
    try poster.settle()
    for client in clients {
      for serial in 1...10 { #expect(try client.next(.post).name == "part\(serial).didMove") }
      try client.expectSilence()
    }
  }
}
