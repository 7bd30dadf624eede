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

  /// True if systemd opened /dev/null for this service, because journald was unavailable. journald may start later,
  /// so messages go to the journal.
  private static var isStartedWithoutJournald: Bool {
    Environment.value(of: "SYSTEMD_EXEC_PID") == String(ThisProcess.id) && StandardError.isNull
  }

  /// Compares the descriptor's file with `$JOURNAL_STREAM` (systemd.exec(5)). The variable alone proves nothing,
  /// because a child inherits it even if its output is redirected.
  package static func of(_ descriptor: CInt, journalStream: String) -> Self {
    guard let file = SocketFile(of: descriptor) else { return .standardError }
    return journalStream == "\(file.device):\(file.inode)" ? .journal : .standardError
  }
}
