// SPDX-License-Identifier: Apache-2.0

import Glibc
import Tribune
import TribuneSystem

/// Runs commands for what comes over the bus, a bounded number at a time.
actor CommandRunner {
  /// What came of a command.
  enum Run: Equatable, Sendable {
    case ended(ChildProcess.Ending)
    case cannotStart(Errno)
    /// It was not started: so many run already.
    case tooMany(Int)
    /// It was not started: no command is any more.
    case ending
  }

  let context: Context
  /// Bytes that a value may have.
  let valueLength: Int
  private var running: [Int32: ChildProcess] = [:]
  private var hasEnded = false

  /// Commands that run at a time. Whoever wants more than that goes without.
  private static let commandsMax = 64
  /// Bytes that a value may have, whatever the bus takes: as many as 64 commands may write at a time.
  private static let valueLengthMax = 16 << 20

  /// - Parameter valueLength: bytes that the bus takes for a value; nothing where nobody is asked for one.
  init(in context: Context, valueLength: Int = 0) {
    self.context = context
    self.valueLength = min(valueLength, Self.valueLengthMax)
  }

  /// Runs a command to its end, in a process group of its own. Cancelling the task ends the command.
  ///
  /// - Parameters:
  ///   - variables: what its environment has beside this program's own; nil for what it has not, even if this
  ///     program's own has.
  ///   - input: what it reads as its standard input, as far as it wants to.
  func run(
    _ command: [[UInt8]], setting variables: [(name: String, value: String?)], input: UserInfo,
    output: ChildProcess.Output
  ) async -> Run {
    // Nobody would be left to wait for it.
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

  /// Ends the commands that still run, and returns when they have ended. No others are started.
  func end() async {
    hasEnded = true
    let left = running.values
    for child in left { child.terminate() }
    for child in left { _ = await child.ended() }
  }

  private func environment(setting variables: [(name: String, value: String?)]) -> [[UInt8]] {
    var set = variables.compactMap { variable in variable.value.map { (name: variable.name, value: $0) } }
    // A tribunectl that the command runs means the same bus.
    if let address = context.address { set.append(("TRIBUNE_ADDRESS", address.description)) }
    let unset = variables.filter { $0.value == nil }.map { "\($0.name)=" }
    return Environment.entries(setting: set).filter { entry in
      !unset.contains { entry.starts(with: $0.utf8) }
    }
  }
}

extension ChildProcess {
  /// Asks the child and its group to end, and a second later makes them.
  fileprivate func terminate() {
    send(signal: SIGTERM)
    Task {
      await sleep(.seconds(1))
      send(signal: SIGKILL)
    }
  }
}
