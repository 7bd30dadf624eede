// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// Signals for the waiting thread, one byte each. Both ends stay open, so a late signal does no harm.
final class ChildSignalPipe: Sendable {
  private let pipe: Pipe

  init() throws(Errno) {
    pipe = try Pipe()
    try pipe.readEnd.setNonblocking()
  }

  var descriptor: CInt { pipe.readEnd.rawValue }

  func send(_ signal: Int32) {
    var byte = UInt8(truncatingIfNeeded: signal)
    // The pipe has space for far more signals than one child gets.
    _ = unsafe write(pipe.writeEnd.rawValue, &byte, 1)
  }

  func take() -> [Int32] {
    var signals: [Int32] = []
    var byte: UInt8 = 0
    while unsafe read(descriptor, &byte, 1) == 1 { signals.append(Int32(byte)) }
    return signals
  }
}

/// Waits for one child, on its own thread.
struct ChildWait: ~Copyable {
  private let pid: pid_t
  /// Negative for a group, as in kill(2).
  private let target: pid_t
  private let ended: FileDescriptor
  private var output: ChildPipe
  private var errors: ChildPipe
  private var lastSignal: Int32?

  init(
    pid: pid_t, target: pid_t, ended: consuming FileDescriptor, output: consuming ChildPipe,
    errors: consuming ChildPipe
  ) {
    self.pid = pid
    self.target = target
    self.ended = ended
    self.output = output
    self.errors = errors
  }

  mutating func run(_ signals: ChildSignalPipe) -> ChildProcess.Ending {
    while true {
      var watched = [
        pollfd(fd: ended.rawValue, events: Int16(POLLIN), revents: 0),
        pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
        output.watched, errors.watched,
      ]
      let count = unsafe poll(&watched, nfds_t(watched.count), -1)
      // poll(2) fails only for EINTR and a temporary lack of memory.
      guard count > 0 else { continue }
      if watched[1].revents != 0 {
        for signal in signals.take() {
          kill(target, signal)
          lastSignal = signal
        }
      }
      if watched[2].revents != 0 { output.read() }
      if watched[3].revents != 0 { errors.read() }
      if watched[0].revents != 0 {
        while output.hasSpace, output.readPresent() {}
        endGroup(signals)
        // Reads only the available bytes: other writers may continue for ever.
        _ = errors.readPresent()
        return ChildProcess.Ending(termination: reap(), output: output.kept, errors: errors.kept)
      }
    }
  }

  /// Ends a group whose leader got a signal and has ended. The members get the signal again: a shell blocks signals
  /// while it starts a command, so a signal at that moment ends only the shell. Survivors are killed once the output
  /// pipe is closed or SIGKILL is sent, after a second at most. The leader is reaped later, so its id is not reused.
  private mutating func endGroup(_ signals: ChildSignalPipe) {
    guard target < 0, let lastSignal else { return }
    kill(target, lastSignal)
    let end = SystemClock.monotonicNanoseconds + 1_000_000_000
    while lastSignal != SIGKILL, output.isOpen {
      let now = SystemClock.monotonicNanoseconds
      guard now < end else { break }
      var watched = [
        pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0), output.watched,
      ]
      _ = unsafe poll(&watched, nfds_t(watched.count), CInt((end - now) / 1_000_000 + 1))
      if watched[0].revents != 0, signals.take().contains(SIGKILL) { break }
      if watched[1].revents != 0 { output.read() }
    }
    kill(target, SIGKILL)
  }

  private func reap() -> ChildProcess.Termination {
    var status: CInt = 0
    var reaped: pid_t
    repeat { reaped = unsafe waitpid(pid, &status, 0) } while reaped == -1 && errno == EINTR
    // Otherwise, a lost status would be a success.
    precondition(reaped == pid, "only this thread may reap its child")
    // The macros of <sys/wait.h>, which Swift cannot import.
    let signal = status & 0x7F
    return signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)
  }
}

/// A pipe from a child, and the kept part of its output.
struct ChildPipe: ~Copyable, Sendable {
  /// Nil at the end of the pipe, or without one.
  private var descriptor: FileDescriptor?
  private let limit: Int
  /// If set, the last bytes are kept instead of the first.
  private let relay: (@Sendable ([UInt8]) -> Void)?
  private(set) var kept: [UInt8] = []

  /// - Parameter number: a descriptor that this value then owns.
  init(_ number: CInt?, _ output: ChildProcess.Output) {
    descriptor = number.map { FileDescriptor(owning: $0) }
    limit = if case .captured(let limit) = output { limit } else { 0 }
    relay = nil
  }

  /// - Parameter number: a descriptor that this value then owns.
  init(_ number: CInt?, _ errors: ChildProcess.Errors) {
    descriptor = number.map { FileDescriptor(owning: $0) }
    switch errors {
    case .inherited: (limit, relay) = (0, nil)
    case .relayed(let limit, let relay): (self.limit, self.relay) = (limit, relay)
    }
  }

  private var number: CInt {
    switch descriptor {
    case .some(let descriptor): descriptor.rawValue
    // poll(2) skips negative descriptors.
    case .none: -1
    }
  }

  var isOpen: Bool { number >= 0 }
  var hasSpace: Bool { kept.count < limit }

  var watched: pollfd { pollfd(fd: number, events: Int16(POLLIN), revents: 0) }

  mutating func read() {
    let length = 65_536
    var part = [UInt8](repeating: 0, count: length)
    part.removeLast(length - max(0, unsafe Glibc.read(number, &part, length)))
    if part.isEmpty {
      descriptor = nil
    } else if let relay {
      relay(part)
      kept = Array((kept + part).suffix(limit))
    } else {
      kept += part.prefix(limit - kept.count)
    }
  }

  /// Returns false if the pipe is empty but open, as in a background child of the child.
  mutating func readPresent() -> Bool {
    var watched = watched
    guard unsafe poll(&watched, 1, 0) > 0 else { return false }
    read()
    return true
  }
}

struct Pipe: ~Copyable, Sendable {
  let readEnd: FileDescriptor
  let writeEnd: FileDescriptor

  init() throws(Errno) {
    var ends: [CInt] = [-1, -1]
    _ = try retrying { unsafe pipe2(&ends, O_CLOEXEC) }
    readEnd = FileDescriptor(owning: ends[0])
    writeEnd = FileDescriptor(owning: ends[1])
  }
}
