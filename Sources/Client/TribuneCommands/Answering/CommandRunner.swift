// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// Runs commands for questions and notifications, a bounded number at a time, which `CommandTurns` shares among the users
/// who ask and post.
actor CommandRunner {
  enum Run: Equatable, Sendable {
    case ended(ChildProcess.Ending)
    case cannotStart(Errno)
    /// Not started: this many questions of the user wait already.
    case tooMany(Int)
    /// Not started: the questions of the user that wait have too much userInfo.
    case tooLong
    /// Not started: the task was cancelled while the question waited.
    case withdrawn
    /// Not started: the runner has stopped.
    case ending
  }

  private struct Waiting {
    var user: UInt32
    var isOwed: Bool
    /// Continued with true when the command may start, and with false when the question does not wait any more.
    var turn: CheckedContinuation<Bool, Never>
  }

  let context: Context
  let valueLength: Int
  /// The commands that end when the runner stops.
  private var running: [Int32: ChildProcess] = [:]
  private var turns: CommandTurns
  private var waiting: [CommandTurns.Ticket: Waiting] = [:]
  private var lastTicket = 0
  private var hasStopped = false
  private var reported: Set<String> = []
  /// Passes on what commands write to standard error, none of which waits for its reader.
  private var errors: OutputThread?

  /// Bytes of output that are kept as a reason. The bus keeps no more.
  static let reasonLength = 4_096

  private static let commandsMax = 64
  private static let reportedMax = 64
  /// Questions of one user that wait.
  private static let waitingMax = 256
  /// Bytes of userInfo that a user's commands and waiting questions have together. What runs has it twice.
  private static let byteCountMax = 64 << 20
  /// The bound of `valueLength`, because 64 commands may write a value at the same time.
  private static let valueLengthMax = 16 << 20

  /// - Parameters:
  ///   - valueLength: bytes that the bus accepts in a value; 0 if no values are asked for.
  ///   - isPrivileged: whether a user may have all commands that others leave.
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

  /// Runs a command to its end, in a process group of its own, when it is the user's turn. Cancelling the task ends the
  /// command, or the wait.
  ///
  /// - Parameters:
  ///   - user: has asked, or posted.
  ///   - variables: set in the command's environment on top of this program's own. A variable with the value nil is
  ///     unset.
  ///   - input: the command's standard input, which it need not read.
  ///   - output: if it is captured, so is the end of standard error, which is also passed on.
  ///   - isOwed: whether it runs in any case, also after the runner has stopped.
  func run(
    _ command: [[UInt8]], for user: UInt32, setting variables: [(name: String, value: String?)],
    input: UserInfo, output: ChildProcess.Output, isOwed: Bool = false
  ) async -> Run {
    // Nothing would wait for the command.
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
        // A cancellation from here on finds the question waiting.
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

  /// Says something on standard error that each question could cause. It is said once, behind what commands have written.
  func reportOnce(_ message: String) {
    guard reported.count < Self.reportedMax, reported.insert(message).inserted else { return }
    if errors?.write(Array("tribunectl: \(message)\n".utf8)) != true { context.terminal.report(message) }
  }

  private func start(
    _ command: [[UInt8]], setting variables: [(name: String, value: String?)], input: UserInfo,
    output: ChildProcess.Output, isOwed: Bool
  ) async -> Run {
    // What has happened since its turn came.
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

  /// Ends the running commands and returns when they have ended. No further command is started. All but those that are
  /// owed.
  func stop() async {
    hasStopped = true
    for (ticket, one) in waiting where !one.isOwed { withdraw(ticket) }
    let left = running.values
    for child in left { child.terminate() }
    for child in left { _ = await child.ended() }
  }

  /// Waits until what commands wrote to standard error is passed on, but not for long.
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
  /// Sends SIGTERM to the child and its group, and SIGKILL a second later.
  fileprivate func terminate() {
    send(signal: Signals.terminate)
    Task {
      await sleep(.seconds(1))
      send(signal: Signals.kill)
    }
  }
}
