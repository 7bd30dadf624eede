// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem

/// Asks about a shutdown that somebody has scheduled, when it is set and again a minute before, and cancels it on a veto.
final class ShutdownSchedule {
  private static let secondQuestion = Duration.seconds(60)

  /// Each question has its verdict before the time.
  private static let deadline = Duration.seconds(20)
  /// Reasons that are written to terminals.
  private static let linesMax = 10

  private var current: LogindProxy.Schedule?
  private var asking: Task<Void, Never>?
  /// Connections that have gone.
  private var connectionCount = 0

  init() {}

  /// Looks at what logind has scheduled now, and asks about it, without waiting for the answer.
  func update(on bus: Connection, at logind: LogindProxy) async throws(DBusError) {
    let connections = connectionCount
    let schedule = try await logind.scheduledShutdown()
    guard connections == connectionCount, schedule != current else { return }
    stop()
    // What is under way has no time, or one that is over.
    guard let schedule, Self.remaining(until: schedule) > .zero,
      !HostQuestion.before(action: schedule.action).isEmpty
    else { return }
    current = schedule
    ask(about: schedule, on: bus, at: logind)
  }

  /// Asks at once about what is scheduled, if it concerns one of these questions: somebody objects to them now.
  func object(to questions: Set<HostQuestion>, on bus: Connection, at logind: LogindProxy) {
    guard let current, !questions.isDisjoint(with: HostQuestion.before(action: current.action)) else {
      return
    }
    asking?.cancel()
    ask(about: current, on: bus, at: logind)
  }

  private func ask(about schedule: LogindProxy.Schedule, on bus: Connection, at logind: LogindProxy) {
    asking = Task {
      guard await isStaying(schedule, on: bus, at: logind) else { return }
      let wait = Self.remaining(until: schedule) - Self.secondQuestion
      guard wait > .zero else { return }
      do {
        try await Task.sleep(for: wait)
      } catch {
        return
      }
      _ = await isStaying(schedule, on: bus, at: logind)
    }
  }

  /// Forgets what was asked, so that the next bus is asked anew.
  func forget() {
    connectionCount += 1
    stop()
  }

  private func stop() {
    current = nil
    asking?.cancel()
    asking = nil
  }

  private static func remaining(until schedule: LogindProxy.Schedule) -> Duration {
    let now = SystemClock.wallMicroseconds
    return .microseconds(Int64(clamping: schedule.time) - Int64(clamping: now))
  }

  /// Asks, and cancels the shutdown on a veto.
  private func isStaying(
    _ schedule: LogindProxy.Schedule, on bus: Connection, at logind: LogindProxy
  ) async -> Bool {
    let seconds = max(0, Self.remaining(until: schedule).components.seconds)
    let userInfo = JSONValue.object([
      ("action", .string(schedule.action)), ("inSeconds", .integer(Int(seconds))),
    ])
    do {
      for question in HostQuestion.before(action: schedule.action) {
        let verdict = try await bus.ask(
          question.name, userInfo: UserInfo(userInfo.compactBytes), deadline: Self.deadline, mode: .all)
        guard current == schedule, !Task.isCancelled else { return false }
        guard !verdict.isAllowed else { continue }
        await cancel(schedule, because: Objection.all(in: verdict), of: question, at: logind)
        return false
      }
      ServiceLog.notice("the \(schedule.action) in \(seconds) s may happen: there is no veto")
    } catch {
      guard current == schedule, !Task.isCancelled else { return false }
      ServiceLog.warning(
        "the \(schedule.action) in \(seconds) s stays scheduled, because nobody could be asked: \(error)")
    }
    return true
  }

  private func cancel(
    _ schedule: LogindProxy.Schedule, because objections: [Objection], of question: HostQuestion,
    at logind: LogindProxy
  ) async {
    do throws(DBusError) {
      // Somebody may have scheduled another one meanwhile.
      guard try await logind.scheduledShutdown() == schedule, try await logind.cancelScheduledShutdown()
      else {
        return
      }
    } catch {
      return ServiceLog.error("cannot cancel the \(schedule.action), in spite of a veto: \(error)")
    }
    var lines = objections.prefix(Self.linesMax).map { "  \($0.line)" }
    if objections.count > lines.count { lines.append("  and \(objections.count - lines.count) more") }
    ServiceLog.notice("cancelled the \(schedule.action), because of a veto of \(question.name)")
    for line in lines { ServiceLog.notice(line) }
    await Wall.write(
      (["The scheduled \(schedule.action) was cancelled by a veto:"] + lines).joined(separator: "\n"))
  }
}
