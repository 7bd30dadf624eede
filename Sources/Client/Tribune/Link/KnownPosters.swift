// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The posters of which the bus has told this connection: one for each slot, as the bus counts on it.
struct KnownPosters {
  /// More slots than a bus has.
  static let slotsMax: UInt32 = 1 << 20

  private var byID: [ConnectionID: (slot: UInt32, poster: Poster)] = [:]
  /// The poster that each slot had last. Another slot may have it by now.
  private var idBySlot: [UInt32: ConnectionID] = [:]

  /// At most one for each slot.
  var count: Int { byID.count }

  subscript(id: ConnectionID) -> Poster? { byID[id]?.poster }

  mutating func note(_ facts: PosterFacts) {
    guard facts.slot < Self.slotsMax else { return }
    if let before = idBySlot.updateValue(facts.connection, forKey: facts.slot),
      byID[before]?.slot == facts.slot
    {
      byID[before] = nil
    }
    byID[facts.connection] = (facts.slot, Poster(facts.peer))
  }
}
