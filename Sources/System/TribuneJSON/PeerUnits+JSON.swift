// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

extension PeerUnits {
  /// The units, as members of a JSON object. `unit` is the system's, or the user's if there is none.
  package var members: [(name: String, value: JSONValue)] {
    [("unit", .string(primary)), ("systemUnit", .string(system)), ("userUnit", .string(user))]
  }
}
