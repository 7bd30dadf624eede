// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneWire

/// A set-associative cache of the receivers of messages, by name and object. Hostile names cannot enlarge it.
///
/// Each hash can use four entries. With only one entry for each hash, 1,000 names in 2,048 entries would
/// collide so often that the cache would lack the receivers of a quarter of the posts.
struct RouteCache<Receiver> {
  struct Place {
    fileprivate let hash: UInt64
    fileprivate let first: Int
  }

  private struct Route {
    var hash: UInt64 = 0
    var generation: UInt64 = 0
    var nameLength = 0
    var key: [UInt8] = []
    var receivers: [Receiver] = []
    var decisions = Decisions()

    func hasKey(_ other: RawSpan) -> Bool { key.rawBytes.isEqual(to: other) }
  }

  private static var placesEach: Int { 4 }
  /// The limit of receivers in all cached routes together.
  private static var receiversKeptMax: Int { 1 << 20 }
  /// If the routes contain more than this many receivers in all, `invalidate` frees their arrays.
  private static var receiversLeftMax: Int { 4096 }

  private static var capacityKeptMax: Int { 64 }

  private var routes: [Route]
  private let firstMask: UInt64
  private var receiversKept = 0
  private(set) var generation: UInt64 = 1
  private let seed: UInt64
  private var turn = 0

  /// - Parameters:
  ///   - placeCount: a power of two.
  ///   - seed: secret, so peers cannot choose names that collide.
  init(placeCount: Int, seed: UInt64) {
    precondition(placeCount >= Self.placesEach && placeCount & (placeCount - 1) == 0)
    self.seed = seed
    firstMask = UInt64(placeCount - 1) & ~UInt64(Self.placesEach - 1)
    routes = Array(repeating: Route(), count: placeCount)
  }

  mutating func invalidate() {
    generation += 1
    if receiversKept > Self.receiversLeftMax { forgetReceivers() }
  }

  func place(of key: RawSpan, nameLength: Int) -> Place {
    let hash = key.hash(seed: seed &+ UInt64(nameLength))
    return Place(hash: hash, first: Int(hash & firstMask))
  }

  /// The index of the route, which is valid until the cache changes. nil if the route is not cached.
  func index(at place: Place, of key: RawSpan, nameLength: Int) -> Int? {
    for index in place.first..<place.first + Self.placesEach
    where routes[index].hash == place.hash && routes[index].generation == generation
      && routes[index].nameLength == nameLength && routes[index].hasKey(key)
    {
      return index
    }
    return nil
  }

  @inline(__always) func receivers(at index: Int) -> [Receiver] { routes[index].receivers }

  @inline(__always) func actions(at index: Int, for permissions: UInt64) -> ActionSet? {
    routes[index].decisions[permissions]
  }

  mutating func remember(_ actions: ActionSet, at index: Int, for permissions: UInt64) {
    routes[index].decisions[permissions] = actions
  }

  /// Takes the array of the entry that `keep` will replace, and empties it for the caller to fill again. This
  /// saves an allocation for each new route. An array for more than `capacityKeptMax` receivers is freed.
  mutating func takeReceivers(at place: Place) -> [Receiver] {
    let index = indexOfNext(at: place)
    var receivers: [Receiver] = []
    swap(&receivers, &routes[index].receivers)
    routes[index].generation = 0
    receiversKept -= receivers.count
    receivers.removeAll(keepingCapacity: receivers.capacity <= Self.capacityKeptMax)
    return receivers
  }

  private func indexOfNext(at place: Place) -> Int {
    let all = place.first..<place.first + Self.placesEach
    return all.first { routes[$0].generation != generation } ?? place.first + turn % Self.placesEach
  }

  mutating func keep(_ receivers: [Receiver], at place: Place, of key: RawSpan, nameLength: Int) -> Int {
    let index = indexOfNext(at: place)
    turn += 1
    receiversKept += receivers.count - routes[index].receivers.count
    if receiversKept > Self.receiversKeptMax {
      generation += 1
      forgetReceivers()
      receiversKept = receivers.count
    }
    routes[index].hash = place.hash
    routes[index].generation = generation
    routes[index].nameLength = nameLength
    routes[index].receivers = receivers
    routes[index].decisions = Decisions()
    routes[index].key.removeAll(keepingCapacity: true)
    for offset in 0..<key.byteCount { routes[index].key.append(key.integer(at: offset, as: UInt8.self)) }
    return index
  }

  private mutating func forgetReceivers() {
    for index in routes.indices { routes[index].receivers = [] }
    receiversKept = 0
  }
}

private struct Decisions {
  /// Each entry has the id of permissions in the upper 48 bits, and the allowed actions in the lower 16. 0 is
  /// a free entry, because the id of permissions is never 0.
  private var entries = SIMD4<UInt64>()

  subscript(permissions: UInt64) -> ActionSet? {
    @inline(__always) get {
      let entry = entries[Int(permissions & 3)]
      return entry >> 16 == permissions ? ActionSet(rawValue: UInt16(truncatingIfNeeded: entry)) : nil
    }
    set { entries[Int(permissions & 3)] = permissions << 16 | UInt64(newValue?.rawValue ?? 0) }
  }
}

extension RawSpan {
  /// This hash is not cryptographic. A peer that learns the seed can make the cache useless, but not wrong.
  fileprivate func hash(seed: UInt64) -> UInt64 {
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
}

extension UInt64 {
  fileprivate var mixed: UInt64 {
    let product = self &* 0xD6E8_FEB8_6659_FD93
    return product ^ (product >> 32)
  }
}
