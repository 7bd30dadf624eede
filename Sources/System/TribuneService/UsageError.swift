// SPDX-License-Identifier: Apache-2.0

import TribuneWire

package struct UsageError: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(description: String) { self.description = description }

  package init(unknown argument: String) {
    self.init(
      description: argument.hasPrefix("-")
        ? "unknown option \(argument.escaped)" : "unexpected argument \(argument.escaped)")
  }
}
