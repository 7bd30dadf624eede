// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import TribuneWire

/// A child process. One thread reaps it and sends it signals, so a signal never reaches a process that reuses
/// its pid.
package final class ChildProcess: Sendable {
  package enum Input: Sendable {
    case inherited
    /// The child's input is a file in memory. Unlike a pipe, a file causes no error if the child does not
    /// read its input.
    case bytes([UInt8])
  }

  package enum Output: Sendable {
    case inherited
    /// Keeps the first `limit` bytes. Reads the rest and drops it.
    case captured(limit: Int)
  }

  package enum Errors: Sendable {
    case inherited
    /// Passes all bytes to the closure, and keeps the last `limit` bytes. The thread that waits for the child
    /// calls the closure.
    case relayed(limit: Int, to: @Sendable ([UInt8]) -> Void)
  }

  package enum Termination: Equatable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)

    /// 128 plus the signal's number for a killed child, as in shells.
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
    package var errors: [UInt8]

    package init(termination: Termination, output: [UInt8], errors: [UInt8] = []) {
      self.termination = termination
      self.output = output
      self.errors = errors
    }
  }

  package let pid: Int32
  private let signals: ChildSignalPipe
  private let ending: Task<Ending, Never>

  /// - Parameters:
  ///   - arguments: the program and its arguments. A program without a slash is searched in `PATH`.
  ///   - environment: the variables, each as `NAME=value`; nil for this process's own.
  ///   - inherited: a descriptor that has the same number in the child.
  ///   - leadsGroup: if true, the child leads a new process group, and signals go to the whole group.
  ///   - signalMask: the signals that the child blocks when it starts.
  package init(
    _ arguments: [[UInt8]], environment: [[UInt8]]? = nil, input: Input = .inherited,
    output: Output = .inherited, errors: Errors = .inherited, inheriting inherited: CInt? = nil,
    leadsGroup: Bool = false, signalMask: SignalMask
  ) throws(Errno) {
    precondition(!arguments.isEmpty)
    let signals = try ChildSignalPipe()
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
      // Without the pidfd, this process could not wait for the child.
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
    // Even if a new thread cannot be started, `Thread.result` runs `wait`, which reaps the child.
    ending = Task { await Thread.result(of: wait) }
  }

  /// Sends a signal to the child, or to its process group if the child leads one.
  package func send(signal: Int32) { signals.send(signal) }

  /// Waits until the child ends, even if the task is cancelled.
  package func ended() async -> Ending { await ending.value }
}
