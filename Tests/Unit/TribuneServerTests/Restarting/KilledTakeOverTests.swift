// SPDX-License-Identifier: Apache-2.0

import CStoreWatch
import Testing
import TribuneWire

@testable import TribuneLog
@testable import TribuneServer

@MainActor
private enum Stores {
  private static var log: WriteAheadLog?
  private static var slots: [SessionCounters?] = []

  static func ofFirstSlot(of log: WriteAheadLog, during body: () -> Void) -> [SessionCounters?] {
    self.log = log
    store_watch_begin(
      { MainActor.assumeIsolated { Stores.slots.append(Stores.log?.counters(of: 0)) } },
      { _ in preconditionFailure("a signal that no store into the log raised") })
    var mapped = log.mutableBytes(in: 0..<log.header.fileLength)
    unsafe mapped.withUnsafeMutableBytes { unsafe store_watch_add($0.baseAddress, $0.count) }
    store_watch_start(.max)
    body()
    store_watch_stop()
    return slots
  }
}

@Suite("A bus that is killed while it takes over", .timeLimit(.minutes(15)))
struct KilledTakeOverTests {
  @Test("always has the sent count of an idle connection in its log, so that nothing is sent twice")
  func counters() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        let bus = try SteppedBus()
        let client = try bus.client()
        try client.send(Observe(), serial: 1, name: "load.*")
        try bus.pass(client)
        let before = bus.server.wal.counters(of: 0)
        try #require(before?.controlSent == 3)
        var stores: [SessionCounters?] = []
        _ = try bus.successor { server, takeOver in
          stores = Stores.ofFirstSlot(of: server.wal, during: takeOver)
        }
        try #require(!stores.isEmpty && stores.allSatisfy { $0 == before })
      }
    }
  }
}
