// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Accepts connections on the bus's sockets. Pauses without descriptors, memory or counter slots in the log.
final class Acceptor {
  /// The most connections that the bus accepts from one listener in an iteration. Clients that connect
  /// constantly must not starve other work.
  private static let perIteration = 256
  /// The longest pause. A pause ends earlier if a connection is closed.
  private static let pauseNanoseconds: UInt64 = 1_000_000_000

  /// An arrow names the states that may follow.
  private enum State {
    /// → paused, stopped
    case accepting
    /// Resources are exhausted. → resumed, stopped
    case paused
    /// The bus accepts again, but the kernel's backlog is not empty yet. → accepting, paused, stopped
    case resumed
    /// Final.
    case stopped
  }

  private let loop: EventLoop
  private let sessions: SessionTable
  private let context: ServerContext
  private(set) var listeners: [Listener] = []
  private var state = State.accepting

  init(_ loop: EventLoop, _ context: ServerContext) {
    (self.loop, sessions, self.context) = (loop, context.sessions, context)
  }

  func listen(on listener: Listener) throws(Errno) {
    try loop.add(listener.descriptor.rawValue, for: .readable, token: .listener(listeners.count))
    listeners.append(listener)
  }

  func setMode(_ mode: UInt32) {
    for listener in listeners {
      do throws(Errno) {
        try listener.setMode(mode)
      } catch {
        context.log.error("cannot change the mode of \(listener.path): \(error)")
      }
    }
  }

  func stop() {
    state = .stopped
    for listener in listeners {
      loop.unwatch(listener.descriptor.rawValue)
      listener.removeFile()
    }
  }

  var isPaused: Bool { if case .paused = state { true } else { false } }

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
      handleFailure(error)
    }
  }

  func handleFailure(_ error: Errno) {
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
