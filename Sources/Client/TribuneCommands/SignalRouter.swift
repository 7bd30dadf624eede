// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// Runs the command of a verb. If a signal arrives before the command starts, the command does not run.
/// Signals that arrive while the command runs are relayed to the command.
actor SignalRouter {
  private var command: ChildProcess?
  private var early: [SignalWatch.Signal] = []
  private let interrupt: AsyncStream<Int32>.Continuation
  /// Ends with the number of the first signal that arrives before the command runs.
  nonisolated let interruption: Task<Int32, Never>

  static func routing(_ watch: SignalWatch) -> SignalRouter {
    let router = SignalRouter()
    Task { for await signal in watch.signals { await router.take(signal) } }
    return router
  }

  private init() {
    let (interruptions, interrupt) = AsyncStream<Int32>.makeStream()
    self.interrupt = interrupt
    interruption = Task {
      for await number in interruptions { return number }
      // This line is never reached: the stream is not finished, and the task is not cancelled.
      return 0
    }
  }

  private func take(_ signal: SignalWatch.Signal) {
    guard let command else {
      early.append(signal)
      interrupt.yield(signal.number)
      return
    }
    // A signal from the kernel comes from the terminal, for example at Ctrl-C. The command received it, too.
    if !signal.isFromKernel { command.send(signal: signal.number) }
  }

  private var interrupted: Int32? { early.first?.number }

  private func relay(to command: ChildProcess) {
    self.command = command
    for signal in early { command.send(signal: signal.number) }
  }

  /// Runs the command. If an option chose the bus, a tribunectl that the command runs uses the same bus.
  ///
  /// - Parameter socket: returns the socket of a connection, for the command to inherit. Even if this process
  ///   is killed, the connection's holds and action then stay until the command ends. If nil, the command
  ///   inherits no connection, and so cannot use this process's privileges on the bus.
  /// - Returns: how the command ended. If a signal prevented its start, the result is a kill by this signal.
  ///   If the start fails, this function reports the failure, and the result is exit status 126 or 127.
  nonisolated func run(
    _ command: [[UInt8]], inheriting socket: (() throws(Errno) -> FileDescriptor?)? = nil, in context: Context
  ) async -> ChildProcess.Termination {
    if let signal = await interrupted { return .killed(signal: signal) }
    let child: ChildProcess
    do throws(Errno) {
      if let socket = try socket?() {
        child = try Self.start(command, inheriting: socket.rawValue, in: context)
        socket.close()
      } else {
        child = try Self.start(command, inheriting: nil, in: context)
      }
    } catch {
      let failure = CommandError.cannotStart(command, error)
      context.terminal.report(failure.message)
      return .exited(failure.status)
    }
    await relay(to: child)
    return await child.ended().termination
  }

  private static func start(
    _ command: [[UInt8]], inheriting socket: Int32?, in context: Context
  ) throws(Errno) -> ChildProcess {
    try ChildProcess(
      command,
      environment: Environment.entries(setting: context.passesAddress ? context.addressVariables : []),
      inheriting: socket, signalMask: context.signals.maskBefore)
  }
}
