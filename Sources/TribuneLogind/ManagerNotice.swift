// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// What this program says to the service manager (sd_notify(3)). Without one, nothing is sent.
enum ManagerNotice {
  /// - Parameter descriptor: a copy of it goes with the text.
  static func send(_ text: String, passing descriptor: CInt? = nil) {
    guard ServiceSocket.isNamed else { return }
    do throws(Errno) {
      try ServiceSocket().send(text, waits: true, passing: descriptor)
    } catch {
      ServiceLog.warning("cannot notify the service manager: \(error)")
    }
  }
}
