// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import TribuneWire

/// A program that this process has started.
///
/// One thread waits for each child. Only this thread reads the child's output, passes signals on and reaps, so that a
/// signal never reaches another process that was given the child's pid.
package final class ChildProcess: Sendable {
  /// The child's standard input.
  package enum Input: Sendable {
    case inherited
    /// These bytes, from a file in memory: nothing has to be written while the child runs, and a child
    /// that does not read them breaks no pipe.
    case bytes([UInt8])
  }

  /// The destination of the child's standard output.
  package enum Output: Sendable {
    case inherited
    /// The first `limit` bytes are kept; the rest is read and discarded.
    case captured(limit: Int)
  }

  /// The destination of the child's standard error.
  package enum Errors: Sendable {
    case inherited
    /// The last `limit` bytes are kept, and each part is handed to `take`, on the thread that waits for the child.
    case relayed(limit: Int, to: @Sendable ([UInt8]) -> Void)
  }

  package enum Termination: Equatable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)

    /// The status as shells give it: 128 plus the signal's number for a child that was killed.
    package var shellStatus: Int32 {
      switch self {
      case .exited(let status): status
      case .killed(let signal): 128 + signal
      }
    }
  }

  package struct Ending: Equatable, Sendable {
    package var termination: Termination
    package var output: [UInt8]
    /// The end of what the child wrote to standard error, if that was relayed.
    package var errors: [UInt8]

    package init(termination: Termination, output: [UInt8], errors: [UInt8] = []) {
      self.termination = termination
      self.output = output
      self.errors = errors
    }
  }

  package let pid: Int32
  private let signals: SignalRelay
  private let ending: Task<Ending, Never>

  /// - Parameters:
  ///   - arguments: the program and its arguments, as raw bytes; not empty. One without a slash is looked up in `PATH`.
  ///   - environment: `NAME=value` each; nil for this process's own.
  ///   - inherited: a descriptor that stays open in the child, under its number.
  ///   - leadsGroup: whether the child leads a process group of its own. Signals then go to the whole group.
  ///   - signalMask: the signals that the child starts with blocked.
  /// - Throws: the error if it cannot be started: ENOENT, EACCES and so on.
  package init(
    _ arguments: [[UInt8]], environment: [[UInt8]]? = nil, input: Input = .inherited,
    output: Output = .inherited, errors: Errors = .inherited, inheriting inherited: CInt? = nil,
    leadsGroup: Bool = false, signalMask: SignalMask
  ) throws(Errno) {
    precondition(!arguments.isEmpty)
    let signals = try SignalRelay()
    self.signals = signals
    var request = try SpawnRequest()
    try request.setSignalMask(signalMask)
    if leadsGroup { try request.setOwnGroup() }
    if let inherited { try request.inherit(inherited) }
    if case .bytes(let bytes) = input {
      try request.give(MemoryFile.make(holding: bytes.rawBytes), as: STDIN_FILENO)
    }
    var captured: FileDescriptor?
    if case .captured = output { captured = try request.givePipe(as: STDOUT_FILENO) }
    var relayed: FileDescriptor?
    if case .relayed = errors { relayed = try request.givePipe(as: STDERR_FILENO) }

    let pid = try request.start(arguments, environment: environment ?? Environment.entries)
    self.pid = pid
    let watched: CInt
    do {
      watched = try retrying { tribune_pidfd_open(pid, 0) }
    } catch {
      // Without the pidfd, nothing could wait for it.
      kill(pid, SIGKILL)
      waitpid(pid, nil, 0)
      throw error
    }
    let (capturedNumber, relayedNumber) = (captured.take()?.release(), relayed.take()?.release())
    let wait = { @Sendable () -> Ending in
      var wait = ChildWait(
        pid: pid, target: leadsGroup ? -pid : pid, ended: FileDescriptor(owning: watched),
        output: ChildPipe(capturedNumber, output), errors: ChildPipe(relayedNumber, errors))
      return wait.run(signals)
    }
    // The child is reaped even if no thread can be started.
    ending = Task { await Thread.result(of: wait) }
  }

  /// Sends a signal to the child, or to its group if it leads one. Does nothing once the child has ended.
  package func send(signal: Int32) { signals.send(signal) }

  /// Waits for the child's end, whether or not the waiting task is cancelled.
  package func ended() async -> Ending { await ending.value }
}
