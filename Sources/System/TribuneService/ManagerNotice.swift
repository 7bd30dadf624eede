// SPDX-License-Identifier: Apache-2.0

import CSystemd
import TribuneSystem
import TribuneWire

/// What a service says to the service manager (sd_notify(3)). Without one, nothing is sent.
package enum ManagerNotice {
  /// - Parameters:
  ///   - waits: whether to wait until the manager has space for it. One that hangs has none, and holds up who waits.
  ///   - descriptor: a copy of it goes with the text.
  /// - Returns: false if it was not sent, because there was no space.
  @discardableResult
  package static func send(_ text: String, waits: Bool = false, passing descriptor: CInt? = nil) -> Bool {
    guard ServiceSocket.isNamed else { return true }
    do throws(Errno) {
      try ServiceSocket().send(text, waits: waits, passing: descriptor)
    } catch {
      if error == .again { return false }
      ServiceLog.warning("cannot notify the service manager: \(error)")
    }
    return true
  }

  /// The line that `systemctl status` shows.
  ///
  /// - Returns: false if it was not sent, because there was no space.
  @discardableResult
  package static func status(_ status: String) -> Bool { send("STATUS=\(status.escaped)") }

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
