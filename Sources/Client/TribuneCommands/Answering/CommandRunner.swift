// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// Runs commands for questions and notifications, at most 64 at a time.
actor CommandRunner {
  enum Run: Equatable, Sendable {
    case ended(ChildProcess.Ending)
    case cannotStart(Errno)
    case tooMany(Int)
    case tooLong
    case withdrawn
    case ending
  }

  private struct Waiting {
    var user: UInt32
    var isOwed: Bool
    var turn: CheckedContinuation<Bool, Never>
  }

  let context: Context
  let valueLength: Int
  private var running: [Int32: ChildProcess] = [:]
  private var turns: CommandTurns
  private var waiting: [CommandTurns.Ticket: Waiting] = [:]
  private var lastTicket = 0
  private var hasStopped = false
  private var reported: Set<String> = []
  /// Writes the commands' captured standard error to tribunectl's. Only this thread waits for whoever reads
  /// it. Nil until the first start of a command whose output is captured.
  private var errors: OutputThread?

  /// The longest reason in bytes. The bus has the same limit.
  static let reasonLength = 4_096

  private static let commandsMax = 64
  private static let reportedMax = 64
  private static let waitingMax = 256
  /// The most bytes of userInfo that one user's running and waiting questions may have together.
  private static let byteCountMax = 64 << 20
  /// The longest value in bytes. The limit is low, because 64 commands may write values at the same time.
  private static let valueLengthMax = 16 << 20

  /// - Parameters:
  ///   - valueLength: the bus's limit for a value, in bytes; 0 if the command gives no values.
  ///   - isPrivileged: returns true for a user whose running commands have no limit but the total of 64.
  init(
    in context: Context, valueLength: Int = 0,
    isPrivileged: @escaping @Sendable (UInt32) -> Bool = { ThisProcess.isPrivileged($0) }
  ) {
    self.context = context
    self.valueLength = min(valueLength, Self.valueLengthMax)
    turns = CommandTurns(
      total: Self.commandsMax, waitingMax: Self.waitingMax, byteCountMax: Self.byteCountMax,
      isPrivileged: isPrivileged)
  }

  /// Waits for the user's turn, and runs a command in a new process group. Cancelling the task ends the wait
  /// or the command.
  ///
  /// - Parameters:
  ///   - variables: variables for the command's environment. A nil value unsets the variable.
  ///   - output: where standard output goes. With `.captured`, the end of standard error is captured, too.
  ///   - isOwed: true for a command that must run even after `stop()`.
  func run(
    _ command: [[UInt8]], for user: UInt32, setting variables: [(name: String, value: String?)],
    input: UserInfo, output: ChildProcess.Output, isOwed: Bool = false
  ) async -> Run {
    if hasStopped, !isOwed { return .ending }
    lastTicket += 1
    let ticket = lastTicket
    switch turns.ask(ticket, of: user, byteCount: input.count, isOwed: isOwed) {
    case .refuse(let count): return .tooMany(count)
    case .refuseLong: return .tooLong
    case .wait where await !turn(of: ticket, of: user, isOwed: isOwed):
      return hasStopped ? .ending : .withdrawn
    case .start, .wait: break
    }
    let run = await start(command, setting: variables, input: input, output: output, isOwed: isOwed)
    for next in turns.end(of: user, byteCount: input.count) {
      waiting.removeValue(forKey: next)?.turn.resume(returning: true)
    }
    return run
  }

  private func turn(of ticket: CommandTurns.Ticket, of user: UInt32, isOwed: Bool) async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if Task.isCancelled {
          turns.leave(ticket, of: user)
          continuation.resume(returning: false)
        } else {
          waiting[ticket] = Waiting(user: user, isOwed: isOwed, turn: continuation)
        }
      }
    } onCancel: {
      Task { await self.withdraw(ticket) }
    }
  }

  private func withdraw(_ ticket: CommandTurns.Ticket) {
    guard let one = waiting.removeValue(forKey: ticket) else { return }
    turns.leave(ticket, of: one.user)
    one.turn.resume(returning: false)
  }

  /// Reports each message once, and at most `reportedMax` messages, because every question could cause one.
  func reportOnce(_ message: String) {
    guard reported.count < Self.reportedMax, reported.insert(message).inserted else { return }
    if errors?.write(Array("tribunectl: \(message)\n".utf8)) != true { context.terminal.report(message) }
  }

  private func start(
    _ command: [[UInt8]], setting variables: [(name: String, value: String?)], input: UserInfo,
    output: ChildProcess.Output, isOwed: Bool
  ) async -> Run {
    if hasStopped, !isOwed { return .ending }
    if Task.isCancelled { return .withdrawn }
    let child: ChildProcess
    do {
      child = try ChildProcess(
        command, environment: environment(setting: variables), input: .bytes(input.bytes), output: output,
        errors: try destinationOfErrors(beside: output), leadsGroup: true,
        signalMask: context.signals.maskBefore)
    } catch {
      return .cannotStart(error)
    }
    if !isOwed { running[child.pid] = child }
    let ending = await withTaskCancellationHandler {
      await child.ended()
    } onCancel: {
      child.terminate()
    }
    running[child.pid] = nil
    return .ended(ending)
  }

  private func destinationOfErrors(
    beside output: ChildProcess.Output
  ) throws(Errno) -> ChildProcess.Errors {
    guard case .captured = output else { return .inherited }
    let thread = if let errors { errors } else { try OutputThread { StandardError.write($0) } }
    errors = thread
    return .relayed(limit: Self.reasonLength) { _ = thread.write($0) }
  }

  /// Ends the running commands without `isOwed`, and waits for their ends. Afterwards, only commands with
  /// `isOwed` start.
  func stop() async {
    hasStopped = true
    for (ticket, one) in waiting where !one.isOwed { withdraw(ticket) }
    let left = running.values
    for child in left { child.terminate() }
    for child in left { _ = await child.ended() }
  }

  func flush() { errors?.flush(atMost: .seconds(1)) }

  private func environment(setting variables: [(name: String, value: String?)]) -> [[UInt8]] {
    let set = variables.compactMap { variable in variable.value.map { (name: variable.name, value: $0) } }
    let unset = variables.filter { $0.value == nil }.map { "\($0.name)=" }
    return Environment.entries(setting: set + context.addressVariables).filter { entry in
      !unset.contains { entry.starts(with: $0.utf8) }
    }
  }
}

extension ChildProcess {
  /// Sends SIGTERM to the child's process group, and SIGKILL a second later.
  fileprivate func terminate() {
    send(signal: Signals.terminate)
    Task {
      await sleep(.seconds(1))
      send(signal: Signals.kill)
    }
  }
}
