// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// The log of a service, on standard error. Each message begins with its level if the reader is the journal
/// (sd-daemon(3)), otherwise with the program's name.
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
    // If the reader of standard error is slow, this call drops the message, because the service must not
    // wait.
    _ = StandardError.writeLineAtOnce((isJournal ? "<\(level)>" : "\(program): ") + message.escaped)
  }
}
