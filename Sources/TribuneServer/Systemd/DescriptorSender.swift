// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import Synchronization
import TribuneSystem

/// Sends descriptors to the service manager from a thread of its own, in order, many in one message.
///
/// Two threads share the queue, which is one of the few places with a lock, like `JournalWriter`. The lock is held
/// only while an entry is added or removed, never while the thread waits for the manager.
///
/// If the manager stops reading, only this thread blocks: the process's other notifications do not wait
/// (`ServiceNotifier`). The capacity of the store limits what is queued.
nonisolated final class DescriptorSender: Sendable {
  /// Descriptors that the kernel passes in one message (SCM_MAX_FD).
  static let batchMax = 253
  /// How long the manager gets to notice closed connections, after it has read everything that was sent.
  private static let noticingMicroseconds: useconds_t = 20_000
  /// The delay before a retry after the kernel ran out of a resource.
  private static let retryMicroseconds: useconds_t = 10_000
  private static let barrierSeconds = 5

  private let capacity: Int
  private let queue: Mutex<StoreQueue>
  private let work: Wakeup
  private let flushed: Wakeup

  /// - Parameter held: how many descriptors the manager has from an earlier process.
  init(capacity: Int, held: Int) throws(Errno) {
    self.capacity = capacity
    queue = Mutex(StoreQueue(held: held))
    work = try Wakeup()
    flushed = try Wakeup()
  }

  /// - Parameter failed: called on the thread if the manager cannot be reached. Nothing is sent any more then.
  func start(failed: @escaping @Sendable (Errno) -> Void) throws(Errno) {
    try Thread.start { self.run(failed) }
  }

  // MARK: The bus's side

  /// - Parameter original: the bus's own descriptor, of which this is a copy.
  func store(_ copy: consuming FileDescriptor, of original: CInt, as name: StoredName) {
    let copy = copy.release()
    change { $0.append(copy, of: original, as: name) }
  }

  func forget(connection original: CInt) { change { $0.forget(connection: original) } }

  func remove(file number: UInt64) { change { $0.remove(file: number) } }

  func remove(named name: String, count: Int) { change { $0.remove(named: name, count: count) } }

  func removeState(count: Int) { change { $0.removeState(count: count) } }

  func end() { change { $0.end() } }

  private func change(_ body: (inout StoreQueue) -> Void) {
    let threadIsIdle = queue.withLock { queue in
      body(&queue)
      defer { queue.threadIsIdle = false }
      return queue.threadIsIdle
    }
    if threadIsIdle { work.signal() }
  }

  /// Waits until the manager has taken everything that was queued, for `limit` at most.
  ///
  /// - Returns: whether it has.
  func flush(within limit: Duration) -> Bool {
    let deadline = ContinuousClock.now + limit
    let ticket = queue.withLock { $0.beginFlush() }
    defer { queue.withLock { $0.endFlush() } }
    work.signal()
    while true {
      let (done, isEnded) = queue.withLock { ($0.flushDone, $0.isEnded) }
      if done >= ticket { return true }
      let left = ContinuousClock.now.duration(to: deadline)
      guard !isEnded, left > .zero else { return false }
      Self.wait(for: flushed, atMost: left)
    }
  }

  // MARK: The thread's side

  private func run(_ failed: (Errno) -> Void) {
    do throws(Errno) {
      while true {
        switch try step() {
        case .idle: Self.wait(for: work, atMost: .seconds(3600))
        case .ended: return
        case .send, .settle, .flush: break
        }
      }
    } catch {
      queue.withLock { $0.end() }
      flushed.signal()
      failed(error)
    }
  }

  /// Performs the next step.
  ///
  /// - Returns: the step that was performed.
  private func step() throws(Errno) -> StoreQueue.Step {
    let step = queue.withLock { $0.next(capacity: capacity, batchMax: Self.batchMax) }
    switch step {
    case .send(let message): try send(message)
    case .settle(let leaving): try settle(leaving)
    case .flush(let ticket):
      guard try barrier() else { break }
      queue.withLock { $0.flushDone = ticket }
      flushed.signal()
    case .idle, .ended: break
    }
    return step
  }

  /// Performs all pending steps, if there is no thread.
  func sendWaiting() throws(Errno) {
    while true {
      switch try step() {
      case .idle, .ended: return
      case .send, .settle, .flush: break
      }
    }
  }

  /// Sends a message with its descriptors, and closes the copies.
  private func send(_ message: StoreMessage) throws(Errno) {
    defer { message.close() }
    while true {
      let result = unsafe message.descriptors.withUnsafeBufferPointer { descriptors in
        unsafe sd_pid_notify_with_fds(
          0, 0, message.text, descriptors.baseAddress, CUnsignedInt(descriptors.count))
      }
      guard result < 0 else { return }
      let error = Errno(rawValue: -result)
      guard Self.isPassing(error), !queue.withLock({ $0.isEnded }) else { throw error }
      usleep(Self.retryMicroseconds)
    }
  }

  /// Gives the manager time to drop connections that have hung up. The manager sees a hang-up only after the messages
  /// sent before, so an almost full store would otherwise refuse what is sent next.
  private func settle(_ leaving: Int) throws(Errno) {
    guard try barrier() else { return }
    usleep(Self.noticingMicroseconds)
    queue.withLock { $0.left(leaving) }
  }

  /// Waits until the manager has read everything that was sent.
  ///
  /// - Returns: whether it has; it may need longer.
  private func barrier() throws(Errno) -> Bool {
    let result = sd_notify_barrier(0, UInt64(Self.barrierSeconds) * 1_000_000)
    guard result < 0 else { return true }
    let error = Errno(rawValue: -result)
    guard error == .timedOut || Self.isPassing(error) else { throw error }
    usleep(Self.retryMicroseconds)
    return false
  }

  /// Whether the error may pass: the kernel may regain the resource, and the number of descriptors in flight falls
  /// when the manager reads some.
  private static func isPassing(_ error: Errno) -> Bool {
    error.isOutOfResources || error == .tooManyPassed || error == .again || error == .interrupted
  }

  private static func wait(for wakeup: borrowing Wakeup, atMost limit: Duration) {
    do {
      _ = try Poll.wait(for: wakeup, timeout: limit)
    } catch {
      // The kernel has no memory for the wait now, but may have it a moment later.
      usleep(retryMicroseconds)
    }
    wakeup.clear()
  }
}
