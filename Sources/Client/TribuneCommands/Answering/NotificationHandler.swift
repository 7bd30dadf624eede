// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

/// Runs a command for each notification, one command at a time. While a command runs, further notifications
/// wait in the library's sequence (`Notifications`), or on the bus if the sequence is full.
actor NotificationHandler {
  private let command: [[UInt8]]
  private let runner: CommandRunner
  private let context: Context
  private var lost = 0
  private var isInterrupted = false

  init(running command: [[UInt8]], in context: Context) {
    self.command = command
    self.context = context
    runner = CommandRunner(in: context)
  }

  /// For a notification, runs the command, tells a waiting poster the command's result, and returns true. For
  /// a loss or an interruption, returns false; variables of the next command report it.
  func handle(_ delivery: Delivery) async throws(CommandError) -> Bool {
    switch delivery {
    case .lost(let count):
      lost = lost.saturatingAdding(count)
      context.terminal.report("lost \(count.counted("notification"))")
      return false
    case .interrupted:
      isInterrupted = true
      return false
    case .notification(let notification):
      try await handle(notification)
      return true
    }
  }

  private func handle(_ notification: Notification) async throws(CommandError) {
    let variables = Self.variables(of: notification, behind: lost, isInterrupted: isInterrupted)
    lost = 0
    isInterrupted = false
    let run = await runner.run(
      command, for: ThisProcess.effectiveUser, setting: variables, input: notification.userInfo,
      output: .inherited)
    switch run {
    case .ended(let ending):
      if ending.termination == .exited(0) {
        notification.acknowledgement?.done()
      } else {
        notification.acknowledgement?.failed(ending.termination.formatted)
      }
    case .cannotStart(let error):
      notification.acknowledgement?.failed(error.message(starting: command))
      throw .cannotStart(command, error)
    case .ending, .withdrawn, .tooMany, .tooLong:
      notification.acknowledgement?.failed("the observer is shutting down")
      throw .ended(ExitStatus.success)
    }
  }

  func end() async { await runner.stop() }

  static func variables(
    of notification: Notification, behind lost: Int, isInterrupted: Bool
  ) -> [(name: String, value: String?)] {
    let poster = notification.poster
    return [
      ("TRIBUNE_NAME", notification.name), ("TRIBUNE_OBJECT", notification.object),
      ("TRIBUNE_SENDER", notification.sender ?? ""),
      ("TRIBUNE_SENDER_PID", poster?.pid.map { String($0) } ?? ""),
      ("TRIBUNE_SENDER_UID", poster?.uid.map { String($0) } ?? ""),
      ("TRIBUNE_SENDER_PROCESS", poster?.process ?? ""), ("TRIBUNE_SENDER_UNIT", poster?.unit ?? ""),
      ("TRIBUNE_SENDER_SYSTEM_UNIT", poster?.units.system ?? ""),
      ("TRIBUNE_SENDER_USER_UNIT", poster?.units.user ?? ""), ("TRIBUNE_LOST", String(lost)),
      ("TRIBUNE_INTERRUPTED", isInterrupted ? "1" : nil),
      ("TRIBUNE_RETAINED", notification.isRetained ? "1" : nil),
    ]
  }
}

extension ChildProcess.Termination {
  var formatted: String {
    switch self {
    case .exited(let status): "exited with \(status)"
    case .killed(let signal): "was killed by signal \(signal)"
    }
  }
}
