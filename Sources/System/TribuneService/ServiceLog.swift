// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Messages for the operator on standard error, with their level in front where the journal reads them (sd-daemon(3)), and
/// else with the program's name.
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
    // A line that nobody reads is left out: nothing waits for it.
    _ = StandardError.writeLineAtOnce((isJournal ? "<\(level)>" : "\(program): ") + message.escaped)
  }
}
