// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// `observe PATTERN…`.
struct ObserveCommand: Command {
  static var signals: [Int32] { SignalWatch.interrupting }

  private let patterns: [String]
  /// Nil for any.
  private let object: String?
  private let count: Int64?

  init(_ invocation: Invocation) throws(CommandError) {
    patterns = try invocation.patterns()
    object = invocation.has(.object) ? try invocation.object() : nil
    count = invocation.number(.count)
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let connection: Connection
    let notifications: Notifications
    do throws(TribuneError) {
      connection = try await context.connect()
      notifications = try await bounded(by: context.timeout) {
        [self, connection] () async throws(TribuneError) -> Notifications in
        try await connection.observe(anyOf: patterns, object: object)
      }
    } catch {
      throw CommandError(error)
    }
    let about = object.map { " (object \($0.terminalSafe))" } ?? ""
    context.reportReady("observing \(patterns.joined(separator: " ").terminalSafe)\(about)")
    return try await stay(
      reading: notifications, until: context.signals, upTo: count, cancel: { await notifications.cancel() },
      show: { delivery throws(CommandError) in try show(delivery, in: context) })
  }

  /// - Returns: whether it was a notification.
  private func show(_ delivery: Delivery, in context: Context) throws(CommandError) -> Bool {
    try context.print(delivery)
    if case .notification = delivery { return true }
    return false
  }
}
