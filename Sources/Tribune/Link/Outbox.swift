// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Frames that wait to be written, and who writes them.
///
/// There is one writer at a time: the caller that appended while nobody wrote, or the link's own thread. The thread
/// takes over when the kernel has no space, when others appended meanwhile, and in a burst. Frames that are appended
/// during a write go with the next batch.
struct Outbox {
  /// What the appending caller must do, once the link's lock is released.
  enum Duty {
    case none
    /// Write the batch.
    case write(OutgoingBatch)
    /// Wake the link's thread, which writes.
    case wake
  }

  private enum Writer {
    case nobody, caller, thread
    /// There is no connection: appended frames wait.
    case noConnection
  }

  /// With more unwritten bytes than the high mark, posting waits until there are fewer than the low mark.
  static let highMark = 1 << 20
  static let lowMark = 1 << 18
  /// Posts that callers write themselves within one tick of the coarse clock. Further ones are a burst: they go out
  /// in batches, at the cost of a thread switch per batch instead of a system call per post.
  private static let callerPostsMax = 16

  private let passed: PassedCount
  private var pending: OutgoingBatch
  private var pendingBytes = 0
  private var spare: OutgoingBatch?
  /// A batch that was written in part; continues when the socket has space.
  private var stuck: OutgoingBatch?
  private var writer = Writer.nobody
  private var tick: Int64 = 0
  private var callerPosts = 0
  /// Whether the peer is gone for good: appended frames are discarded.
  private var isBroken = false
  /// Whether there will be another peer when this one is gone.
  private let survives: Bool
  /// Whether the peer is gone while a caller is still writing to it.
  private var isInterrupting = false

  /// Appended bytes that the kernel has not taken.
  private(set) var unwritten = 0
  var roomWaiters: [UInt64: Reply<Void>] = [:]

  var isFull: Bool { unwritten > Self.highMark && !isBroken }
  var isIdle: Bool { writer == .nobody }
  var isStuck: Bool { stuck != nil && !isFullOfFiles }
  /// Whether the stuck batch is to be tried again soon: the kernel has space, but the bus must take files first.
  private(set) var isFullOfFiles = false

  /// - Parameter survives: whether unsent frames wait for another peer when this one is gone.
  init(survives: Bool) {
    self.survives = survives
    passed = PassedCount()
    pending = OutgoingBatch(passed)
  }

  /// - Parameter canWait: whether nobody waits for a reply to the frame, so that it may go in a burst.
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

  /// A caller has written the batch that `append` gave it.
  ///
  /// - Returns: calls that waited for capacity, and whether the link's thread must be woken to continue.
  mutating func callerWrote(
    _ batch: OutgoingBatch, bytes: Int, _ progress: OutgoingBatch.Progress
  ) -> (waiters: [Reply<Void>], wake: Bool) {
    settle(batch, bytes: bytes, progress)
    guard writer != .noConnection else { return ([], true) }
    writer = stuck != nil || pendingBytes > 0 ? .thread : .nobody
    return (takeWaiters(), writer == .thread)
  }

  /// What the link's thread writes next; nil if there is nothing, or if the thread is not the writer.
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
      // The writer ends reading, and the end of reading notifies everyone.
      isBroken = true
      pending = OutgoingBatch(passed)
      pendingBytes = 0
      unwritten = 0
    }
  }

  // MARK: Between two connections

  /// The peer is gone. Frames that are appended from now on wait for the next.
  mutating func interrupt() {
    if writer == .caller { isInterrupting = true } else { writer = .noConnection }
  }

  /// Whether nobody uses the socket any more.
  var isInterrupted: Bool { writer == .noConnection }

  /// Whether frames wait for the next connection.
  var hasUnsent: Bool { stuck != nil || pendingBytes > 0 }

  /// Goes through unsent frames in order. Nobody may be writing any more.
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

  /// There is a connection again. Its thread writes the frames that wait.
  ///
  /// - Returns: calls that waited for capacity.
  mutating func resume() -> [Reply<Void>] {
    passed.reset()
    writer = .thread
    return takeWaiters()
  }

  private mutating func takeWaiters() -> [Reply<Void>] {
    // A broken connection is about to end, and its end resumes them with the reason.
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
