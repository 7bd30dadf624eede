// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// Where a process's messages go.
package enum LogDestination: Sendable {
  case journal
  case standardError

  /// The destination of this process's standard error.
  package static var current: Self {
    guard let stream = Environment.value(of: "JOURNAL_STREAM") else { return .standardError }
    return of(StandardError.rawDescriptor, journalStream: stream)
  }

  /// The destination of a descriptor, given the `DEVICE:INODE` of the stream that systemd connected to the journal
  /// (systemd.exec(5), "$JOURNAL_STREAM"). Processes inherit the variable even if their standard error was redirected
  /// since, so the descriptor must be that very stream.
  package static func of(_ descriptor: CInt, journalStream: String) -> Self {
    guard let file = SocketFile(of: descriptor) else { return .standardError }
    return journalStream == "\(file.device):\(file.inode)" ? .journal : .standardError
  }
}
