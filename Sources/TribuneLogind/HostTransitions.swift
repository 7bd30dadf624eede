// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

/// Tells the observers on the bus what the host is about to do, and waits until they are ready.
final class HostTransitions {
  /// What is left of logind's time for its own work.
  private static let margin = Duration.milliseconds(250)

  /// What was announced and is not over, for each lock.
  private var announced: [HostQuestion.Lock: String] = [:]

  init() {}

  /// Posts that the host goes down or sleeps. Returns when all awaited observers are ready, or when logind waits no longer.
  func prepare(for lock: HostQuestion.Lock, on bus: Connection, at logind: LogindProxy) async {
    do {
      let event = lock == .sleep ? "Suspend" : try await Self.event(at: logind)
      announced[lock] = event
      let limit = max(.milliseconds(100), try await logind.delayMax() - Self.margin)
      let name = "host.will\(event)"
      ServiceLog.notice("\(name): waiting for awaited observers, for \(limit) at most")
      let reply = try await bus.postAwaited(name, deadline: limit, isImmediate: true)
      for missing in reply.missing { ServiceLog.warning("\(name): \(missing.summary)") }
      if reply.missing.isEmpty { ServiceLog.notice("\(name): everybody is ready") }
    } catch {
      ServiceLog.warning(
        "nobody was told that the host is about to \(lock == .sleep ? "sleep" : "go down"): \(error)")
    }
  }

  /// Posts that the host runs again, or still.
  func end(_ lock: HostQuestion.Lock, on bus: Connection) async {
    guard let event = announced.removeValue(forKey: lock) else { return }
    do throws(TribuneError) {
      try await bus.postAcknowledged(lock == .sleep ? "host.didResume" : "host.didFailTo\(event)")
    } catch {
      ServiceLog.warning("nobody was told that the host runs on: \(error)")
    }
  }

  /// logind says what it is about to do, from its version 252 on also of a shutdown that nobody has scheduled.
  private static func event(at logind: LogindProxy) async throws(DBusError) -> String {
    let action = try await logind.scheduledShutdown()?.action ?? ""
    return HostQuestion.before(action: action) == [.reboot] ? "Reboot" : "PowerOff"
  }
}

extension AwaitedReply.Missing {
  /// One line that says who was not ready, and why.
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
