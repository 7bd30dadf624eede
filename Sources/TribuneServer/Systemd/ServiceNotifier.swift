// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import TribuneSystem
import TribuneWire

/// Tells the service manager how the daemon is doing, as sd_notify(3) has it.
///
/// Without a `NOTIFY_SOCKET` nothing is sent. One that leads nowhere is logged once, and again only
/// after it has worked in between: a bus that serves is worth more than a manager that listens.
package final class ServiceNotifier {
  private let log: Log
  private var isFailing = false

  package init(log: Log) { self.log = log }

  /// The daemon listens; or, after `reloading()`, it goes by the new configuration.
  package func ready(status: String) { send("READY=1", "STATUS=\(status.escaped)") }

  /// The line that `systemctl status` shows.
  package func status(_ status: String) { send("STATUS=\(status.escaped)") }

  /// The run loop turns.
  package func watchdog() { send("WATCHDOG=1") }

  /// `ready(status:)` must follow.
  package func reloading() {
    var now = timespec()
    guard unsafe clock_gettime(CLOCK_MONOTONIC, &now) == 0 else {
      preconditionFailure("there is a monotonic clock")
    }
    let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
    send("RELOADING=1", "MONOTONIC_USEC=\(microseconds)")
  }

  /// The daemon is ending.
  package func stopping(status: String) { send("STOPPING=1", "STATUS=\(status.escaped)") }

  /// Within how many nanoseconds of each other the manager wants its `watchdog()`; nil when it wants none.
  nonisolated package static var watchdogIntervalNanoseconds: UInt64? {
    var microseconds: UInt64 = 0
    guard unsafe sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
    let (nanoseconds, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
    return overflow ? .max : nanoseconds
  }

  private func send(_ assignments: String...) {
    let result = unsafe sd_notify(0, assignments.joined(separator: "\n"))
    if result >= 0 {
      isFailing = false
    } else if !isFailing {
      isFailing = true
      log.warning("cannot notify the service manager at $NOTIFY_SOCKET: \(Errno(rawValue: -result))")
    }
  }
}
