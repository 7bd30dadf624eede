// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneWire

/// The delegates of each object, and a cache of the chains for queries.
///
/// A chain has all delegates that respond to a name and an object, including delegates for any object. It is
/// sorted by `order`, then by the time of attaching. A query without an object is about all objects, so its
/// chain has the delegates of all objects.
struct DelegateChains {
  /// The key of a delegate for any object is empty.
  private var byObject: [ExactText: [DelegateRegistration]] = [:]
  private var tree = PatternTree<DelegateRegistration>()
  private var routes: RouteCache<DelegateRegistration>
  private var tallies: [Tally<NameCounts>?]
  private var isAskable: [Bool]
  private var isNamed: [Bool]
  private(set) var count = 0
  private var lookup: UInt64 = 0

  private static let placeCount = 512

  init(seed: UInt64) {
    routes = RouteCache(placeCount: Self.placeCount, seed: seed)
    tallies = Array(repeating: nil, count: Self.placeCount)
    isAskable = Array(repeating: false, count: Self.placeCount)
    isNamed = Array(repeating: false, count: Self.placeCount)
  }

  var changeCount: UInt64 { routes.generation }

  mutating func insert(_ delegate: DelegateRegistration) {
    count += 1
    byObject[ExactText(delegate.object), default: []].insertSorted(delegate)
    for pattern in delegate.patterns {
      tree.insert(delegate, pattern: pattern, object: delegate.objectFilter)
    }
    routes.invalidate()
  }

  mutating func remove(_ delegate: DelegateRegistration) {
    count -= 1
    let key = ExactText(delegate.object)
    byObject[key]?.removeSorted(delegate)
    if byObject[key]?.isEmpty == true { byObject[key] = nil }
    for pattern in delegate.patterns {
      tree.remove(delegate, pattern: pattern, object: delegate.objectFilter)
    }
    routes.invalidate()
  }

  func delegates(of object: String) -> [DelegateRegistration] { byObject[ExactText(object)] ?? [] }

  var objectCounts: [(object: String, count: Int)] {
    byObject.lazy.filter { !$0.key.text.isEmpty }.map { ($0.key.text, $0.value.count) }
  }

  /// - Parameter key: the name and the object, contiguous as in the frame. This method validates them only on
  ///   a cache miss.
  /// - Returns: the delegates, and the index of their chain in the cache, valid until the next lookup.
  mutating func responding(
    to key: RawSpan, nameLength: Int
  ) throws(WireError) -> (chain: Int, delegates: [DelegateRegistration]) {
    let place = routes.place(of: key, nameLength: nameLength)
    if let index = routes.index(at: place, of: key, nameLength: nameLength) {
      return (index, routes.receivers(at: index))
    }
    try key.extracting(first: nameLength).requireName()
    try key.extracting(droppingFirst: nameLength).requireOneObject()
    lookup += 1
    let lookup = lookup
    var delegates: [DelegateRegistration] = []
    let object = key.extracting(droppingFirst: nameLength)
    tree.forEach(matching: key.extracting(first: nameLength), object: object, noneIsEvery: true) { delegate in
      // Several patterns of one delegate can match, but the chain must contain the delegate only once.
      if delegate.markFound(by: lookup) { delegates.append(delegate) }
    }
    delegates.sort { $0.precedes($1) }
    let index = routes.keep(delegates, at: place, of: key, nameLength: nameLength)
    tallies[index] = nil
    isNamed[index] = delegates.contains { delegate in
      delegate.patterns.contains { $0.isLiteral && $0.matches(key.extracting(first: nameLength)) }
    }
    let name = String(repairing: key.extracting(first: nameLength))
    isAskable[index] = WellKnownQuestions.canBeAsked(name)
    return (index, delegates)
  }

  func actions(at chain: Int, for permissions: UInt64) -> ActionSet? {
    routes.actions(at: chain, for: permissions)
  }

  mutating func remember(_ actions: ActionSet, at chain: Int, for permissions: UInt64) {
    routes.remember(actions, at: chain, for: permissions)
  }

  /// True if the chain's name has the form of a question for permission, and is not a misspelt well-known
  /// one. A value query cannot have such a name.
  func isAskable(at chain: Int) -> Bool { isAskable[chain] }

  /// True if a delegate has the chain's name itself as a pattern, and not only a pattern with a star.
  func isNamed(at chain: Int) -> Bool { isNamed[chain] }

  func tally(at chain: Int) -> Tally<NameCounts>? { tallies[chain] }

  mutating func remember(_ tally: Tally<NameCounts>, at chain: Int) { tallies[chain] = tally }
}

extension [DelegateRegistration] {
  private func place(of delegate: DelegateRegistration) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle].precedes(delegate) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  fileprivate mutating func insertSorted(_ delegate: DelegateRegistration) {
    insert(delegate, at: place(of: delegate))
  }

  fileprivate mutating func removeSorted(_ delegate: DelegateRegistration) {
    let place = place(of: delegate)
    precondition(place < count && self[place] === delegate, "the delegate is not in its chain")
    remove(at: place)
  }
}
