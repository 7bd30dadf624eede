// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// Frames on their way out, back to back.
///
/// It passes between the link's state and whoever writes. The lock inside is never waited for, because
/// only one of them knows the batch at a time; it is what lets the bytes change hands.
final class OutgoingBatch: Sendable {
  /// What became of a batch that was being written.
  enum Progress {
    /// The kernel has all of it.
    case whole
    /// The kernel has no room for the rest now.
    case stuck
    /// The bus is to take some of the files first that were passed to it, which no event tells.
    case fullOfFiles
    case failed(Errno)
  }

  fileprivate struct Content {
    var buffer = ByteBuffer(capacity: initialCapacity)
    let slices = GatherList(capacity: 1)
    var written = 0
    /// Files whose frames have not begun to be written, and where these begin.
    var files: [(start: Int, file: MemoryFile)] = []
  }

  private static let initialCapacity = 4096
  /// Capacity that is kept for the next frames.
  private static let keptCapacity = 262_144

  /// Bytes of files that may be on their way to a bus that does not take them: they count nowhere else.
  private static let passedMax = 64 << 20

  private let content = Mutex(Content())
  /// Of the files that were passed since the bus had last taken everything; all batches of a link share it.
  private let passed: PassedCount

  init(_ passed: PassedCount) { self.passed = passed }

  /// - Parameter file: goes with the frame's first byte.
  /// - Returns: the bytes that were appended, with those of the file.
  func append<F: FrameFields>(
    _ fields: F, flags: FrameFlags, serial: Serial, name: String, object: String, payload: [UInt8],
    file: MemoryFile?
  ) -> Int {
    content.withLock { content in
      let before = content.buffer.count
      if let file { content.files.append((before, file)) }
      content.buffer.appendFrame(
        fields, flags: flags, serial: serial, name: name, object: object, payload: payload.rawBytes)
      return content.buffer.count - before + (file?.length ?? 0)
    }
  }

  func appendHello() -> Int {
    content.withLock { content in
      Hello(capabilities: .descriptors).append(to: content.buffer)
      return Hello.length
    }
  }

  /// Writes what the kernel takes.
  ///
  /// - Returns: the bytes it took, with those of files; a batch that was written whole is empty again.
  func write(to socket: borrowing FileDescriptor) -> (bytes: Int, progress: Progress) {
    content.withLock { content in
      var taken = 0
      do throws(Errno) {
        while content.written < content.buffer.count {
          let (range, file) = content.nextSend
          if let file, try !passed.hasRoom(for: file.length, Self.passedMax, on: socket) {
            return (taken, .fullOfFiles)
          }
          content.slices.append(range, of: content.buffer, with: file)
          let count = try content.slices.send(to: socket)
          if count == 0 { return (taken, .stuck) }
          content.written += count
          taken += count
          if let file {
            content.files.removeFirst()
            passed.add(file.length)
            taken += file.length
          }
        }
      } catch  where error == .tooManyPassed {
        return (taken, .fullOfFiles)
      } catch {
        return (taken, .failed(error))
      }
      content.written = 0
      if content.buffer.capacity > Self.keptCapacity {
        content.buffer = ByteBuffer(capacity: Self.initialCapacity)
      } else {
        content.buffer.truncate(to: 0)
      }
      return (taken, .whole)
    }
  }
}

extension OutgoingBatch.Content {
  /// What can be written at once: up to the next frame with a file, or from it on.
  fileprivate var nextSend: (range: Range<Int>, file: MemoryFile?) {
    guard let next = files.first else { return (written..<buffer.count, nil) }
    guard next.start == written else { return (written..<next.start, nil) }
    return (written..<(files.count > 1 ? files[1].start : buffer.count), next.file)
  }
}

/// Bytes of files that the bus may not have taken yet. Only whoever writes touches it.
final class PassedCount: Sendable {
  private let count = Atomic(0)

  func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }

  /// Whether another file may follow those that were passed.
  func hasRoom(
    for bytes: Int, _ limit: Int, on socket: borrowing FileDescriptor
  ) throws(Errno) -> Bool {
    let passed = count.load(ordering: .relaxed)
    guard passed > 0, passed + bytes > limit else { return true }
    guard try UnixSocket.isDrained(socket) else { return false }
    count.store(0, ordering: .relaxed)
    return true
  }
}

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
  /// The peer is gone: what is appended goes nowhere.
  private var isBroken = false

  /// Bytes that were appended and that the kernel has not taken.
  private(set) var unwritten = 0
  var roomWaiters: [UInt64: Reply<Void>] = [:]

  var isFull: Bool { unwritten > Self.highMark && !isBroken }
  var isIdle: Bool { writer == .nobody }
  var isStuck: Bool { stuck != nil && !isFullOfFiles }
  /// What is stuck is to be tried again soon, though the kernel has room for it.
  private(set) var isFullOfFiles = false

  init() {
    passed = PassedCount()
    pending = OutgoingBatch(passed)
  }

  /// - Parameter canWait: nobody waits for a reply to the frame, so that it may go in a burst.
  mutating func append<F: FrameFields>(
    _ fields: F, flags: FrameFlags = .init(rawValue: 0), serial: Serial, name: String = "",
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

  mutating func appendHello() -> Duty {
    note(pending.appendHello())
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
    switch progress {
    case .whole: spare = batch
    case .stuck: stuck = batch
    case .fullOfFiles:
      stuck = batch
      isFullOfFiles = true
    case .failed:
      // Whoever wrote sees to it that reading ends, which tells everyone.
      isBroken = true
      pending = OutgoingBatch(passed)
      pendingBytes = 0
      unwritten = 0
    }
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
