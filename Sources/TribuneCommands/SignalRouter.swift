// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// Where the signals of a guard or a hold go: before its command runs they are a reason not to run it; from then on they
/// are the command's.
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
    // What a terminal sends, it sends to the command too.
    if !signal.isFromKernel { command.send(signal: signal.number) }
  }

  /// The first signal that comes before the command runs.
  nonisolated func interruption() async -> Int32 {
    for await number in interruptions { return number }
    // The task was cancelled, and nobody waits.
    return 0
  }

  /// The first signal that has come before the command runs; nil if none.
  var interrupted: Int32? { early.first?.number }

  /// Passes on to the command what comes from now on, and what came while it was being started.
  func relay(to command: ChildProcess) {
    self.command = command
    for signal in early { command.send(signal: signal.number) }
  }
}
