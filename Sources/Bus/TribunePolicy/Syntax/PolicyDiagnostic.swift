// SPDX-License-Identifier: Apache-2.0

package struct PolicyDiagnostic: Equatable, Sendable, CustomStringConvertible {
  /// True if the line is valid, but one of its words probably keeps it from having the intended effect.
  package var isWarning: Bool
  package var file: String
  package var line: Int
  /// The place of the mistake in the line, in bytes, counted from 1.
  package var column: Int
  package var message: String

  package init(isWarning: Bool, file: String, line: Int, column: Int, message: String) {
    (self.isWarning, self.file, self.line, self.column) = (isWarning, file, line, column)
    self.message = message
  }

  package var description: String {
    "\(file):\(line):\(column): \(isWarning ? "warning: " : "")\(message)"
  }
}
