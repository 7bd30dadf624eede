// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// What waits to be written, and who writes it.
///
/// One writer at a time: the caller that appended while nobody wrote, or the link's own thread, which
/// takes over when the kernel has no room, when others appended meanwhile, and in a burst. What is
/// appended while somebody writes goes with the next batch.
struct Outbox {
  /// What whoever appended has to do, once the link's lock is free.
  enum Duty {
    case none
    /// Write the batch.
    case write(OutgoingBatch)
    /// Wake the link's thread, which writes.
    case wake
  }

  private enum Writer {
    case nobody, caller, thread
    /// There is nobody to write to: what is appended waits.
    case noConnection
  }

  /// Over this many bytes unwritten, posting waits; under the low mark it goes on.
  static let highMark = 1 << 20
  static let lowMark = 1 << 18
  /// Posts that their callers write themselves within one tick of the coarse clock. Further ones are a
  /// burst: they go out in batches, at the cost of a thread switch each batch rather than a system call
  /// each post.
  private static let callerPostsMax = 16

  private let passed: PassedCount
  private var pending: OutgoingBatch
  private var pendingBytes = 0
  private var spare: OutgoingBatch?
  /// Written in part: goes on when the socket has room.
  private var stuck: OutgoingBatch?
  private var writer = Writer.nobody
  private var tick: Int64 = 0
  private var callerPosts = 0
  /// The peer is gone, and there will be no other: what is appended goes nowhere.
  private var isBroken = false
  /// There will be another peer when this one is gone.
  private let survives: Bool
  /// The peer is gone, and a caller is still writing to it.
  private var isInterrupting = false

  /// Bytes that were appended and that the kernel has not taken.
  private(set) var unwritten = 0
  var roomWaiters: [UInt64: Reply<Void>] = [:]

  var isFull: Bool { unwritten > Self.highMark && !isBroken }
  var isIdle: Bool { writer == .nobody }
  var isStuck: Bool { stuck != nil && !isFullOfFiles }
  /// What is stuck is to be tried again soon, though the kernel has room for it.
  private(set) var isFullOfFiles = false

  /// - Parameter survives: whether what is not sent when the peer is gone waits for another.
  init(survives: Bool) {
    self.survives = survives
    passed = PassedCount()
    pending = OutgoingBatch(passed)
  }

  /// - Parameter canWait: nobody waits for a reply to the frame, so that it may go in a burst.
  mutating func append<F: FrameFields>(
    _ fields: F, flags: FrameFlags = .none, serial: Serial, name: String = "",
    object: String = "",
    payload: [UInt8] = [], file: MemoryFile? = nil, canWait: Bool = false
  ) -> Duty {
    guard !isBroken else { return .none }
    note(
      pending.append(
        fields, flags: flags, serial: serial, name: name, object: object, payload: payload, file: file))
    guard writer == .nobody else { return .none }
    if canWait, isBurst() {
      writer = .thread
      return .wake
    }
    writer = .caller
    return .write(takePending())
  }

  /// A caller has written the batch that `append` told it to.
  ///
  /// - Returns: those who waited for room, and whether the link's thread has to be woken to go on.
  mutating func callerWrote(
    _ batch: OutgoingBatch, bytes: Int, _ progress: OutgoingBatch.Progress
  ) -> (waiters: [Reply<Void>], wake: Bool) {
    settle(batch, bytes: bytes, progress)
    guard writer != .noConnection else { return ([], true) }
    writer = stuck != nil || pendingBytes > 0 ? .thread : .nobody
    return (takeWaiters(), writer == .thread)
  }

  /// What the link's thread writes next; nil when there is nothing, or writing is not its part.
  mutating func nextForThread() -> OutgoingBatch? {
    guard writer == .thread else { return nil }
    if let batch = stuck {
      stuck = nil
      isFullOfFiles = false
      return batch
    }
    if pendingBytes > 0 { return takePending() }
    writer = .nobody
    return nil
  }

  /// The link's thread has written a batch.
  mutating func threadWrote(
    _ batch: OutgoingBatch, bytes: Int, _ progress: OutgoingBatch.Progress
  ) -> [Reply<Void>] {
    settle(batch, bytes: bytes, progress)
    return takeWaiters()
  }

  private mutating func note(_ bytes: Int) {
    pendingBytes += bytes
    unwritten += bytes
  }

  private mutating func takePending() -> OutgoingBatch {
    defer {
      pending = spare ?? OutgoingBatch(passed)
      spare = nil
      pendingBytes = 0
    }
    return pending
  }

  private mutating func settle(
    _ batch: OutgoingBatch, bytes: Int, _ progress: OutgoingBatch.Progress
  ) {
    unwritten -= bytes
    defer { if isInterrupting { writer = .noConnection } }
    switch progress {
    case .whole: spare = batch
    case .stuck: stuck = batch
    case .fullOfFiles:
      stuck = batch
      isFullOfFiles = true
    case .failed where survives:
      stuck = batch
      writer = .noConnection
    case .failed:
      // Whoever wrote sees to it that reading ends, which tells everyone.
      isBroken = true
      pending = OutgoingBatch(passed)
      pendingBytes = 0
      unwritten = 0
    }
  }

  // MARK: Between two connections

  /// The peer is gone. What is appended from now on waits for the next.
  mutating func interrupt() {
    if writer == .caller { isInterrupting = true } else { writer = .noConnection }
  }

  /// Nobody touches the socket any more.
  var isInterrupted: Bool { writer == .noConnection }

  /// Something waits for the next connection.
  var hasUnsent: Bool { stuck != nil || pendingBytes > 0 }

  /// Goes through what was not sent, in order, once nobody writes any more.
  mutating func sift(_ fate: (OutgoingBatch.UnsentFrame) -> OutgoingBatch.Fate) {
    precondition(writer == .noConnection, "somebody is writing what is to be gone through")
    let rest = OutgoingBatch(passed)
    pendingBytes = (stuck?.moveUnsent(to: rest, fate) ?? 0) + pending.moveUnsent(to: rest, fate)
    unwritten = pendingBytes
    stuck = nil
    isFullOfFiles = false
    isInterrupting = false
    pending = rest
  }

  /// There is a connection again, whose thread writes what waits.
  ///
  /// - Returns: those who waited for room.
  mutating func resume() -> [Reply<Void>] {
    passed.reset()
    writer = .thread
    return takeWaiters()
  }

  private mutating func takeWaiters() -> [Reply<Void>] {
    // A broken connection is about to end, and then they are told why.
    guard !roomWaiters.isEmpty, unwritten < Self.lowMark, !isBroken else { return [] }
    defer { roomWaiters = [:] }
    return Array(roomWaiters.values)
  }

  private mutating func isBurst() -> Bool {
    let now = CoarseClock.tick
    if now != tick {
      tick = now
      callerPosts = 0
    }
    callerPosts += 1
    return callerPosts > Self.callerPostsMax
  }
}
