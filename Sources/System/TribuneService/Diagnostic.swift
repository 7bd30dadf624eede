// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// A message for the operator about a configuration file.
package struct Diagnostic: Equatable, Sendable, CustomStringConvertible {
  package enum Severity: String, Sendable {
    /// All of it is used, but has a consequence that the operator may not expect.
    case warning
    /// The faulty part is left out, and everything else is used.
    case mistake
    /// The configuration is not used.
    case error
  }

  package var severity: Severity
  package var file: String
  /// Counted from 1; nil if the message is about the whole file.
  package var line: Int?
  /// Counted from 1; nil if the message is about the whole line.
  package var column: Int?
  package var message: String

  package init(_ severity: Severity, _ file: String, _ line: Int?, column: Int? = nil, _ message: String) {
    self.severity = severity
    self.file = file
    self.line = line
    self.column = column
    self.message = message
  }

  /// Says on standard error what is wrong with a configuration, for whoever checks it.
  ///
  /// - Returns: the exit status: 1 if anything of it is not used, and else 0.
  package static func reportAll(_ diagnostics: [Diagnostic]) -> Int32 {
    for diagnostic in diagnostics { StandardError.writeLine("\(diagnostic)") }
    return diagnostics.contains { $0.severity != .warning } ? 1 : 0
  }

  /// `FILE:LINE:COLUMN: SEVERITY: MESSAGE`, as in compiler messages.
  package var description: String {
    let place = [line, column].reduce(file.escaped) { place, number in
      number.map { "\(place):\($0)" } ?? place
    }
    return "\(place): \(severity.rawValue): \(message)"
  }
}
