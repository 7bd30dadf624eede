// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Whom a message of a name about an object concerns, as it was found lately.
///
/// A hash leaves a route few places, so that the common message finds its own by one comparison, hostile names cannot
/// make the table grow, and those that have no place cost no more than finding the route anew. `age()` makes
/// everything that was kept worthless.
///
/// With one place for each hash, 1,000 names in 2,048 places left one post in four without its route.
struct RouteCache<Receiver> {
  /// Where a route is, or would be.
  struct Place {
    fileprivate let hash: UInt64
    fileprivate let first: Int
  }

  private struct Route {
    var hash: UInt64 = 0
    var generation: UInt64 = 0
    var nameLength = 0
    /// The name and the object.
    var key: [UInt8] = []
    var receivers: [Receiver] = []

    func hasKey(_ other: RawSpan) -> Bool { key.rawBytes.isEqual(to: other) }
  }

  /// Places for each hash.
  private static var placesEach: Int { 4 }
  /// Receivers in all kept routes together, so that many routes to many do not add up.
  private static var receiversKeptMax: Int { 1 << 20 }
  /// Receivers of worthless routes that may stay in memory until their place is used again.
  private static var receiversLeftMax: Int { 4096 }

  /// Receivers that a place has room for when its next route is found.
  private static var roomKeptMax: Int { 64 }

  private var routes: [Route]
  private let firstMask: UInt64
  private var receiversKept = 0
  private(set) var generation: UInt64 = 1
  private let seed: UInt64
  /// Says which of its places a route takes when all are in use: any.
  private var turn = 0

  /// - Parameters:
  ///   - placeCount: a power of two.
  ///   - seed: keeps peers from choosing names that fall on one place.
  init(placeCount: Int, seed: UInt64) {
    precondition(placeCount >= Self.placesEach && placeCount & (placeCount - 1) == 0)
    self.seed = seed
    firstMask = UInt64(placeCount - 1) & ~UInt64(Self.placesEach - 1)
    routes = Array(repeating: Route(), count: placeCount)
  }

  /// Somebody has come or gone: what was found may be wrong from now on.
  mutating func age() {
    generation += 1
    if receiversKept > Self.receiversLeftMax { forgetReceivers() }
  }

  func place(of key: RawSpan, nameLength: Int) -> Place {
    let hash = key.hash(seed: seed &+ UInt64(nameLength))
    return Place(hash: hash, first: Int(hash & firstMask))
  }

  /// The route of `key`, if it is kept.
  func receivers(at place: Place, of key: RawSpan, nameLength: Int) -> [Receiver]? {
    for index in place.first..<place.first + Self.placesEach
    where routes[index].hash == place.hash && routes[index].generation == generation
      && routes[index].nameLength == nameLength && routes[index].hasKey(key)
    {
      return routes[index].receivers
    }
    return nil
  }

  /// Takes the room of a route that is worthless, or else of any other, for the one that is found in its stead: names
  /// that fall on the same places in turn cost no allocations.
  mutating func takeRoom(at place: Place) -> [Receiver] {
    let index = indexOfNext(at: place)
    var room: [Receiver] = []
    swap(&room, &routes[index].receivers)
    routes[index].generation = 0
    receiversKept -= room.count
    room.removeAll(keepingCapacity: room.capacity <= Self.roomKeptMax)
    return room
  }

  /// Where the next route is kept.
  private func indexOfNext(at place: Place) -> Int {
    let all = place.first..<place.first + Self.placesEach
    return all.first { routes[$0].generation != generation } ?? place.first + turn % Self.placesEach
  }

  /// Keeps a route that was not.
  mutating func keep(_ receivers: [Receiver], at place: Place, of key: RawSpan, nameLength: Int) {
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
    routes[index].key.removeAll(keepingCapacity: true)
    for offset in 0..<key.byteCount {
      routes[index].key.append(key.integer(at: offset, as: UInt8.self))
    }
  }

  private mutating func forgetReceivers() {
    for index in routes.indices { routes[index].receivers = [] }
    receiversKept = 0
  }
}

extension RawSpan {
  /// A hash that depends on every byte and on `seed`. Not a cryptographic one: whoever learns the seed
  /// can make the table useless, not wrong.
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
