// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

struct ObserveCommand: Command {
  var signals: [Int32] { SignalWatch.interrupting + JobControl.signals }

  private let patterns: [String]
  private let object: String
  private let count: Int64?
  /// How long to wait for `count` notifications; nil for no limit.
  private let limit: Duration?
  private let suspension: Tribune.SuspensionBehavior
  private let wantsRetained: Bool
  private let isAwaited: Bool
  /// The command of --exec; nil to print notifications.
  private let command: [[UInt8]]?
  private let format: NotificationFormat?

  init(_ invocation: Invocation) throws(CommandError) {
    patterns = try invocation.patterns()
    object = try invocation.object()
    count = invocation.number(.count)
    limit = count == nil ? nil : invocation.span(.timeout)?.duration
    suspension =
      invocation.text(.suspension).flatMap { Tribune.SuspensionBehavior(rawValue: $0) } ?? .coalesce
    wantsRetained = invocation.has(.retained)
    isAwaited = invocation.has(.awaited)
    command = invocation.has(.exec) ? invocation.command : nil
    format = try NotificationFormat.given(in: invocation, beside: [.exec])
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    var context = context
    context.terminal = context.terminal.unblocked()
    defer { context.terminal.flush() }
    return try await observe(in: context)
  }

  private func observe(in context: Context) async throws(CommandError) -> Int32 {
    let connection: Connection
    let notifications: Notifications
    do throws(TribuneError) {
      connection = try await context.connectToStay(
        missing: "notification", identifyingPosters: true)
      notifications = try await bounded(by: context.timeout) {
        [self, connection] () async throws(TribuneError) -> Notifications in
        try await connection.observe(
          anyOf: patterns, object: object, suspension: suspension, retained: wantsRetained,
          awaited: isAwaited)
      }
    } catch {
      throw CommandError(error)
    }
    let about = object.isEmpty ? "" : " (\(objectText(object)))"
    context.reportReady("observing \(patterns.joined(separator: " ").terminalSafe)\(about)")
    let status: Int32
    do throws(CommandError) {
      status = try await read(notifications, over: connection, in: context)
    } catch {
      await flush(connection)
      throw error
    }
    await flush(connection)
    return status
  }

  private func flush(_ connection: Connection) async {
    if isAwaited { await connection.close() }
  }

  private var timeLimit: (span: Duration, error: CommandError)? {
    guard let limit, let count else { return nil }
    let notifications = Int(clamping: count).counted("notification")
    return (limit, .failure("fewer than \(notifications) came within \(limit.formatted)"))
  }

  private func read(
    _ notifications: Notifications, over connection: Connection, in context: Context
  ) async throws(CommandError) -> Int32 {
    let jobControl = JobControl(of: connection, in: context)
    let interruption = { @Sendable () async -> Void in await jobControl.interruption() }
    guard let command else {
      let lines = LineBatch(of: context)
      let status = try await stay(
        reading: notifications, nextWaiting: { notifications.nextWaiting() }, until: interruption,
        upTo: count,
        within: timeLimit, cancel: { await notifications.cancel() },
        show: { delivery throws(CommandError) in
          try show(delivery, in: lines, hasNext: notifications.hasNext, context)
        })
      try lines.write()
      return status
    }
    let handler = NotificationHandler(running: command, in: context)
    return try await stay(
      reading: notifications, until: interruption, upTo: count, within: timeLimit,
      cancel: {
        await handler.end()
        await notifications.cancel()
      },
      show: { delivery throws(CommandError) in try await handler.handle(delivery) })
  }

  private func show(
    _ delivery: Delivery, in lines: LineBatch, hasNext: Bool, _ context: Context
  ) throws(CommandError) -> Bool {
    guard case .notification(let notification) = delivery else {
      try lines.add(waiting: hasNext) { output, _ in addGap(delivery, to: &output, context) }
      return false
    }
    do throws(CommandError) {
      try lines.add(waiting: hasNext && notification.acknowledgement == nil) { output, json in
        if let format {
          output += format.line(of: notification, at: SystemClock.wallMicroseconds).utf8
          output.append(UInt8(ascii: "\n"))
        } else if context.writesCompactJSON {
          json.append(notification, at: SystemClock.wallMicroseconds, to: &output)
        } else {
          context.append(delivery, to: &output)
        }
      }
    } catch {
      notification.acknowledgement?.failed("it could not be written")
      throw error
    }
    notification.acknowledgement?.done()
    return true
  }

  /// Appends a gap. With --format, which has no place for gaps, reports the gap on standard error instead.
  private func addGap(_ gap: Delivery, to output: inout [UInt8], _ context: Context) {
    guard format != nil else { return context.append(gap, to: &output) }
    // The other gaps are interruptions. `connectToStay` has set an event handler that reports them.
    if case .lost(let count) = gap { context.terminal.report("lost \(count.counted("notification"))") }
  }
}
