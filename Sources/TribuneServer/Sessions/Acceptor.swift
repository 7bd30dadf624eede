// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Accepts connections on the bus's sockets. Pauses while there is no descriptor, memory or counter slot for one.
final class Acceptor {
  /// Connections accepted from one listener in one iteration, so that fast clients do not starve the rest.
  private static let perIteration = 64
  /// How long a pause lasts if no connection is closed before.
  static let pauseNanoseconds: UInt64 = 1_000_000_000

  private enum State {
    /// → paused, stopped
    case accepting
    /// There are no resources for another connection. → resumed, stopped
    case paused
    /// Accepting again; the backlog is not drained yet. → accepting, paused, stopped
    case resumed
    /// The bus is ending. Final.
    case stopped
  }

  private let loop: EventLoop
  private let sessions: SessionTable
  private let log: Log
  private(set) var listeners: [Listener] = []
  private var state = State.accepting

  init(_ loop: EventLoop, _ sessions: SessionTable, log: Log) {
    self.loop = loop
    self.sessions = sessions
    self.log = log
  }

  func listen(on listener: Listener) throws(Errno) {
    try loop.add(listener.descriptor.rawValue, for: .readable, token: .listener(listeners.count))
    listeners.append(listener)
  }

  /// Changes the permission bits of the socket files that this process owns.
  func setMode(_ mode: UInt32) {
    for listener in listeners {
      do throws(Errno) {
        try listener.setMode(mode)
      } catch {
        log.error("cannot change the mode of \(listener.path): \(error)")
      }
    }
  }

  /// Accepts no more connections.
  func stop() {
    state = .stopped
    for listener in listeners {
      loop.unwatch(listener.descriptor.rawValue)
      listener.removeFile()
    }
  }

  /// Accepts the backlog of a listener.
  ///
  /// - Parameter admit: takes a new connection; throws when there are no resources for it.
  /// - Returns: true if accepting has just been paused; the caller calls `resume` after `pauseNanoseconds`.
  func accept(at index: Int, admit: (consuming FileDescriptor) throws(Errno) -> Void) -> Bool {
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
      if error.isOutOfResources { return pause(because: error) }
      log.error("cannot accept a connection: \(error)")
    }
    return false
  }

  private func pause(because error: Errno) -> Bool {
    switch state {
    case .accepting:
      log.warning(
        "no new connections for now, with \(sessions.count) open: \(error)",
        ["TRIBUNE_ERRNO": "\(error.rawValue)"])
    case .resumed: break
    case .paused, .stopped: return false
    }
    state = .paused
    watch(for: [])
    return true
  }

  /// Ends a pause: resources may be free again.
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
