// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

package struct ObjectRule: Equatable, Sendable {
  package var pattern: ObjectPattern
  package var protocolName: String

  package init(pattern: ObjectPattern, protocolName: String) {
    self.pattern = pattern
    self.protocolName = protocolName
  }
}
