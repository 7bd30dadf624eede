// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// Routes the signals of a guard or a hold. Before the command runs, a signal is a reason not to run it. From then
/// on, signals are passed on to the command.
actor SignalRouter {
  private var command: ChildProcess?
  private var early: [SignalWatch.Signal] = []
  private let (interruptions, interrupt) = AsyncStream<Int32>.makeStream()

  func take(_ signal: SignalWatch.Signal) {
    guard let command else {
      early.append(signal)
      interrupt.yield(signal.number)
      return
    }
    // The terminal sends its signals to the command as well.
    if !signal.isFromKernel { command.send(signal: signal.number) }
  }

  /// Waits for the first signal before the command runs.
  nonisolated func interruption() async -> Int32 {
    for await number in interruptions { return number }
    // The task was cancelled, so nobody uses the result.
    return 0
  }

  /// The first signal that came before the command ran; nil if none.
  var interrupted: Int32? { early.first?.number }

  /// Passes all later signals on to the command, and those that came while it was being started.
  func relay(to command: ChildProcess) {
    self.command = command
    for signal in early { command.send(signal: signal.number) }
  }
}
