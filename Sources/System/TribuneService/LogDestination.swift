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

  /// True if systemd started this service while journald was unavailable. Standard error is then /dev/null.
  /// The bus's log still uses the journal, because journald may start later.
  private static var isStartedWithoutJournald: Bool {
    Environment.value(of: "SYSTEMD_EXEC_PID") == String(ThisProcess.id) && StandardError.isNull
  }

  /// Compares the descriptor's file with `$JOURNAL_STREAM` (systemd.exec(5)). The variable alone does not
  /// suffice, because a child process inherits it even if the child's output is redirected.
  package static func of(_ descriptor: CInt, journalStream: String) -> Self {
    guard let file = SocketFile(of: descriptor) else { return .standardError }
    return journalStream == "\(file.device):\(file.inode)" ? .journal : .standardError
  }
}
