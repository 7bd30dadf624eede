// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

extension Units {
  /// The units, as members of a JSON object.
  var members: [(name: String, value: JSONValue)] { PeerUnits(system: system, user: user).members }
}
