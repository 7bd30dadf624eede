// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// Routes the signals of a guard or a hold, and runs its command. Before the command runs, a signal is a reason not to
/// run it. From then on, signals are passed on to the command.
actor SignalRouter {
  private var command: ChildProcess?
  private var early: [SignalWatch.Signal] = []
  private let interrupt: AsyncStream<Int32>.Continuation
  /// Ends at the first signal before the command runs, with its number.
  nonisolated let interruption: Task<Int32, Never>

  /// Routes the signals of the watch from now on.
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
      // The stream is never finished, and the task is never cancelled.
      return 0
    }
  }

  private func take(_ signal: SignalWatch.Signal) {
    guard let command else {
      early.append(signal)
      interrupt.yield(signal.number)
      return
    }
    // The terminal sends its signals to the command as well.
    if !signal.isFromKernel { command.send(signal: signal.number) }
  }

  private var interrupted: Int32? { early.first?.number }

  /// Passes all later signals on to the command, and those that came while it was being started.
  private func relay(to command: ChildProcess) {
    self.command = command
    for signal in early { command.send(signal: signal.number) }
  }

  /// Runs the command to its end. It inherits the connection: if this process is killed, what was registered over the
  /// connection stands until the command has ended, as a lock of flock(1) does. If an option chose the bus, a tribunectl
  /// that the command runs talks to the same one.
  ///
  /// - Parameter watch: runs as long as the command does, and is cancelled then.
  /// - Returns: how the command ended. If a signal came before, it does not run and counts as killed by that signal. If
  ///   it cannot be started, that is reported, and it counts as exited with a shell's status for that.
  nonisolated func run(
    _ command: [[UInt8]], over connection: Connection?, in context: Context,
    while watch: @escaping @Sendable () async -> Void = {}
  ) async -> ChildProcess.Termination {
    if let signal = await interrupted { return .killed(signal: signal) }
    let child: ChildProcess
    do {
      child = try ChildProcess(
        command,
        environment: Environment.entries(setting: context.isAddressGiven ? context.addressVariables : []),
        inheriting: connection?.socketNumber, signalMask: context.signals.maskBefore)
    } catch {
      context.terminal.report(error.message(starting: command).terminalSafe)
      return .exited(ExitStatus.ofCommand(notStarted: error))
    }
    await relay(to: child)
    let watching = Task { await watch() }
    defer { watching.cancel() }
    return await child.ended().termination
  }
}
