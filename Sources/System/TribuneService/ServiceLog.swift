// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Writes messages to standard error. Before each message, it writes a level for the journal (sd-daemon(3)), or for
/// other readers the program's name.
package enum ServiceLog {
  private static let isJournal = LogDestination.current == .journal
  private static let program: String = {
    let path = Environment.arguments.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
    return path.split(separator: "/").last.map(String.init) ?? "tribune"
  }()

  package static func error(_ message: String) { write(3, message) }
  package static func warning(_ message: String) { write(4, message) }
  package static func notice(_ message: String) { write(5, message) }
  package static func info(_ message: String) { write(6, message) }

  private static func write(_ level: Int, _ message: String) {
    // If the reader is slow, the message is dropped: the service never waits.
    _ = StandardError.writeLineAtOnce((isJournal ? "<\(level)>" : "\(program): ") + message.escaped)
  }
}
