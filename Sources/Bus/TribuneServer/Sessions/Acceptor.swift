// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Accepts connections on the bus's sockets. Pauses while there is no descriptor, memory or counter slot for one.
final class Acceptor {
  /// Connections accepted from one listener in one iteration, so that fast clients do not starve the rest.
  private static let perIteration = 256
  /// How long a pause lasts if no connection is closed before.
  private static let pauseNanoseconds: UInt64 = 1_000_000_000

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
  private let context: ServerContext
  private(set) var listeners: [Listener] = []
  private var state = State.accepting

  init(_ loop: EventLoop, _ sessions: SessionTable, _ context: ServerContext) {
    (self.loop, self.sessions, self.context) = (loop, sessions, context)
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
        context.log.error("cannot change the mode of \(listener.path): \(error)")
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

  var isPaused: Bool { if case .paused = state { true } else { false } }

  /// Accepts the backlog of a listener.
  ///
  /// - Parameter receive: takes a new connection; throws when there are no resources for it.
  func accept(at index: Int, _ receive: (consuming FileDescriptor, Listener) throws(Errno) -> Void) {
    do throws(Errno) {
      for _ in 0..<Self.perIteration {
        guard let descriptor = try UnixSocket.accept(listeners[index].descriptor) else {
          if case .resumed = state {
            state = .accepting
            context.log.info("accepting connections again")
          }
          return
        }
        try receive(descriptor, listeners[index])
      }
    } catch {
      noteFailure(error)
    }
  }

  /// Pauses if there are no resources for another connection.
  func noteFailure(_ error: Errno) {
    if error.isOutOfResources {
      pause(because: error)
    } else {
      context.log.error("cannot accept a connection: \(error)")
    }
  }

  private func pause(because error: Errno) {
    switch state {
    case .accepting:
      context.log.warning(
        "no new connections for now, with \(sessions.count) open: \(error)",
        ["TRIBUNE_ERRNO": "\(error.rawValue)"])
    case .resumed: break
    case .paused, .stopped: return
    }
    state = .paused
    watch(for: [])
    context.schedule(.accept, .listener(0), afterNanoseconds: Self.pauseNanoseconds)
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
