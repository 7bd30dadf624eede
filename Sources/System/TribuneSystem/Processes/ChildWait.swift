// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// Passes signals to the thread that waits for a child, one byte each. Both ends of the pipe stay open, so a
/// late signal does no harm.
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

/// Waits for one child, on a thread that does nothing else.
struct ChildWait: ~Copyable {
  private let pid: pid_t
  /// The target of signals. It is negative for a process group, as in kill(2).
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
      // poll(2) fails only with EINTR, or while memory is short.
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
        // Reads only the present bytes, because other processes may write to the pipe for ever.
        _ = errors.readPresent()
        return ChildProcess.Ending(termination: reap(), output: output.kept, errors: errors.kept)
      }
    }
  }

  /// After a child that leads a group has got a signal and has ended, ends the rest of the group. Sends the
  /// signal to the group again: a shell blocks signals while it starts a command, so the first signal may
  /// have ended only the shell. Kills the rest of the group when the output pipe is closed, when SIGKILL is
  /// sent, or after a second. The caller reaps the child only afterwards, so the kernel does not reuse the
  /// group's id too early.
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
    // If the status were lost, the child would seem to have succeeded.
    precondition(reaped == pid, "only this thread may reap its child")
    // This does what the macros of <sys/wait.h> do, which Swift cannot import.
    let signal = status & 0x7F
    return signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)
  }
}

/// A pipe from a child, and the part of the child's output that is kept.
struct ChildPipe: ~Copyable, Sendable {
  /// The read end. It is nil at the end of the pipe, and for a child without this pipe.
  private var descriptor: FileDescriptor?
  private let limit: Int
  /// The closure that gets all bytes. If it is set, `kept` has the last bytes instead of the first.
  private let relay: (@Sendable ([UInt8]) -> Void)?
  private(set) var kept: [UInt8] = []

  /// - Parameter number: the read end, which this value then owns.
  init(_ number: CInt?, _ output: ChildProcess.Output) {
    descriptor = number.map { FileDescriptor(owning: $0) }
    limit = if case .captured(let limit) = output { limit } else { 0 }
    relay = nil
  }

  /// - Parameter number: the read end, which this value then owns.
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

  /// Reads the present bytes, or the end of the pipe. Returns false if the pipe has neither: a process, such
  /// as a child of the child, can still write, or the end was read before.
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
