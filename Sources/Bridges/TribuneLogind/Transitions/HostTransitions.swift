// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService
import TribuneSystem
import TribuneWire

/// Announces transitions (a shutdown or sleep) on the bus, and waits until awaited observers are ready.
final class HostTransitions {
  /// The part of logind's delay that this program needs for its own work.
  private static let margin = Duration.milliseconds(250)

  private var announced: [HostQuestion.Lock: String] = [:]
  private var actions: [HostQuestion.Lock: Task<[Action], Never>] = [:]

  init() {}

  /// Announces the transition, and waits until awaited observers are ready, or logind's delay is nearly over.
  func prepare(for lock: HostQuestion.Lock, on bus: Connection, at logind: LogindProxy) async {
    let began = ContinuousClock.now
    do {
      // logind does not say which kind of sleep follows, so the bridge begins the actions of all kinds.
      let questions = lock == .sleep ? lock.questions : try await Self.questions(at: logind)
      let event = lock == .sleep ? "Suspend" : questions.contains(.reboot) ? "Reboot" : "PowerOff"
      announced[lock] = event
      actions[lock] = Task { await Self.begin(questions, on: bus) }
      let spent = ContinuousClock.now - began
      let limit = max(.milliseconds(100), try await logind.delayMax() - Self.margin - spent)
      let name = "host.will\(event)"
      ServiceLog.notice("\(name): waiting for awaited observers, for \(limit) at most")
      let post = Task {
        try await bus.postAwaited(name, deadline: min(limit, bus.bus.deadlineMax), isImmediate: true)
      }
      // The bus may hang, so this timer limits the wait.
      let timer = Task {
        try await Task.sleep(for: limit + Self.margin / 2)
        post.cancel()
      }
      defer { timer.cancel() }
      let reply = try await post.value
      for missing in reply.missing { ServiceLog.warning("\(name): \(missing.summary)") }
      if reply.missing.isEmpty { ServiceLog.notice("\(name): everybody is ready") }
    } catch {
      ServiceLog.warning(
        "nobody was told that the host is about to \(lock == .sleep ? "sleep" : "go down"): \(error)")
    }
  }

  /// When a transition is over or was cancelled, ends its actions, and posts that the host continues to run.
  func end(_ lock: HostQuestion.Lock, on bus: Connection) async {
    guard let event = announced.removeValue(forKey: lock) else { return }
    for action in await actions.removeValue(forKey: lock)?.value ?? [] {
      do throws(TribuneError) {
        try await action.end()
      } catch {
        // The end of the connection has already ended the action.
        continue
      }
    }
    await Self.post(lock == .sleep ? "host.didResume" : "host.didFailTo\(event)", on: bus)
  }

  static func post(_ name: String, on bus: Connection) async {
    do throws(TribuneError) {
      try await bus.postAcknowledged(name)
    } catch {
      ServiceLog.warning("nobody was told that the host runs on: \(error)")
    }
  }

  /// logind's schedule names the action even of an immediate shutdown (tested with systemd 252 and 257).
  private static func questions(at logind: LogindProxy) async throws(DBusError) -> [HostQuestion] {
    let questions = HostQuestion.before(action: try await logind.scheduledShutdown()?.action ?? "")
    return questions.isEmpty ? [.powerOff] : questions
  }

  /// Begins the actions on the bus. The bus then tells new holders that they are too late.
  private static func begin(_ questions: [HostQuestion], on bus: Connection) async -> [Action] {
    var actions: [Action] = []
    do throws(TribuneError) {
      for question in questions {
        actions.append(try await bus.begin(unasked: question.name, object: "", isLast: false))
      }
    } catch {
      ServiceLog.warning("a hold may not learn that it is too late: \(error)")
    }
    return actions
  }
}

extension AwaitedReply.Missing {
  fileprivate var summary: String {
    let name = process.isEmpty ? "a process" : process
    let place = unit.isEmpty ? "" : " in \(unit)"
    let failure =
      switch kind {
      case .timedOut: "was not ready in time"
      case .gone: "has gone"
      case .failed: "has failed"
      }
    return "\(name) (pid \(pid), uid \(uid))\(place) \(failure)" + (reason.isEmpty ? "" : ": \(reason)")
  }
}
