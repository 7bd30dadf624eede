// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneService
import TribuneSystem

/// Cancels a scheduled shutdown if the bus vetoes it. Asks the bus when logind has a new schedule, a minute
/// before the shutdown, and when the verdict may have changed.
final class ShutdownSchedule {
  private static let secondQuestion = Duration.seconds(60)

  private static let deadline = Duration.seconds(20)
  /// The pause between a verdict and the next question, in case delegates come and go constantly.
  private static let pause = Duration.seconds(1)
  private static let linesMax = 10

  private var current: LogindProxy.Schedule?
  /// True once the bus has allowed the current shutdown. Delegates that have prepared for this shutdown must
  /// learn of a later cancellation.
  private var isAllowed = false
  private var asking: Task<Void, Never>?
  private var reason: AsyncStream<Void>.Continuation?
  private var connectionCount = 0
  private let isOverridden: (HostQuestion) -> Bool

  /// - Parameter isOverridden: returns true if an override allows the question, so the bus is not asked.
  init(isOverridden: @escaping (HostQuestion) -> Bool) { self.isOverridden = isOverridden }

  func update(on bus: Connection, at logind: LogindProxy) async throws(DBusError) {
    let connections = connectionCount
    let schedule = try await logind.scheduledShutdown()
    guard connections == connectionCount, schedule != current else { return }
    let cancelled = current.flatMap { isAllowed && Self.remaining(until: $0) > .zero ? $0 : nil }
    stop()
    if let cancelled {
      let isReboot = HostQuestion.before(action: cancelled.action).contains(.reboot)
      await HostTransitions.post((isReboot ? HostQuestion.reboot : .powerOff).failure, on: bus)
    }
    // A shutdown in progress has the time 0, or a time in the past.
    guard let schedule, Self.remaining(until: schedule) > .zero,
      !HostQuestion.before(action: schedule.action).isEmpty
    else { return }
    current = schedule
    ask(about: schedule, on: bus, at: logind)
  }

  func object(to questions: Set<HostQuestion>, on bus: Connection, at logind: LogindProxy) {
    guard let current, current.isConcerned(by: questions) else { return }
    asking?.cancel()
    ask(about: current, on: bus, at: logind)
  }

  /// Asks again. If a question is under way, waits for its verdict first. If each change restarted the
  /// question, a delegate that comes and goes could prevent a verdict for ever.
  func reconsider(_ questions: Set<HostQuestion>) {
    if let current, current.isConcerned(by: questions) { reason?.yield() }
  }

  private func ask(about schedule: LogindProxy.Schedule, on bus: Connection, at logind: LogindProxy) {
    // The buffer merges several reasons to ask again into one.
    let (reasons, reason) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.reason = reason
    asking = Task {
      let secondQuestion = Task {
        let wait = Self.remaining(until: schedule) - Self.secondQuestion
        guard wait > .zero else { return }
        await rest(for: wait)
        reason.yield()
      }
      defer { secondQuestion.cancel() }
      reason.yield()
      for await _ in reasons where Self.remaining(until: schedule) > .zero {
        guard await isStaying(schedule, on: bus, at: logind) else { return }
        await rest(for: Self.pause)
      }
    }
  }

  func forget() {
    connectionCount += 1
    stop()
  }

  private func stop() {
    current = nil
    isAllowed = false
    asking?.cancel()
    (asking, reason) = (nil, nil)
  }

  private static func remaining(until schedule: LogindProxy.Schedule) -> Duration {
    let now = SystemClock.wallMicroseconds
    return .microseconds(Int64(clamping: schedule.time) - Int64(clamping: now))
  }

  /// Asks the bus, and cancels the shutdown after a veto. Returns false after a veto, or if the schedule has
  /// changed.
  private func isStaying(
    _ schedule: LogindProxy.Schedule, on bus: Connection, at logind: LogindProxy
  ) async -> Bool {
    let seconds = max(0, Self.remaining(until: schedule).components.seconds)
    let userInfo = JSONValue.object([
      ("action", .string(schedule.action)), ("inSeconds", .integer(Int(seconds))),
    ])
    do {
      let questions = HostQuestion.before(action: schedule.action)
      if let first = questions.first, isOverridden(first) { return true }
      for question in questions {
        let verdict = try await bus.ask(
          question.name, userInfo: UserInfo(userInfo.compactBytes), deadline: Self.deadline, mode: .all)
        guard current == schedule, !Task.isCancelled else { return false }
        guard !verdict.isAllowed else { continue }
        await cancel(schedule, because: Objection.all(in: verdict), of: question, at: logind)
        return false
      }
      isAllowed = true
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
      // Another shutdown may have replaced this one.
      guard try await logind.scheduledShutdown() == schedule else { return }
      guard try await logind.cancel(schedule) else {
        return ServiceLog.error("logind has not cancelled the \(schedule.action), in spite of a veto")
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

extension LogindProxy.Schedule {
  fileprivate func isConcerned(by questions: Set<HostQuestion>) -> Bool {
    !questions.isDisjoint(with: HostQuestion.before(action: action))
  }
}
