// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

package struct Diagnostic: Equatable, Sendable, CustomStringConvertible {
  package enum Severity: String, Sendable {
    /// The setting applies, but its effect may be unexpected.
    case warning
    /// The program ignores the faulty part.
    case mistake
    /// At its start, the bus refuses to run, and so does a bridge with `needsFaultlessSettings`. At a reload,
    /// the program keeps the old configuration.
    case error
  }

  package var severity: Severity
  package var file: String
  /// The line's number, from 1; nil if the message is about the whole file.
  package var line: Int?
  /// The column's number, from 1; nil if the message is about the whole line.
  package var column: Int?
  package var message: String

  package init(_ severity: Severity, _ file: String, _ line: Int?, column: Int? = nil, _ message: String) {
    self.severity = severity
    self.file = file
    self.line = line
    self.column = column
    self.message = message
  }

  /// Prints the diagnostics. Returns an exit status: 1 after a mistake or an error, otherwise 0.
  package static func printAll(_ diagnostics: [Diagnostic]) -> Int32 {
    for diagnostic in diagnostics { StandardError.writeLine("\(diagnostic)") }
    return diagnostics.contains { $0.severity != .warning } ? 1 : 0
  }

  package var description: String {
    let place = [line, column].reduce(file.escaped) { place, number in
      number.map { "\(place):\($0)" } ?? place
    }
    return "\(place): \(severity.rawValue): \(message)"
  }
}
