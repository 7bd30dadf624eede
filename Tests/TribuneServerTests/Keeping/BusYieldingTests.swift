// SPDX-License-Identifier: Apache-2.0

import Testing
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
    init(
      logVersion: UInt32 = WriteAheadLog.version, by manager: ManagerStore? = nil,
      _ steps: [KeeperScript.Step]
    ) throws {
      script = try KeeperScript(
        [
          .hears(.attach(.begin)), .says(.wanted(logVersion: logVersion)), .says(.taken(count: 0)),
          .keepsBatch,
        ] + steps)
      bus = try SteppedBus(keptAt: script.path, and: manager)
      client = try bus.client()
      try client.send(Observe(), serial: 1, name: "load.*")
      bus.beginIteration()
      try bus.read(client)
      let isWhole = bus.keeper.flush(within: .seconds(60))
      #expect(isWhole && bus.keeper.wish == .heard(logVersion: logVersion))
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

  private nonisolated static let version = WriteAheadLog.version

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
    "says why it does not give it to a bus that could not read its log, or that no service manager started")
  func refuses() async throws {
    let log = Log(level: .error, destination: .standardError)
    for (version, manager, reason) in [
      (
        Self.version - 1, nil,
        "the bus's log has version \(Self.version), and \(Self.version - 1) is the last known"
      ),
      (
        Self.version, try ManagerStore(log: log),
        "a service manager has started this one: \"systemctl restart tribuned\" replaces it"
      ),
    ] {
      let asked = try Asked(logVersion: version, by: manager, [.hears(.refusal(reason)), .hearsEnd])
      #expect(asked.bus.server.endIteration())
      try asked.expectServed()
      await asked.end()
    }
  }

  @Test("goes on, and is kept, when the other one does not do its part")
  func goesOn() async throws {
    let asked = try Asked([.hears(.yours), .says(.refusal("it has gone")), .hearsEnd])
    #expect(asked.bus.server.endIteration())
    try asked.expectServed()
    #expect(asked.bus.keeper.flush(within: .seconds(60)))
    #expect(asked.bus.keeper.isKept(.connection(try asked.bus.session(of: asked.client).cookie)))
    await asked.end()
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
