// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Accepts connections on the sockets that the bus listens on. Pauses when the process has no descriptors for more.
final class Acceptor {
  /// Connections that one iteration accepts, so that whoever connects fast does not keep the bus from everything else.
  private static let perIteration = 64
  /// How long a pause lasts if no connection is closed before.
  static let pauseNanoseconds: UInt64 = 1_000_000_000

  private enum State {
    /// → paused
    case accepting
    /// Nothing can be had for another connection. → resumed
    case paused
    /// Accepting again, and not yet done with all that wait. → accepting, paused
    case resumed
    /// For good.
    case stopped
  }

  private let loop: EventLoop
  private let log: Log
  private(set) var listeners: [Listener] = []
  private var state = State.accepting

  init(_ loop: EventLoop, log: Log) {
    self.loop = loop
    self.log = log
  }

  func listen(on listener: Listener) throws(Errno) {
    try loop.add(listener.descriptor.rawValue, for: .readable, token: .listener(listeners.count))
    listeners.append(listener)
  }

  /// Accepts no more.
  func stop() {
    state = .stopped
    for listener in listeners {
      loop.unwatch(listener.descriptor.rawValue)
      listener.removeFile()
    }
  }

  /// Accepts what waits at a listener.
  ///
  /// - Parameters:
  ///   - count: connections that there are.
  ///   - admit: takes a new connection; throws when nothing can be had for it.
  /// - Returns: whether accepting pauses from now on.
  func accept(
    at index: Int, having count: () -> Int, admit: (consuming FileDescriptor) throws(Errno) -> Void
  ) -> Bool {
    do throws(Errno) {
      for _ in 0..<Self.perIteration {
        guard let descriptor = try UnixSocket.accept(listeners[index].descriptor) else {
          if case .resumed = state {
            state = .accepting
            log.info("accepting connections again")
          }
          return false
        }
        try admit(descriptor)
      }
    } catch {
      if error.isOutOfResources { return pause(because: error, having: count()) }
      log.error("cannot accept a connection: \(error)")
    }
    return false
  }

  private func pause(because error: Errno, having count: Int) -> Bool {
    switch state {
    case .accepting:
      log.warning(
        "no new connections for now, with \(count) open: \(error)", ["TRIBUNE_ERRNO": "\(error.rawValue)"])
    case .resumed: break
    case .paused, .stopped: return false
    }
    state = .paused
    watch(for: [])
    return true
  }

  /// There may be something for another connection again.
  func resume() {
    guard case .paused = state else { return }
    state = .resumed
    watch(for: .readable)
  }

  private func watch(for interest: Readiness) {
    for (index, listener) in listeners.enumerated() {
      do throws(Errno) {
        try loop.modify(listener.descriptor.rawValue, for: interest, token: .listener(index))
      } catch {
        preconditionFailure("cannot watch a listening socket: \(error)")
      }
    }
  }
}
