// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore
@testable import TribuneLog
@testable import TribuneServer

@MainActor
@Suite("A bus that takes over from one that died", .timeLimit(.minutes(15)))
struct TakingOverTests {
  @Test("keeps a connection without a descriptor detached if its client has registrations")
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
    let last = try next.successor(isKept: false)
    #expect(last.server.sessions.detached(delegate.id) != nil)
    #expect(last.server.bus.value.delegateCount == 1)
  }

  @Test(
    "counts the losses of a client whose next connection was also lost, even if the client does not know that one"
  )
  func succession() throws {
    func register(_ client: SteppedBus.Client, for other: SteppedBus.Client, on bus: SteppedBus) throws {
      let frames = ByteBuffer(capacity: 256)
      frames.appendFrame(Observe(), serial: 1, name: "load.*")
      frames.appendFrame(Succeed(predecessor: other.id, received: 0), serial: 2)
      try client.send(frames)
      try bus.pass(client)
    }
    func post(on bus: SteppedBus) throws {
      let poster = try bus.client()
      try poster.send(Post(), serial: 1, name: "load.didStop")
      try bus.pass(poster)
    }
    let first = try SteppedBus()
    let observer = try first.client()
    try observer.send(Observe(), serial: 1, name: "load.*")
    try first.pass(observer)
    let second = try first.successor(isKept: false)
    try post(on: second)
    let heir = try second.client()
    try register(heir, for: observer, on: second)
    let third = try second.successor(isKept: false)
    try post(on: third)
    let last = try third.client()
    try register(last, for: observer, on: third)
    #expect(try last.frames(of: .lost, Lost.self).map(\.count) == [2])
    try last.send(Succeed(predecessor: heir.id, received: 0), serial: 3)
    try third.pass(last)
    let replies = try last.frames().map(\.kind)
    #expect(replies == [.ok])
  }

  @Test(
    "greets a client that was not greeted yet, which continues unless it was sending a frame",
    arguments: [false, true])
  func greeting(isSending: Bool) throws {
    let bus = try SteppedBus()
    let stranger = try bus.stranger()
    let frames = ByteBuffer(capacity: 256)
    frames.appendFrame(Observe(), serial: 1, name: "load.*")
    if isSending { frames.append(UInt32(64)) }
    try stranger.send(frames)
    try bus.read(stranger)
    let before = try stranger.frames().count
    let next = try bus.successor()
    next.endIteration()
    let after = try stranger.frames(isGreeting: true).map(\.kind)
    #expect(before == 0 && after == (isSending ? [.error] : [.welcome, .ok]))
  }

  @Test("logs that it refuses a client without a greeting, so the next bus sends no hello after that")
  func refusal() throws {
    let bus = try SteppedBus()
    let stranger = try bus.stranger()
    let session = try bus.session(of: stranger)
    // As after a hand-over, and the next bus's death while it read the hello.
    bus.server.recorder.recordConnection(session)
    bus.server.recorder.keepOpen(session)
    bus.server.recorder.commit()
    bus.server.recorder.markReceiving(from: session)
    let next = try bus.successor()
    let frames = try stranger.frames(isGreeting: true).map(\.kind)
    #expect(frames == [.error])
    let counters = try #require(next.server.wal.counters(of: session.slot.index))
    #expect(counters.flags.contains(.sending))
  }

  @Test("commits the frames of a query whose asker has gone together with the query's end")
  func cancelled() throws {
    let bus = try SteppedBus()
    let (delegate, asker) = (try bus.client(), try bus.client())
    try delegate.send(Attach(patterns: ["load.*"]), serial: 1)
    try bus.pass(delegate)
    try asker.send(Ask(), serial: 1, name: "load.shouldStop")
    try bus.pass(asker)
    try bus.session(of: asker).isKept = false
    let before = bus.firstCommittedLength
    let next = try bus.successor()
    next.server.sender.flushDeferred()
    next.endIteration()
    let frames = try delegate.frames().map(\.kind)
    #expect(frames == [.ok, .question, .concluded])
    #expect(next.server.bus.value.queryCount == 0 && next.firstCommittedLength == before)
  }

  @Test("keeps the chain of a delegate that replaced others and left during a compaction")
  func replaced() throws {
    let bus = try SteppedBus()
    let replaced = try bus.client()
    try replaced.send(Attach(patterns: ["load.*"]), serial: 1)
    try bus.pass(replaced)
    // Makes a compaction due, whose first step ends behind this entry.
    _ = bus.server.wal.append(
      kind: 200, owner: 1, time: 1, RawSpan(), [UInt8](repeating: 0, count: 1 << 20).raw)
    let setter = try bus.client()
    try bus.pass()
    try setter.send(Attach(patterns: ["load.*"], isSet: true), serial: 1)
    bus.beginIteration()
    try bus.read(setter)
    bus.server.sessions.dismissLater(try bus.session(of: setter), WireError(.frameTimeout, "it is late"))
    try #require(bus.server.wal.isCompacting)
    bus.endIteration()
    try #require(!bus.server.wal.isCompacting)
    #expect(try bus.successor().server.bus.value.delegateCount == 0)
  }

  @Test("skips an entry of a kind from newer versions, and drops it at the next compaction")
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

extension SteppedBus {
  fileprivate var firstCommittedLength: UInt64 {
    server.wal.mapping.load(at: LogHeader.committedOffset(ofSegment: 0))
  }
}
