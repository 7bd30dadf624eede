// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// The frames that wait to be written, and the choice of the thread that writes them.
///
/// If the outbox is idle, a caller that appends a frame also writes the frame. The link's thread takes over
/// if the kernel has no space, if other callers appended frames during the write, or in a burst of posts.
/// Frames that are appended during a write go into the next batch.
struct Outbox {
  typealias Instant = ContinuousClock.Instant

  enum Duty {
    case none
    case write(OutgoingBatch)
    case wake
  }

  /// The thread that writes. Each arrow lists the values that can follow.
  private enum Writer {
    /// The outbox has no writer. → caller, thread, noConnection, broken
    case idle
    /// A caller writes. → idle, thread, lateCaller, noConnection, broken
    case caller
    /// The link's thread writes. → idle, noConnection, broken
    case thread
    /// A caller is still writing to a lost connection. → noConnection, broken
    case lateCaller
    /// Appended frames wait for a connection. → thread, broken
    case noConnection
    /// Appended frames are discarded. Final.
    case broken
  }

  private enum Unfinished {
    case none
    case stuck(OutgoingBatch)
    /// The kernel lacks memory, or the bus must first take passed files. The thread tries again periodically,
    /// because the kernel does not report when either has changed.
    case outOfResources(OutgoingBatch)

    var batch: OutgoingBatch? {
      switch self {
      case .none: nil
      case .stuck(let batch), .outOfResources(let batch): batch
      }
    }
  }

  /// If the unwritten bytes exceed the high mark, posting waits until they are below the low mark.
  static let highMark = 1 << 20
  static let lowMark = 1 << 18
  /// The number of posts that callers write themselves within one tick of the coarse clock. Further posts are
  /// a burst, which the link's thread writes in batches, to save system calls.
  private static let callerPostsMax = 16

  private let passed: PassedCount
  private var pending: OutgoingBatch
  private var pendingBytes = 0
  private var spare: OutgoingBatch?
  private var unfinished = Unfinished.none
  private var writer = Writer.idle
  private var tick: Int64 = 0
  private var callerPosts = 0
  /// True if the outbox keeps unsent frames for the next connection when the connection is lost.
  let survives: Bool
  private(set) var unwritten = 0
  private var capacityWaiters: [Serial: (reply: Reply<Void>, until: Instant?)] = [:]
  /// A lower bound of the deadlines of the calls that wait for capacity; nil without such deadlines.
  private(set) var nextCapacityDeadline: Instant?

  var isFull: Bool { unwritten > Self.highMark && writer != .broken }
  var isIdle: Bool { writer == .idle || writer == .broken }
  var isStuck: Bool { if case .stuck = unfinished { true } else { false } }
  var isOutOfResources: Bool { if case .outOfResources = unfinished { true } else { false } }

  init(survives: Bool) {
    self.survives = survives
    passed = PassedCount()
    pending = OutgoingBatch(passed)
  }

  /// Appends a frame, which is written together with the next appended frame.
  mutating func stage(_ fields: some FrameFields) {
    guard writer != .broken else { return }
    add(fields, Link.Message(), flags: .none, serial: 0)
  }

  private mutating func add(
    _ fields: some FrameFields, _ message: Link.Message, flags: FrameFlags, serial: Serial
  ) {
    let bytes = pending.append(fields, message, flags: flags, serial: serial)
    pendingBytes += bytes
    unwritten += bytes
  }

  /// - Parameter tick: the time of the coarse clock, for a post that may be in a burst; nil for other frames.
  mutating func append(
    _ fields: some FrameFields, _ message: Link.Message = Link.Message(), flags: FrameFlags = .none,
    serial: Serial, at tick: @autoclosure () -> Int64? = nil
  ) -> Duty {
    guard writer != .broken else { return .none }
    add(fields, message, flags: flags, serial: serial)
    guard writer == .idle else { return .none }
    if let tick = tick(), isBurst(at: tick) {
      writer = .thread
      return .wake
    }
    writer = .caller
    return .write(takePending())
  }

  /// Returns the calls that can stop waiting for capacity. If `wake` is true, the link's thread must wake,
  /// unless this thread itself calls this method.
  mutating func wrote(
    _ batch: OutgoingBatch, bytes: Int, _ progress: OutgoingBatch.Progress
  ) -> (waiters: [Reply<Void>], wake: Bool) {
    if writer == .broken { return ([], false) }
    unwritten -= bytes
    switch progress {
    case .whole: spare = batch
    case .stuck: unfinished = .stuck(batch)
    case .outOfResources: unfinished = .outOfResources(batch)
    case .failed where survives:
      unfinished = .stuck(batch)
      writer = .noConnection
    case .failed:
      // The thread whose write failed also ends reading. The end of the link then resumes all waiting calls.
      writer = .broken
      pending = OutgoingBatch(passed)
      pendingBytes = 0
      unwritten = 0
    }
    switch writer {
    case .caller: writer = hasUnsent ? .thread : .idle
    case .lateCaller: writer = .noConnection
    case .idle, .thread, .noConnection, .broken: break
    }
    return (takeWaiters(), writer == .thread || writer == .noConnection)
  }

  mutating func nextForThread() -> OutgoingBatch? {
    guard writer == .thread else { return nil }
    if let batch = unfinished.batch {
      unfinished = .none
      return batch
    }
    if pendingBytes > 0 { return takePending() }
    writer = .idle
    return nil
  }

  /// Returns the unsent frames. The caller must release them after unlocking, because their release closes
  /// files.
  mutating func end() -> [OutgoingBatch] {
    defer {
      (writer, unfinished, pending) = (.broken, .none, OutgoingBatch(passed))
      (pendingBytes, unwritten) = (0, 0)
    }
    return [pending] + [unfinished.batch].compactMap { $0 }
  }

  private mutating func takePending() -> OutgoingBatch {
    defer {
      pending = spare ?? OutgoingBatch(passed)
      spare = nil
      pendingBytes = 0
    }
    return pending
  }

  // MARK: Between two connections

  mutating func interrupt() { writer = writer == .caller ? .lateCaller : .noConnection }

  /// True if all writers have stopped using the lost socket.
  var isInterrupted: Bool { writer == .noConnection }

  var hasUnsent: Bool { unfinished.batch != nil || pendingBytes > 0 }

  /// Filters the unsent frames in order. If the outbox then has capacity, returns the calls that wait for
  /// capacity.
  mutating func sift(_ fate: (FrameView) -> OutgoingBatch.Fate) -> [Reply<Void>] {
    precondition(writer == .noConnection, "a writer still uses the frames")
    let rest = OutgoingBatch(passed)
    pendingBytes = (unfinished.batch?.moveUnsent(to: rest, fate) ?? 0) + pending.moveUnsent(to: rest, fate)
    unwritten = pendingBytes
    unfinished = .none
    pending = rest
    return takeWaiters()
  }

  mutating func resume() -> [Reply<Void>] {
    passed.reset()
    writer = .thread
    return takeWaiters()
  }

  // MARK: Waiting for capacity

  mutating func awaitCapacity(_ id: Serial, until deadline: Instant?, _ waiter: Reply<Void>) {
    capacityWaiters[id] = (waiter, deadline)
    if let deadline { nextCapacityDeadline = min(nextCapacityDeadline ?? deadline, deadline) }
  }

  mutating func stopAwaitingCapacity(_ id: Serial) -> Reply<Void>? {
    capacityWaiters.removeValue(forKey: id)?.reply
  }

  mutating func takeOverdue(at now: Instant) -> [Reply<Void>] {
    var overdue: [Reply<Void>] = []
    nextCapacityDeadline = nil
    for case (let id, (let waiter, let deadline?)) in capacityWaiters {
      if deadline <= now {
        capacityWaiters[id] = nil
        overdue.append(waiter)
      } else {
        nextCapacityDeadline = min(nextCapacityDeadline ?? deadline, deadline)
      }
    }
    return overdue
  }

  mutating func takeAllWaiters() -> [Reply<Void>] {
    defer { (capacityWaiters, nextCapacityDeadline) = ([:], nil) }
    return capacityWaiters.values.map(\.reply)
  }

  private mutating func takeWaiters() -> [Reply<Void>] {
    // If the writer is `broken`, the end of the link resumes these calls with the reason.
    guard !capacityWaiters.isEmpty, unwritten < Self.lowMark, writer != .broken else { return [] }
    return takeAllWaiters()
  }

  private mutating func isBurst(at now: Int64) -> Bool {
    if now != tick {
      tick = now
      callerPosts = 0
    }
    callerPosts += 1
    return callerPosts > Self.callerPostsMax
  }
}
