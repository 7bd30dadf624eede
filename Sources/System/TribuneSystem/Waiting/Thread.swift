// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Synchronization

package enum Thread {
  /// Blocks the calling thread. Use this function only to wait for conditions that no descriptor reports.
  package static func sleep(milliseconds: UInt32) { usleep(milliseconds * 1000) }

  /// An id that is unique among live threads.
  package struct ID: Equatable, Sendable {
    private let rawValue: pthread_t

    package static var current: ID { ID(rawValue: pthread_self()) }
  }

  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a thread that blocks all signals. Other threads then get them.
  package static func start(_ body: @escaping @Sendable () -> Void) throws(Errno) {
    var attributes = pthread_attr_t()
    var result = unsafe pthread_attr_init(&attributes)
    guard result == 0 else { throw Errno(rawValue: result) }
    defer { _ = unsafe pthread_attr_destroy(&attributes) }
    _ = unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))

    var all = sigset_t()
    var before = sigset_t()
    _ = unsafe sigfillset(&all)
    _ = unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { _ = unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }

    let handle = unsafe Unmanaged.passRetained(Body(body))
    var thread = pthread_t()
    result = unsafe pthread_create(
      &thread, &attributes,
      { argument in
        if let argument = unsafe argument {
          unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        }
        return nil
      }, handle.toOpaque())
    guard result == 0 else {
      unsafe handle.release()
      throw Errno(rawValue: result)
    }
  }

  private final class Gate: Sendable { let lock = Mutex(()) }

  /// Throws if this process cannot have as many threads as it and libdispatch need at first. Each of the six
  /// test threads waits until all have started, because all must exist at the same time.
  static func requireRoom() throws(Errno) {
    let gate = Gate()
    try gate.lock.withLock { _ throws(Errno) in
      for _ in 0..<6 { try start { gate.lock.withLock { _ in } } }
    }
  }

  /// Runs blocking work on a new thread. If no thread can be started, the work blocks one of Swift's threads.
  package static func result<Value: Sendable>(of body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      do throws(Errno) {
        try start { continuation.resume(returning: body()) }
      } catch {
        continuation.resume(returning: body())
      }
    }
  }
}
