// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import TribuneWire

/// A program that was started, until it has ended.
///
/// One thread waits for each child: it alone reads the child's output, passes signals on and reaps, so
/// that a signal never reaches a stranger that was given the child's number.
package final class ChildProcess: Sendable {
  /// What the child reads as its standard input.
  package enum Input: Sendable {
    case inherited
    /// These bytes, from a file in memory: nothing has to be written while the child runs, and a child
    /// that does not read them breaks no pipe.
    case bytes([UInt8])
  }

  /// Where the child's standard output goes.
  package enum Output: Sendable {
    case inherited
    /// The first `limit` bytes are kept; the rest is read and thrown away.
    case captured(limit: Int)
  }

  package enum Termination: Equatable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)

    /// The status as shells give it: 128 and the signal's number for a child that was killed.
    package var shellStatus: Int32 {
      switch self {
      case .exited(let status): status
      case .killed(let signal): 128 + signal
      }
    }
  }

  package struct Ending: Equatable, Sendable {
    package var termination: Termination
    /// What was captured.
    package var output: [UInt8]

    package init(termination: Termination, output: [UInt8]) {
      self.termination = termination
      self.output = output
    }
  }

  package let pid: Int32
  private let signals: SignalRelay
  private let ending: Task<Ending, Never>

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - arguments: the program, looked up in `PATH` when it has no slash, and its arguments, as the bytes
  ///     that they are; not empty.
  ///   - environment: `NAME=value` each; nil is this process's own.
  ///   - leadsGroup: the child gets a process group of its own, and signals go to all of it.
  ///   - signalMask: the signals that the child starts with blocked.
  /// - Throws: why it could not be started: ENOENT, EACCES and so on.
  package init(
    _ arguments: [[UInt8]], environment: [[UInt8]]? = nil, input: Input = .inherited,
    output: Output = .inherited, leadsGroup: Bool = false, signalMask: SignalMask
  ) throws(Errno) {
    precondition(!arguments.isEmpty)
    let signals = try SignalRelay()
    self.signals = signals
    var request = try SpawnRequest()
    try request.setSignalMask(signalMask)
    if leadsGroup { try request.setOwnGroup() }
    if case .bytes(let bytes) = input {
      try request.give(MemoryFile.make(holding: bytes.rawBytes), as: STDIN_FILENO)
    }
    var captured: FileDescriptor?
    let limit: Int
    switch output {
    case .inherited: limit = 0
    case .captured(let most):
      limit = most
      let pipe = try Pipe()
      try request.give(pipe.writeEnd, as: STDOUT_FILENO)
      captured = .some(pipe.readEnd)
    }

    let pid = try request.start(arguments, environment: environment ?? Environment.entries)
    self.pid = pid
    let watched: CInt
    do {
      watched = try retrying { tribune_pidfd_open(pid, 0) }
    } catch {
      // Nobody would ever wait for it.
      kill(pid, SIGKILL)
      waitpid(pid, nil, 0)
      throw error
    }
    let capturedNumber = captured.take()?.release()
    let wait = { @Sendable () -> Ending in
      var wait = ChildWait(
        pid: pid, target: leadsGroup ? -pid : pid, ended: FileDescriptor(owning: watched),
        captured: capturedNumber.map { FileDescriptor(owning: $0) }, limit: limit)
      return wait.run(signals)
    }
    ending = Task {
      await withCheckedContinuation { continuation in
        do {
          try Thread.start { continuation.resume(returning: wait()) }
        } catch {
          // No thread is to be had. The child has to be waited for all the same.
          continuation.resume(returning: wait())
        }
      }
    }
  }

  /// Sends a signal to the child, or to its group if it leads one. Does nothing once the child has ended.
  package func send(signal: Int32) {
    signals.send(signal)
  }

  /// Waits for the child's end, whether or not the waiting task is cancelled.
  package func ended() async -> Ending {
    await ending.value
  }
}
