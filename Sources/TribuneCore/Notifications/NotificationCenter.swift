// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Who observes what, and so who receives a notification.
///
/// A route is the connections that receive one (name, object), each once however many of its
/// observations match. Delegates observe, too: what announces or reports an action on their object.
package struct NotificationCenter {
  package struct Observation: Equatable, Sendable {
    package let pattern: Pattern
    /// nil is any.
    package let object: String?
  }

  /// One registration: whose, and under which serial.
  private struct Key: Hashable {
    var slot: ConnectionSlot
    var serial: Serial
    /// It is a delegate's, who receives no other names than those that will or did something.
    var isDelegate = false
  }

  private var tree = PatternTree<Key>()
  /// Who observes what the bus itself posts, where that is kept apart: those who ask for names that only it
  /// has.
  private var busTree = PatternTree<Key>()
  private var routes: RouteCache<ConnectionSlot>
  package private(set) var observationCount = 0
  /// Round in which a slot was last found, so that each is taken once.
  private var lastRound: [UInt64] = []
  private var round: UInt64 = 0

  private let keepsBusApart: Bool

  /// - Parameters:
  ///   - seed: keeps peers from choosing names that make it slow.
  ///   - keepsBusApart: whether a star at the beginning of a pattern does not stand for the bus.
  package init(seed: UInt64, keepsBusApart: Bool = true) {
    routes = RouteCache(placeCount: 2048, seed: seed)
    self.keepsBusApart = keepsBusApart
  }

  package var changeCount: UInt64 { routes.generation }

  /// Whether somebody may receive what the bus itself posts.
  package var isBusObserved: Bool { !busTree.isEmpty }

  mutating func add(_ observation: Observation, slot: ConnectionSlot, serial: Serial) {
    change(observation, slot, serial) { $0.insert($1, pattern: $2, object: $3) }
    observationCount += 1
    routes.age()
  }

  mutating func remove(_ observation: Observation, slot: ConnectionSlot, serial: Serial) {
    change(observation, slot, serial) { $0.remove($1, pattern: $2, object: $3) }
    observationCount -= 1
    routes.age()
  }

  mutating func add(_ delegate: DelegateRegistration) {
    change(delegate) { $0.insert($1, pattern: $2, object: $3) }
  }

  mutating func remove(_ delegate: DelegateRegistration) {
    change(delegate) { $0.remove($1, pattern: $2, object: $3) }
  }

  private mutating func change(
    _ observation: Observation, _ slot: ConnectionSlot, _ serial: Serial,
    _ change: (inout PatternTree<Key>, Key, Pattern, String?) -> Void
  ) {
    let key = Key(slot: slot, serial: serial)
    if keepsBusApart, observation.pattern.isReserved {
      change(&busTree, key, observation.pattern, observation.object)
    } else {
      change(&tree, key, observation.pattern, observation.object)
    }
  }

  private mutating func change(
    _ delegate: DelegateRegistration, _ change: (inout PatternTree<Key>, Key, Pattern, String?) -> Void
  ) {
    let patterns = delegate.patterns.filter(\.matchesWillOrDid)
    guard !patterns.isEmpty else { return }
    let key = Key(slot: delegate.slot, serial: delegate.serial, isDelegate: true)
    let object = delegate.object.isEmpty ? nil : delegate.object
    for pattern in patterns { change(&tree, key, pattern, object) }
    routes.age()
  }

  /// The connections that receive a notification, in the order of their slots.
  ///
  /// - Parameter key: name and object, joined as they lie in the frame. They are looked at only when
  ///   they are new; what was found before was valid then.
  /// - Throws: `invalidName`, `invalidObject`.
  package mutating func receivers(
    of key: RawSpan, nameLength: Int
  ) throws(WireError) -> [ConnectionSlot] {
    let place = routes.place(of: key, nameLength: nameLength)
    if let receivers = routes.receivers(at: place, of: key, nameLength: nameLength) { return receivers }
    let name = key.extracting(first: nameLength)
    let object = key.extracting(droppingFirst: nameLength)
    try name.requireName()
    try object.requireObject()

    round += 1
    let round = round
    var receivers: [ConnectionSlot] = []
    let tree = keepsBusApart && NameSyntax.isReserved(name) ? busTree : tree
    if !tree.isEmpty {
      let concernsDelegates = NameSyntax.isWillOrDid(name)
      var lastRound = self.lastRound
      self.lastRound = []
      tree.forEach(matching: String(repairing: name), object: String(repairing: object)) { found in
        guard !found.isDelegate || concernsDelegates else { return }
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
    routes.keep(receivers, at: place, of: key, nameLength: nameLength)
    return receivers
  }
}

extension RawSpan {
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
