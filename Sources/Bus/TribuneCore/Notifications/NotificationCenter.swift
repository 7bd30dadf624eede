// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
package import TribuneWire

/// Finds the connections that receive a notification.
///
/// A route is the list of the connections that receive notifications of a given name and object. It has each
/// connection once. Delegates receive the will- and did-notifications about their object.
package struct NotificationCenter {
  package struct Observation: Equatable, Sendable {
    package let pattern: Pattern
    /// nil for any object.
    package let object: String?
    package var suspension = SuspensionBehavior.coalesce
    package var isAwaited = false
  }

  private struct Key: Hashable {
    var slot: ConnectionSlot
    var suspension = SuspensionBehavior.coalesce
    var isAwaited = false
  }

  private struct Place {
    /// The number of the last lookup that found the connection. By this number, a lookup detects that it has
    /// already found the connection.
    var round: UInt64 = 0
    var index = 0
    var isSuspended = false
  }

  private var tree = PatternTree<Key>()
  private var busTree = PatternTree<Key>()
  /// The delegates that receive will- and did-notifications. Like a question, a will or did without an object
  /// is about all objects.
  private var delegateTree = PatternTree<ConnectionSlot>()
  private var routes: RouteCache<Receiver>
  package private(set) var observationCount = 0
  private var places: [Place] = []
  private var round: UInt64 = 0

  private let keepsBusApart: Bool

  /// - Parameters:
  ///   - seed: secret, so peers cannot choose names that slow down lookups.
  ///   - keepsBusApart: if true, a leading star in a pattern does not match the bus's own names.
  package init(seed: UInt64, keepsBusApart: Bool = true) {
    routes = RouteCache(placeCount: 4096, seed: seed)
    self.keepsBusApart = keepsBusApart
  }

  package var changeCount: UInt64 { routes.generation }

  package var isBusObserved: Bool { !busTree.isEmpty }

  mutating func add(_ observation: Observation, slot: ConnectionSlot) {
    change(observation, slot) { $0.insert($1, pattern: $2, object: $3) }
    observationCount += 1
    routes.invalidate()
  }

  mutating func remove(_ observation: Observation, slot: ConnectionSlot) {
    change(observation, slot) { $0.remove($1, pattern: $2, object: $3) }
    observationCount -= 1
    routes.invalidate()
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
    routes.invalidate()
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
    let key = Key(slot: slot, suspension: observation.suspension, isAwaited: observation.isAwaited)
    if keepsBusApart, observation.pattern.isReserved {
      change(&busTree, key, observation.pattern, observation.object)
    } else {
      change(&tree, key, observation.pattern, observation.object)
    }
  }

  private mutating func change(
    _ delegate: DelegateRegistration,
    _ change: (PatternTree<ConnectionSlot>, ConnectionSlot, Pattern, String?) -> Void
  ) {
    let patterns = delegate.patterns.filter(\.matchesWillOrDid)
    guard !patterns.isEmpty else { return }
    reservePlace(of: delegate.slot)
    for pattern in patterns { change(delegateTree, delegate.slot, pattern, delegate.objectFilter) }
    routes.invalidate()
  }

  /// Finds the route of a name and an object. The index is valid until the next registration or lookup.
  ///
  /// - Parameter key: the name and the object, contiguous as in the frame. This method validates them only on
  ///   a cache miss.
  @inline(__always) mutating func route(
    of key: RawSpan, nameLength: Int, _ access: borrowing Access
  ) throws(WireError) -> (index: Int, isNew: Bool) {
    let place = routes.place(of: key, nameLength: nameLength)
    if let index = routes.index(at: place, of: key, nameLength: nameLength) { return (index, false) }
    return (try makeRoute(of: key, nameLength: nameLength, at: place, access), true)
  }

  private mutating func makeRoute(
    of key: RawSpan, nameLength: Int, at place: RouteCache<Receiver>.Place, _ access: borrowing Access
  ) throws(WireError) -> Int {
    let name = key.extracting(first: nameLength)
    let object = key.extracting(droppingFirst: nameLength)
    try name.requireName()
    try object.requireObject()

    round += 1
    let round = round
    var receivers = routes.takeReceivers(at: place)
    let isOfBus = keepsBusApart && NameSyntax.isReserved(name)
    let tree = isOfBus ? busTree : tree
    let hasDelegates = !isOfBus && !delegateTree.isEmpty && NameSyntax.isWillOrDid(name)
    if !tree.isEmpty || hasDelegates {
      var places = self.places
      self.places = []
      tree.forEach(matching: name, object: object) { found in
        guard !access.filtersObservers || access.mayReceive(found.slot, name, object) else { return }
        let way = places[found.slot.index].isSuspended ? Receiver.Way(during: found.suspension) : .now
        Self.add(
          Receiver(slot: found.slot, way: way, isAwaited: found.isAwaited), to: &receivers, &places, round)
      }
      if hasDelegates {
        delegateTree.forEach(matching: name, object: object, noneIsEvery: true) { slot in
          guard !access.filtersObservers || access.mayReceive(slot, name, object) else { return }
          Self.add(Receiver(slot: slot, way: .now, isDelegate: true), to: &receivers, &places, round)
        }
      }
      self.places = places
      receivers.sort { $0.slot.index < $1.slot.index }
    }
    return routes.keep(receivers, at: place, of: key, nameLength: nameLength)
  }

  private static func add(
    _ receiver: Receiver, to receivers: inout [Receiver], _ places: inout [Place], _ round: UInt64
  ) {
    let slot = receiver.slot.index
    if places[slot].round == round {
      receivers[places[slot].index].join(receiver)
    } else {
      places[slot].round = round
      places[slot].index = receivers.count
      receivers.append(receiver)
    }
  }

  @inline(__always) func receivers(atRoute index: Int) -> [Receiver] { routes.receivers(at: index) }

  @inline(__always) func actions(atRoute index: Int, for permissions: UInt64) -> ActionSet? {
    routes.actions(at: index, for: permissions)
  }

  mutating func remember(_ actions: ActionSet, atRoute index: Int, for permissions: UInt64) {
    routes.remember(actions, at: index, for: permissions)
  }

  /// Call this after a change of permissions, which limit the receivers of a notification.
  mutating func invalidateRoutes() { routes.invalidate() }
}
