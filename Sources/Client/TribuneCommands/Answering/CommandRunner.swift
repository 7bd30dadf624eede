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
    /// Not started: the runner has ended.
    case ending
  }

  let context: Context
  let valueLength: Int
  private var running: [Int32: ChildProcess] = [:]
  private var turns: CommandTurns
  /// Continued with true when the command may start, and with false when the question does not wait any more.
  private var waiting: [CommandTurns.Ticket: CheckedContinuation<Bool, Never>] = [:]
  private var lastTicket = 0
  private var hasEnded = false
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
  func run(
    _ command: [[UInt8]], for user: UInt32, setting variables: [(name: String, value: String?)],
    input: UserInfo, output: ChildProcess.Output
  ) async -> Run {
    // Nothing would wait for the command.
    if hasEnded { return .ending }
    lastTicket += 1
    let ticket = lastTicket
    switch turns.ask(ticket, of: user, byteCount: input.count) {
    case .refuse(let count): return .tooMany(count)
    case .refuseLong: return .tooLong
    case .wait where await !turn(of: ticket, of: user): return hasEnded ? .ending : .withdrawn
    case .start, .wait: break
    }
    let run = await start(command, setting: variables, input: input, output: output)
    for next in turns.end(of: user, byteCount: input.count) {
      waiting.removeValue(forKey: next)?.resume(returning: true)
    }
    return run
  }

  private func turn(of ticket: CommandTurns.Ticket, of user: UInt32) async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // A cancellation from here on finds the question waiting.
        if Task.isCancelled {
          turns.leave(ticket, of: user)
          continuation.resume(returning: false)
        } else {
          waiting[ticket] = continuation
        }
      }
    } onCancel: {
      Task { await self.withdraw(ticket, of: user) }
    }
  }

  private func withdraw(_ ticket: CommandTurns.Ticket, of user: UInt32) {
    guard let continuation = waiting.removeValue(forKey: ticket) else { return }
    turns.leave(ticket, of: user)
    continuation.resume(returning: false)
  }

  /// Says something on standard error that each question could cause. It is said once, and no more than a pipe holds, so
  /// that nobody waits for its reader.
  func reportOnce(_ message: String) {
    guard reported.count < Self.reportedMax, reported.insert(message).inserted else { return }
    context.terminal.report(message)
  }

  private func start(
    _ command: [[UInt8]], setting variables: [(name: String, value: String?)], input: UserInfo,
    output: ChildProcess.Output
  ) async -> Run {
    // What has happened since its turn came.
    if hasEnded { return .ending }
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
    running[child.pid] = child
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

  /// Ends the running commands and returns when they have ended. No further command is started.
  func end() async {
    hasEnded = true
    for continuation in waiting.values { continuation.resume(returning: false) }
    waiting = [:]
    let left = running.values
    for child in left { child.terminate() }
    for child in left { _ = await child.ended() }
    errors?.flush(atMost: .seconds(1))
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
