// SPDX-License-Identifier: Apache-2.0

import CSystemd
import TribuneSystem

/// What a service says to the service manager (sd_notify(3)). Without one, nothing is sent.
package enum ManagerNotice {
  /// - Parameter descriptor: a copy of it goes with the text.
  package static func send(_ text: String, passing descriptor: CInt? = nil) {
    guard ServiceSocket.isNamed else { return }
    do throws(Errno) {
      try ServiceSocket().send(text, waits: true, passing: descriptor)
    } catch {
      ServiceLog.warning("cannot notify the service manager: \(error)")
    }
  }

  /// Tells the service manager that the main queue runs, as often as it wants to know. Returns only if it does not.
  @MainActor package static func keepWatchdog() async {
    var microseconds: UInt64 = 0
    guard unsafe sd_watchdog_enabled(0, &microseconds) > 0 else { return }
    while true {
      send("WATCHDOG=1")
      await rest(for: .microseconds(Int64(clamping: microseconds / 2)))
    }
  }
}
