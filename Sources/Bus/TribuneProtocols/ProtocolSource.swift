// SPDX-License-Identifier: Apache-2.0

package struct ProtocolSource: Equatable, Sendable {
  package var file: String
  /// The source's bytes, which can be invalid UTF-8. The caller must limit the number of bytes.
  package var text: [UInt8]

  package init(file: String, text: [UInt8]) {
    self.file = file
    self.text = text
  }
}

package struct SourceLocation: Hashable, Sendable, CustomStringConvertible {
  package var file: String
  package var line: Int
  /// The place in the line, in Unicode scalars, counted from 1.
  package var column: Int

  package init(file: String, line: Int, column: Int) {
    self.file = file
    self.line = line
    self.column = column
  }

  package var description: String { "\(file):\(line):\(column)" }
}
