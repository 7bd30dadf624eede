// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService
import TribuneSystem
import TribuneWire

/// Announces transitions of the host on the bus, and waits until the observers are ready.
final class HostTransitions {
  /// Part of logind's delay that this program keeps for itself.
  private static let margin = Duration.milliseconds(250)

  /// Announced transitions that have not ended.
  private var announced: [HostQuestion.Lock: String] = [:]

  init() {}

  /// Posts the transition. Returns when all awaited observers are ready, or shortly before logind's delay
  /// ends.
  func prepare(for lock: HostQuestion.Lock, on bus: Connection, at logind: LogindProxy) async {
    let began = ContinuousClock.now
    do {
      let event = lock == .sleep ? "Suspend" : try await Self.event(at: logind)
      announced[lock] = event
      let spent = ContinuousClock.now - began
      let limit = max(.milliseconds(100), try await logind.delayMax() - Self.margin - spent)
      let name = "host.will\(event)"
      ServiceLog.notice("\(name): waiting for awaited observers, for \(limit) at most")
      let post = Task {
        try await bus.postAwaited(name, deadline: min(limit, bus.bus.deadlineMax), isImmediate: true)
      }
      // A hung bus does not end the post at its deadline.
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

  /// Posts that the transition is over or was cancelled.
  func end(_ lock: HostQuestion.Lock, on bus: Connection) async {
    guard let event = announced.removeValue(forKey: lock) else { return }
    do throws(TribuneError) {
      try await bus.postAcknowledged(lock == .sleep ? "host.didResume" : "host.didFailTo\(event)")
    } catch {
      ServiceLog.warning("nobody was told that the host runs on: \(error)")
    }
  }

  /// ScheduledShutdown has the action in progress, even if it was not scheduled (tested with 252 and 257).
  private static func event(at logind: LogindProxy) async throws(DBusError) -> String {
    let action = try await logind.scheduledShutdown()?.action ?? ""
    return HostQuestion.before(action: action).contains(.reboot) ? "Reboot" : "PowerOff"
  }
}

extension AwaitedReply.Missing {
  /// One line: the observer that was not ready, and the reason.
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
