// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneSystem

nonisolated extension NameLookup {
  static let ofHost = NameLookup(
    user: { try UserDatabase.id(of: $0) }, group: { try UserDatabase.id(ofGroup: $0) })
}
