// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneLog
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore
@testable import TribuneServer

/// The log has a whole transaction, in order, before anything of it is sent.
@MainActor
@Suite("Transactions", .timeLimit(.minutes(15)))
struct TransactionTests {
  // MARK: Deadlines

  /// An asker, and a delegate that does not answer.
  @MainActor private struct Overdue {
    let bus: SteppedBus
    let delegate: SteppedBus.Client
    let asker: SteppedBus.Client

    init(_ configuration: Configuration = Configuration(), queries: Serial = 1) throws {
      bus = try SteppedBus(configuration)
      (delegate, asker) = (try bus.client(), try bus.client())
      try delegate.send(Attach(timeout: 50, patterns: ["load.*"]), serial: 1)
      try bus.pass(delegate)
      for serial in 1...queries { try asker.send(Ask(), serial: serial, name: "load.shouldStop") }
      repeat { try bus.pass(asker) } while bus.server.hasWork
      let questions = try delegate.frames().count { $0.kind == .question }
      try #require(questions == queries)
    }

    /// The serials of the verdicts that the asker has received.
    func verdicts() throws -> [Serial] {
      try asker.frames().filter { $0.kind == .verdict }.map(\.serial)
    }
  }

  @Test("the next daemon acts on a deadline if this one dies during a later frame without effect")
  func dueAtFrame() throws {
    let overdue = try Overdue()
    let other = try overdue.bus.client()
    try other.send(Succeed(predecessor: ConnectionID(rawValue: 99), received: 0), serial: 1)
    overdue.bus.beginIterationWhenDue()
    try overdue.bus.read(other)
    let before = try overdue.verdicts()
    let next = try overdue.bus.successor()
    let after = try overdue.verdicts()
    let told = try overdue.delegate.frames().count { $0.kind == .concluded }
    #expect(before == [] && after == [1] && told == 1)
    withExtendedLifetime(next) {}
  }

  @Test("a deadline is decided once, even if the log is full")
  func dueWithoutRoom() throws {
    let overdue = try Overdue()
    overdue.bus.server.wal.admissionLimit = 0
    overdue.bus.beginIterationWhenDue()
    overdue.bus.server.interpreter.advance()
    overdue.bus.endIteration()
    let before = try overdue.verdicts()
    let next = try overdue.bus.successor()
    next.endIteration()
    let after = try overdue.verdicts()
    #expect(before == [1] && after == [])
  }

  @Test("a verdict at a deadline is sent once, even if the daemon dies right afterwards")
  func dueOnce() throws {
    // The bus sends verdicts before the iteration ends if they take over an eighth of the high mark.
    var configuration = Configuration()
    (configuration.queue.highMarkBytes, configuration.queue.lowMarkBytes) = (64 << 10, 16 << 10)
    configuration.queue.hardLimitBytes = 64 << 10
    let overdue = try Overdue(configuration, queries: 100)
    overdue.bus.beginIterationWhenDue()
    while overdue.bus.server.bus.value.queryCount > 0 {
      overdue.bus.beginIteration()
      overdue.bus.server.interpreter.advance()
    }
    let before = try overdue.verdicts()
    let next = try overdue.bus.successor()
    let after = try overdue.verdicts()
    #expect(!before.isEmpty)
    #expect((before + after).sorted() == Array(1...100))
    withExtendedLifetime(next) {}
  }

  // MARK: Greetings

  @Test(
    "the next daemon greets a client that was not greeted yet, which goes on unless it was sending a frame",
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

  // MARK: Detached sessions

  @Test("notifications that a suspended detached session has no room for are counted")
  func heldInVain() throws {
    var configuration = Configuration()
    configuration.notifications.bufferMaxBytes = 1000
    let bus = try SteppedBus(configuration)
    let (observer, poster) = (try bus.client(), try bus.client())
    try observer.send(Observe(suspension: .hold), serial: 1, name: "load.*")
    try observer.send(Suspend(isSuspended: true), serial: 2)
    // A client without a registration would have to reconnect.
    try poster.send(Observe(), serial: 1, name: "other")
    try bus.pass(observer, poster)
    // The beginning of a frame.
    let frame = ByteBuffer(capacity: 64)
    frame.append(UInt32(64))
    try observer.send(frame)
    try bus.read(observer)
    let next = try bus.successor()
    let post = ByteBuffer(capacity: 4096)
    for (serial, options) in zip(Serial(2)..., [[], .immediately] as [PostOptions]) {
      post.appendFrame(
        Post(options: options), serial: serial, name: "load.unit",
        text: String(repeating: "x", count: 900))
    }
    try poster.send(post)
    try next.pass(poster)
    let slot = try #require(next.server.sessions.detached(observer.id)).slot.index
    let counters = try #require(next.server.wal.counters(of: slot))
    #expect(counters.queued + counters.buffered == 2)
  }
}
