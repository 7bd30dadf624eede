// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneLog
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore
@testable import TribuneServer

@MainActor
@Suite("A bus that takes over from one that died", .timeLimit(.minutes(15)))
struct TakingOverTests {
  @Test("keeps a connection that the keeper does not have detached, if its client has registered something")
  func detached() throws {
    let bus = try SteppedBus()
    let (delegate, idle) = (try bus.client(), try bus.client())
    try delegate.send(Attach(patterns: ["load.*"]), serial: 1)
    try bus.pass(delegate)
    let next = try bus.successor(isKept: false)
    #expect(next.server.sessions.count == 1)
    #expect(next.server.sessions.detached(delegate.id) != nil)
    #expect(next.server.bus.value.delegateCount == 1)
    #expect(next.server.sessions.detached(idle.id) == nil)
    // This holds even if the next daemon dies before the client comes back.
    let last = try next.successor(isKept: false)
    #expect(last.server.sessions.detached(delegate.id) != nil)
    #expect(last.server.bus.value.delegateCount == 1)
  }

  @Test(
    "greets a client that was not greeted yet, which goes on unless it was sending a frame",
    arguments: [false, true])
  func greeting(isSending: Bool) throws {
    let bus = try SteppedBus()
    let stranger = try bus.stranger()
    let frames = ByteBuffer(capacity: 256)
    frames.appendFrame(Observe(), serial: 1, name: "load.*")
    // The beginning of another frame.
    if isSending { frames.append(UInt32(64)) }
    try stranger.send(frames)
    try bus.read(stranger)
    let before = try stranger.frames().count
    let next = try bus.successor()
    next.endIteration()
    let after = try stranger.frames(isGreeting: true).map(\.kind)
    #expect(before == 0 && after == (isSending ? [.error] : [.welcome, .ok]))
  }

  @Test("skips an entry of a kind that only newer versions know, and drops it at the next compaction")
  func newerEntry() throws {
    let kind: UInt8 = 200
    let bus = try SteppedBus()
    let client = try bus.client()
    try client.send(Observe(), serial: 1, name: "a.b")
    try bus.pass(client)
    _ = bus.server.wal.append(kind: kind, owner: 1 << 40, time: 2, RawSpan(), [1, 2, 3].raw)
    try client.send(Observe(), serial: 2, name: "a.c")
    try bus.pass(client)
    let next = try bus.successor()
    #expect(next.server.bus.value.observationCount == 2)
    #expect(next.server.sessions.lastID.rawValue < 1 << 40)
    var kinds: [UInt8] = []
    _ = next.server.wal.forEachEntry { kinds.append($0.rawKind) }
    #expect(!kinds.isEmpty && !kinds.contains(kind))
  }
}
