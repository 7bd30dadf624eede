// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Who observes what, and so who receives a notification.
///
/// A route is the connections that receive one (name, object), each once however many of its
/// observations match. Finding it walks the tree; what was found is kept in a table with one place for
/// each hash, so that the common post finds its route by one comparison, hostile names cannot make the
/// table grow, and a collision costs no more than another walk. Any change of an observation ages
/// everything that is in the table.
package struct NotificationCenter {
  package struct Observation: Equatable, Sendable {
    package let pattern: Pattern
    /// nil is any.
    package let object: String?
  }

  fileprivate struct Route {
    /// The name's length, the name, the object; empty where no route has been kept yet.
    var key: [UInt8] = []
    var generation: UInt64 = 0
    var receivers: [ConnectionSlot] = []
  }

  private static let placeCount = 2048
  /// Receivers in all kept routes together, so that many routes to many do not add up.
  private static let receiversKeptMax = 1 << 20

  private var tree = PatternTree()
  private var routes: [Route]
  private var receiversKept = 0
  private var generation: UInt64 = 1
  private let seed: UInt64
  /// Round in which a slot was last found, so that each is taken once.
  private var lastRound: [UInt64] = []
  private var round: UInt64 = 0

  /// - Parameter seed: keeps peers from choosing names that fall on one place.
  package init(seed: UInt64) {
    self.seed = seed
    routes = Array(repeating: Route(), count: Self.placeCount)
  }

  package var observationCount: Int { tree.count }
  package var changeCount: UInt64 { generation }

  mutating func add(_ observation: Observation, slot: ConnectionSlot, serial: Serial) {
    tree.insert(.init(slot: slot, serial: serial), pattern: observation.pattern, object: observation.object)
    generation += 1
  }

  mutating func remove(_ observation: Observation, slot: ConnectionSlot, serial: Serial) {
    tree.remove(.init(slot: slot, serial: serial), pattern: observation.pattern, object: observation.object)
    generation += 1
  }

  /// The connections that receive a notification, in the order of their slots.
  ///
  /// - Parameter key: name and object, joined as they lie in the frame. They are looked at only when
  ///   they are new; what was found before was valid then.
  /// - Throws: `invalidName`, `invalidObject`.
  package mutating func receivers(
    of key: RawSpan, nameLength: Int
  ) throws(WireError) -> [ConnectionSlot] {
    let place = Int(truncatingIfNeeded: key.hash(seed: seed &+ UInt64(nameLength)) % UInt64(Self.placeCount))
    if routes[place].generation == generation, routes[place].matches(key, nameLength: nameLength) {
      return routes[place].receivers
    }
    let name = key.extracting(first: nameLength)
    let object = key.extracting(droppingFirst: nameLength)
    try name.requireName()
    try object.requireObject()

    round += 1
    let round = round
    var receivers: [ConnectionSlot] = []
    if !tree.isEmpty {
      var lastRound = self.lastRound
      self.lastRound = []
      tree.forEach(matching: String(repairing: name), object: String(repairing: object)) { found in
        let index = found.slot.index
        if index >= lastRound.count {
          lastRound.append(contentsOf: repeatElement(0, count: index + 1 - lastRound.count))
        }
        guard lastRound[index] != round else { return }
        lastRound[index] = round
        receivers.append(found.slot)
      }
      self.lastRound = lastRound
      receivers.sort { $0.index < $1.index }
    }
    keep(receivers, at: place, key: key, nameLength: nameLength)
    return receivers
  }

  private mutating func keep(
    _ receivers: [ConnectionSlot], at place: Int, key: RawSpan, nameLength: Int
  ) {
    receiversKept += receivers.count - routes[place].receivers.count
    if receiversKept > Self.receiversKeptMax {
      for index in routes.indices { routes[index].receivers = [] }
      generation += 1
      receiversKept = receivers.count
    }
    routes[place].receivers = receivers
    routes[place].generation = generation
    routes[place].setKey(key, nameLength: nameLength)
  }
}

extension NotificationCenter.Route {
  fileprivate func matches(_ bytes: RawSpan, nameLength: Int) -> Bool {
    guard key.count == bytes.byteCount + 1, Int(key[0]) == nameLength else { return false }
    for offset in 0..<bytes.byteCount
    where key[offset + 1] != bytes.integer(at: offset, as: UInt8.self) { return false }
    return true
  }

  fileprivate mutating func setKey(_ bytes: RawSpan, nameLength: Int) {
    key.removeAll(keepingCapacity: true)
    key.append(UInt8(nameLength))
    for offset in 0..<bytes.byteCount { key.append(bytes.integer(at: offset, as: UInt8.self)) }
  }
}

extension RawSpan {
  /// A hash that depends on every byte and on `seed`. Not a cryptographic one: whoever learns the seed
  /// can make the table useless, not wrong.
  func hash(seed: UInt64) -> UInt64 {
    var hash = seed ^ (UInt64(byteCount) &* 0x9E37_79B9_7F4A_7C15)
    var offset = 0
    while offset + 8 <= byteCount {
      hash = (hash ^ integer(at: offset, as: UInt64.self)).mixed
      offset += 8
    }
    while offset < byteCount {
      hash = (hash ^ UInt64(integer(at: offset, as: UInt8.self))).mixed
      offset += 1
    }
    return hash ^ (hash >> 29)
  }

  func requireName() throws(WireError) {
    guard NameSyntax.isName(self) else {
      throw WireError(.invalidName, "\"\(String(repairing: self).escaped)\" is no name")
    }
  }

  func requireObject() throws(WireError) {
    guard NameSyntax.isObject(self) else {
      throw WireError(.invalidObject, "\"\(String(repairing: self).escaped)\" is no object")
    }
  }
}

extension UInt64 {
  fileprivate var mixed: UInt64 {
    let product = self &* 0xD6E8_FEB8_6659_FD93
    return product ^ (product >> 32)
  }
}
