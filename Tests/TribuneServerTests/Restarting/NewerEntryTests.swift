// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneLog
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@MainActor
@Suite("An entry of a kind that only newer versions know", .timeLimit(.minutes(15)))
struct NewerEntryTests {
  private static let kind: UInt8 = 200

  @Test("is skipped, and dropped by the next compaction")
  func passedOver() throws {
    let bus = try SteppedBus()
    let client = try bus.client()
    try client.send(Observe(), serial: 1, name: "a.b")
    try bus.pass(client)
    _ = bus.server.wal.append(
      kind: Self.kind, owner: 1 << 40, time: 2, RawSpan(), [1, 2, 3].raw)
    try client.send(Observe(), serial: 2, name: "a.c")
    try bus.pass(client)
    let next = try bus.successor()
    #expect(next.server.bus.value.observationCount == 2)
    #expect(next.server.sessions.lastID.rawValue < 1 << 40)
    var kinds: [UInt8] = []
    _ = next.server.wal.forEachEntry { kinds.append($0.rawKind) }
    #expect(!kinds.isEmpty && !kinds.contains(Self.kind))
  }
}
