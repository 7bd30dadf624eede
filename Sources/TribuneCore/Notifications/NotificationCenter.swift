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
    package var suspension = SuspensionBehavior.coalesce
    package var isAwaited = false
  }

  /// Whose registrations: those of one connection that are alike are one.
  private struct Key: Hashable {
    var slot: ConnectionSlot
    var suspension = SuspensionBehavior.coalesce
    var isAwaited = false
    /// It is a delegate's, who receives no other names than those that will or did something.
    var isDelegate = false
  }

  /// Where a connection stands in the route that is being found.
  private struct Place {
    /// The round in which it was last found, so that each is taken once.
    var round: UInt64 = 0
    var index = 0
    var isSuspended = false
  }

  private var tree = PatternTree<Key>()
  /// Who observes what the bus itself posts, where that is kept apart: those who ask for names that only it
  /// has.
  private var busTree = PatternTree<Key>()
  private var routes: RouteCache<Receiver>
  package private(set) var observationCount = 0
  /// By slot.
  private var places: [Place] = []
  private var round: UInt64 = 0

  private let keepsBusApart: Bool

  /// - Parameters:
  ///   - seed: keeps peers from choosing names that make it slow.
  ///   - keepsBusApart: whether a star at the beginning of a pattern does not stand for the bus.
  package init(seed: UInt64, keepsBusApart: Bool = true) {
    routes = RouteCache(placeCount: 4096, seed: seed)
    self.keepsBusApart = keepsBusApart
  }

  package var changeCount: UInt64 { routes.generation }

  /// Whether somebody may receive what the bus itself posts.
  package var isBusObserved: Bool { !busTree.isEmpty }

  mutating func add(_ observation: Observation, slot: ConnectionSlot) {
    change(observation, slot) { $0.insert($1, pattern: $2, object: $3) }
    observationCount += 1
    routes.age()
  }

  mutating func remove(_ observation: Observation, slot: ConnectionSlot) {
    change(observation, slot) { $0.remove($1, pattern: $2, object: $3) }
    observationCount -= 1
    routes.age()
  }

  mutating func add(_ delegate: DelegateRegistration) {
    change(delegate) { $0.insert($1, pattern: $2, object: $3) }
  }

  mutating func remove(_ delegate: DelegateRegistration) {
    change(delegate) { $0.remove($1, pattern: $2, object: $3) }
  }

  mutating func setSuspended(_ isSuspended: Bool, _ slot: ConnectionSlot) {
    reservePlace(of: slot)
    guard places[slot.index].isSuspended != isSuspended else { return }
    places[slot.index].isSuspended = isSuspended
    routes.age()
  }

  private mutating func reservePlace(of slot: ConnectionSlot) {
    guard slot.index >= places.count else { return }
    places.append(contentsOf: repeatElement(Place(), count: slot.index + 1 - places.count))
  }

  private mutating func change(
    _ observation: Observation, _ slot: ConnectionSlot,
    _ change: (inout PatternTree<Key>, Key, Pattern, String?) -> Void
  ) {
    reservePlace(of: slot)
    let key = Key(
      slot: slot, suspension: observation.suspension, isAwaited: observation.isAwaited)
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
    reservePlace(of: delegate.slot)
    let key = Key(slot: delegate.slot, isDelegate: true)
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
  ) throws(WireError) -> [Receiver] {
    let place = routes.place(of: key, nameLength: nameLength)
    if let receivers = routes.receivers(at: place, of: key, nameLength: nameLength) { return receivers }
    let name = key.extracting(first: nameLength)
    let object = key.extracting(droppingFirst: nameLength)
    try name.requireName()
    try object.requireObject()

    round += 1
    let round = round
    var receivers = routes.takeRoom(at: place)
    let tree = keepsBusApart && NameSyntax.isReserved(name) ? busTree : tree
    if !tree.isEmpty {
      let concernsDelegates = NameSyntax.isWillOrDid(name)
      var places = self.places
      self.places = []
      tree.forEach(matching: name, object: object) { found in
        guard !found.isDelegate || concernsDelegates else { return }
        let slot = found.slot.index
        let way =
          places[slot].isSuspended && !found.isDelegate ? Receiver.Way(during: found.suspension) : .now
        if places[slot].round == round {
          receivers[places[slot].index].join(way, isAwaited: found.isAwaited)
        } else {
          places[slot].round = round
          places[slot].index = receivers.count
          receivers.append(Receiver(slot: found.slot, way: way, isAwaited: found.isAwaited))
        }
      }
      self.places = places
      receivers.sort { $0.slot.index < $1.slot.index }
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
