// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneLog
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

/// What a bus does whose keeper asks for its place, and says then what the test has it say.
@MainActor
@Suite("A bus whose place another one wants", .timeLimit(.minutes(15)))
struct BusYieldingTests {
  @MainActor private struct Asked {
    let bus: SteppedBus
    let client: SteppedBus.Client
    let script: KeeperScript

    /// A bus in an iteration in which it has been asked, and a client has registered something.
    init(_ steps: [KeeperScript.Step]) throws {
      script = try KeeperScript(
        [
          .hears(.attach(.begin)), .says(.wanted(logVersion: WriteAheadLog.version)), .says(.taken(count: 0)),
          .keepsBatch,
        ] + steps)
      bus = try SteppedBus(keptAt: script.path)
      client = try bus.client()
      try client.send(Observe(), serial: 1, name: "load.*")
      bus.beginIteration()
      try bus.read(client)
      let isWhole = bus.keeper.flush(within: .seconds(60))
      #expect(isWhole && bus.keeper.wish == .heard(logVersion: WriteAheadLog.version))
    }

    /// The bus serves its client, and its log says that it does.
    func expectServed() throws {
      try client.send(Observe(), serial: 2, name: "other")
      try bus.pass(client)
      #expect(try client.frames().map(\.serial) == [1, 2])
      #expect(bus.keeper.wish == .none)
      var kinds: [UInt8] = []
      _ = bus.server.wal.forEachEntry { kinds.append($0.rawKind) }
      #expect(!kinds.isEmpty && !kinds.contains(EntryKind.handoverEnd.rawValue))
    }

    func end() async {
      bus.keeper.leave(because: "the test ends")
      await script.expectEnd()
    }
  }

  @Test("gives it, and nothing happens there any more")
  func yields() async throws {
    let asked = try Asked([.hears(.yours), .says(.over)])
    #expect(!asked.bus.server.endIteration())
    #expect(!asked.bus.server.endIteration())
    // What came before is answered.
    #expect(try asked.client.frames().map(\.serial) == [1])
    await asked.script.expectEnd()
  }

  @Test(
    "goes on when the keeper dies while it hands over, or has done so",
    arguments: [[.hearsBatch], [.hears(.yours)]] as [[KeeperScript.Step]])
  func keeperDies(_ steps: [KeeperScript.Step]) async throws {
    let asked = try Asked(steps)
    #expect(asked.bus.server.endIteration())
    try asked.expectServed()
    await asked.script.expectEnd()
  }

  @Test("takes an answer in time that came while it stood still")
  func answerInTime() async throws {
    let asked = try Asked([.hears(.yours), .says(.refusal("it has gone")), .hearsEnd])
    try asked.client.send(
      Attach(failurePolicy: .abstain, timeout: 1, patterns: ["load.shouldStop"]), serial: 2)
    try asked.client.send(Ask(), serial: 3, name: "load.shouldStop")
    try asked.bus.read(asked.client)
    let veto = Answer(query: QueryID(rawValue: 1), delegate: DelegateID(rawValue: 1), answer: .veto)
    try asked.client.send(veto, serial: 4)
    #expect(asked.bus.server.endIteration())
    let late = asked.bus.server.context.now.advanced(byMilliseconds: 2)
    repeat { asked.bus.beginIteration() } while asked.bus.server.context.now < late
    try asked.bus.pass(asked.client)
    #expect(asked.bus.server.bus.value.totals.vetoed == 1)
    await asked.end()
  }

  @Test("answers nobody who asks when it has handed over")
  func askedTooLate() async throws {
    let asked = try Asked([
      .hears(.refusal("the bus is ending")), .says(.wanted(logVersion: WriteAheadLog.version)), .hearsEnd,
    ])
    try asked.bus.server.handOver()
    asked.bus.server.seal()
    while asked.bus.keeper.wish == .none { _ = asked.bus.keeper.flush(within: .milliseconds(100)) }
    #expect(!asked.bus.server.endIteration())
    #expect(asked.bus.keeper.wish == .heard(logVersion: WriteAheadLog.version))
    await asked.end()
  }

  @Test("gives it to nobody when it ends anyway, and leaves everything to its keeper")
  func handsOver() async throws {
    let asked = try Asked([.hears(.refusal("the bus is ending")), .hearsEnd])
    try asked.bus.server.handOver()
    #expect(asked.bus.keeper.flush(within: .seconds(60)))
    await asked.end()
  }

  @Test("gives it to nobody when it ends for good")
  func ends() async throws {
    let asked = try Asked([.hears(.over), .hearsEnd])
    asked.bus.server.stop(graceNanoseconds: 1_000_000_000)
    _ = asked.bus.server.endIteration()
    #expect(asked.bus.keeper.wish == .none)
    await asked.script.expectEnd()
  }
}
