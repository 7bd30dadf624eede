// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneLog
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

/// The keeper of these buses asks for their place, and then follows a script.
@MainActor
@Suite("A bus that its keeper asks for its place", .timeLimit(.minutes(15)))
struct BusYieldingTests {
  @MainActor private struct Asked {
    let bus: SteppedBus
    let client: SteppedBus.Client
    let script: KeeperScript

    /// A bus in the middle of an iteration: its keeper has asked for its place, and a client has registered something.
    init(_ steps: [KeeperScript.Step]) throws {
      script = try KeeperScript(
        [
          .hears(.attach(.begin)), .says(.yieldRequest(logVersion: WriteAheadLog.version)),
          .says(.acknowledged(count: 0)), .keepsBatch,
        ] + steps)
      bus = try SteppedBus(keptAt: script.path)
      client = try bus.client()
      try client.send(Observe(), serial: 1, name: "load.*")
      bus.beginIteration()
      try bus.read(client)
      #expect(bus.keeper.flush(within: .seconds(60)))
      #expect(bus.keeper.yieldRequest == .received(logVersion: WriteAheadLog.version))
    }

    /// Checks that the bus serves its client, and that its log does not end with a hand-over.
    func expectServed() throws {
      try client.send(Observe(), serial: 2, name: "other")
      try bus.pass(client)
      #expect(try client.frames().map(\.serial) == [1, 2])
      #expect(bus.keeper.yieldRequest == .none)
      var kinds: [UInt8] = []
      _ = bus.server.wal.forEachEntry { kinds.append($0.rawKind) }
      #expect(!kinds.isEmpty && !kinds.contains(EntryKind.handoverEnd.rawValue))
    }

    func end() async {
      bus.keeper.leave(because: "the test ends")
      await script.expectEnd()
    }
  }

  @Test("gives its place, and does nothing from then on")
  func yields() async throws {
    let asked = try Asked([.hears(.yielded), .says(.finished)])
    #expect(!asked.bus.server.endIteration())
    #expect(!asked.bus.server.endIteration())
    // It has answered what came before.
    #expect(try asked.client.frames().map(\.serial) == [1])
    await asked.script.expectEnd()
  }

  @Test(
    "goes on when the keeper dies during the hand-over, or after it",
    arguments: [[.hearsBatch], [.hears(.yielded)]] as [[KeeperScript.Step]])
  func keeperDies(_ steps: [KeeperScript.Step]) async throws {
    let asked = try Asked(steps)
    #expect(asked.bus.server.endIteration())
    try asked.expectServed()
    await asked.script.expectEnd()
  }

  @Test("counts an answer that came during the hand-over as in time")
  func answerInTime() async throws {
    let asked = try Asked([.hears(.yielded), .says(.refusal("it has gone")), .hearsEnd])
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

  @Test("refuses if it is ending anyway, leaves everything to its keeper, and answers no later request")
  func askedTooLate() async throws {
    let asked = try Asked([
      .hears(.refusal("the bus is ending")), .says(.yieldRequest(logVersion: WriteAheadLog.version)),
      .hearsEnd,
    ])
    try asked.bus.server.handOver()
    #expect(asked.bus.keeper.flush(within: .seconds(60)))
    asked.bus.server.seal()
    while asked.bus.keeper.yieldRequest == .none { _ = asked.bus.keeper.flush(within: .milliseconds(100)) }
    #expect(!asked.bus.server.endIteration())
    #expect(asked.bus.keeper.yieldRequest == .received(logVersion: WriteAheadLog.version))
    await asked.end()
  }

  @Test("does not give its place if it ends for good")
  func ends() async throws {
    let asked = try Asked([.hears(.finished), .hearsEnd])
    asked.bus.server.stop(graceNanoseconds: 1_000_000_000)
    _ = asked.bus.server.endIteration()
    #expect(asked.bus.keeper.yieldRequest == .none)
    await asked.script.expectEnd()
  }
}
