// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// Signals on their way to the thread that waits for a child, one byte each.
///
/// Both ends stay open as long as this object: a signal that is sent too late is never read, and breaks nothing.
final class SignalRelay: Sendable {
  private let pipe: Pipe

  init() throws(Errno) {
    pipe = try Pipe()
    try pipe.readEnd.setNonblocking()
  }

  /// Readable when there is a signal to pass on.
  var descriptor: CInt { pipe.readEnd.rawValue }

  func send(_ signal: Int32) {
    var byte = UInt8(truncatingIfNeeded: signal)
    // The pipe has space for far more signals than one child ever gets.
    _ = unsafe write(pipe.writeEnd.rawValue, &byte, 1)
  }

  /// The signals that were sent and not taken yet.
  func take() -> [Int32] {
    var signals: [Int32] = []
    var byte: UInt8 = 0
    while unsafe read(descriptor, &byte, 1) == 1 { signals.append(Int32(byte)) }
    return signals
  }
}

/// The wait for one child, on a thread of its own.
struct ChildWait: ~Copyable {
  private let pid: pid_t
  /// The receiver of signals: the child, or its group as a negative number.
  private let target: pid_t
  /// Readable once the child has ended.
  private let ended: FileDescriptor
  private var captured: FileDescriptor?
  private let limit: Int
  private var output: [UInt8] = []
  private var lastSignal: Int32?

  init(
    pid: pid_t, target: pid_t, ended: consuming FileDescriptor, captured: consuming FileDescriptor?,
    limit: Int
  ) {
    self.pid = pid
    self.target = target
    self.ended = ended
    self.captured = captured
    self.limit = limit
  }

  mutating func run(_ signals: SignalRelay) -> ChildProcess.Ending {
    while true {
      var watched = [
        pollfd(fd: ended.rawValue, events: Int16(POLLIN), revents: 0),
        pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
        // poll(2) skips negative descriptors.
        pollfd(fd: captured?.rawValue ?? -1, events: Int16(POLLIN), revents: 0),
      ]
      let count = unsafe poll(&watched, nfds_t(watched.count), -1)
      // It fails only for EINTR and a temporary lack of memory.
      guard count > 0 else { continue }
      if watched[1].revents != 0 {
        for signal in signals.take() {
          kill(target, signal)
          lastSignal = signal
        }
      }
      if watched[2].revents != 0 { readOutput() }
      if watched[0].revents != 0 {
        readRemainingOutput()
        endGroup(signals)
        return ChildProcess.Ending(termination: reap(), output: output)
      }
    }
  }

  /// Reads once. The pipe has data or is at its end.
  private mutating func readOutput() {
    guard let descriptor = captured?.rawValue else { return }
    let length = 65_536
    var part = [UInt8](repeating: 0, count: length)
    part.removeLast(length - max(0, unsafe read(descriptor, &part, length)))
    output += part.prefix(limit - output.count)
    if part.isEmpty { captured = nil }
  }

  /// Reads the child's last output. Does not wait for other processes that have the pipe, such as a child of the child
  /// that continues in the background.
  private mutating func readRemainingOutput() {
    while let descriptor = captured?.rawValue, output.count < limit {
      var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&watched, 1, 0) > 0 else { return }
      readOutput()
    }
  }

  /// Ends the remaining members of a group whose leader got a signal and has ended. The members get the last signal
  /// again: a shell blocks signals while it starts a command, so a signal at that moment has ended the shell alone.
  /// Members that survive it are killed when no process has the output pipe any more or when SIGKILL is sent, and after
  /// a second at the latest. Until the leader is reaped, no other group can have its id.
  private mutating func endGroup(_ signals: SignalRelay) {
    guard target < 0, let lastSignal else { return }
    kill(target, lastSignal)
    let end = SystemClock.monotonicNanoseconds + 1_000_000_000
    while lastSignal != SIGKILL, captured != nil {
      let now = SystemClock.monotonicNanoseconds
      guard now < end else { break }
      var watched = [
        pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: captured?.rawValue ?? -1, events: Int16(POLLIN), revents: 0),
      ]
      _ = unsafe poll(&watched, nfds_t(watched.count), CInt((end - now) / 1_000_000 + 1))
      if watched[0].revents != 0, signals.take().contains(SIGKILL) { break }
      if watched[1].revents != 0 { readOutput() }
    }
    kill(target, SIGKILL)
  }

  private func reap() -> ChildProcess.Termination {
    var status: CInt = 0
    while unsafe waitpid(pid, &status, 0) == -1, errno == EINTR {}
    // The macros of <sys/wait.h>, which Swift cannot import.
    let signal = status & 0x7F
    return signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)
  }
}

/// Both ends of a pipe, close-on-exec.
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
