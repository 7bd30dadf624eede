// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// Runs commands for questions and notifications, a bounded number at a time.
actor CommandRunner {
  enum Run: Equatable, Sendable {
    case ended(ChildProcess.Ending)
    case cannotStart(Errno)
    /// Not started: this many commands run already.
    case tooMany(Int)
    /// Not started: the runner has ended.
    case ending
  }

  let context: Context
  /// Bytes that a value may have.
  let valueLength: Int
  private var running: [Int32: ChildProcess] = [:]
  private var hasEnded = false

  /// Commands that run at a time. Beyond that, no command is started.
  private static let commandsMax = 64
  /// The bound of `valueLength`, because 64 commands may write a value at the same time.
  private static let valueLengthMax = 16 << 20

  /// - Parameter valueLength: bytes that the bus accepts in a value; 0 if no values are asked for.
  init(in context: Context, valueLength: Int = 0) {
    self.context = context
    self.valueLength = min(valueLength, Self.valueLengthMax)
  }

  /// Runs a command to its end, in a process group of its own. Cancelling the task ends the command.
  ///
  /// - Parameters:
  ///   - variables: set in the command's environment on top of this program's own. A variable with the value nil is
  ///     unset.
  ///   - input: the command's standard input, which it need not read.
  func run(
    _ command: [[UInt8]], setting variables: [(name: String, value: String?)], input: UserInfo,
    output: ChildProcess.Output
  ) async -> Run {
    // Nothing would wait for the command.
    if hasEnded { return .ending }
    if running.count >= Self.commandsMax { return .tooMany(running.count) }
    let child: ChildProcess
    do {
      child = try ChildProcess(
        command, environment: environment(setting: variables), input: .bytes(input.bytes), output: output,
        leadsGroup: true, signalMask: context.signals.maskBefore)
    } catch {
      return .cannotStart(error)
    }
    running[child.pid] = child
    let ending = await withTaskCancellationHandler {
      await child.ended()
    } onCancel: {
      child.terminate()
    }
    running[child.pid] = nil
    return .ended(ending)
  }

  /// Ends the running commands and returns when they have ended. No further command is started.
  func end() async {
    hasEnded = true
    let left = running.values
    for child in left { child.terminate() }
    for child in left { _ = await child.ended() }
  }

  private func environment(setting variables: [(name: String, value: String?)]) -> [[UInt8]] {
    let set = variables.compactMap { variable in variable.value.map { (name: variable.name, value: $0) } }
    let unset = variables.filter { $0.value == nil }.map { "\($0.name)=" }
    return Environment.entries(setting: set + context.addressVariables).filter { entry in
      !unset.contains { entry.starts(with: $0.utf8) }
    }
  }
}

extension ChildProcess {
  /// Sends SIGTERM to the child and its group, and SIGKILL a second later.
  fileprivate func terminate() {
    send(signal: Signals.terminate)
    Task {
      await sleep(.seconds(1))
      send(signal: Signals.kill)
    }
  }
}
