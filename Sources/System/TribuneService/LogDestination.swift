// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

package enum LogDestination: Sendable {
  case journal
  case standardError

  package static var current: Self {
    guard let stream = Environment.value(of: "JOURNAL_STREAM") else {
      return isStartedWithoutJournald ? .journal : .standardError
    }
    return of(StandardError.rawDescriptor, journalStream: stream)
  }

  /// systemd opens /dev/null for a service while journald is unavailable. The service outlives that state.
  private static var isStartedWithoutJournald: Bool {
    Environment.value(of: "SYSTEMD_EXEC_PID") == String(ThisProcess.id) && StandardError.isNull
  }

  /// Compares the descriptor with `$JOURNAL_STREAM` (systemd.exec(5)), because a child inherits the variable
  /// even after a redirection.
  package static func of(_ descriptor: CInt, journalStream: String) -> Self {
    guard let file = SocketFile(of: descriptor) else { return .standardError }
    return journalStream == "\(file.device):\(file.inode)" ? .journal : .standardError
  }
}
