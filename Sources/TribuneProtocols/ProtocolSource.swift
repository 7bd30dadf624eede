// SPDX-License-Identifier: Apache-2.0

/// Text in the language of `.protocol` files.
package struct ProtocolSource: Equatable, Sendable {
  /// What diagnostics call it.
  package var file: String
  /// UTF-8, if its author was careful. Whoever reads it bounds its length.
  package var text: [UInt8]

  package init(file: String, text: [UInt8]) {
    self.file = file
    self.text = text
  }
}

/// A place in a source.
package struct SourceLocation: Hashable, Sendable, CustomStringConvertible {
  package var file: String
  /// Counted from 1.
  package var line: Int
  /// In Unicode scalars, counted from 1.
  package var column: Int

  package init(file: String, line: Int, column: Int) {
    self.file = file
    self.line = line
    self.column = column
  }

  /// `FILE:LINE:COLUMN`, as compilers say it.
  package var description: String { "\(file):\(line):\(column)" }
}
