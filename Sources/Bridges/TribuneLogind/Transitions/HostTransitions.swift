// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService
import TribuneSystem
import TribuneWire

/// Announces transitions, and waits until the observers are ready.
final class HostTransitions {
  /// Kept for this program's own work.
  private static let margin = Duration.milliseconds(250)

  private var announced: [HostQuestion.Lock: String] = [:]

  init() {}

  /// Returns before logind's delay ends.
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
      // The bus may hang, so the wait is limited.
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

  /// Also runs after a cancelled transition.
  func end(_ lock: HostQuestion.Lock, on bus: Connection) async {
    guard let event = announced.removeValue(forKey: lock) else { return }
    do throws(TribuneError) {
      try await bus.postAcknowledged(lock == .sleep ? "host.didResume" : "host.didFailTo\(event)")
    } catch {
      ServiceLog.warning("nobody was told that the host runs on: \(error)")
    }
  }

  /// Valid even without a schedule (tested with 252 and 257).
  private static func event(at logind: LogindProxy) async throws(DBusError) -> String {
    let action = try await logind.scheduledShutdown()?.action ?? ""
    return HostQuestion.before(action: action).contains(.reboot) ? "Reboot" : "PowerOff"
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
