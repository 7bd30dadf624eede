// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Whom a message of a name about an object concerns, as it was found lately.
///
/// There is one place for each hash, so that the common message finds its route by one comparison, hostile
/// names cannot make the table grow, and a collision costs no more than finding the route anew. `age()` makes
/// everything that was kept worthless.
struct RouteCache<Receiver> {
  private struct Route {
    /// The name's length, the name, the object; empty where no route has been kept yet.
    var key: [UInt8] = []
    var generation: UInt64 = 0
    var receivers: [Receiver] = []
  }

  /// Receivers in all kept routes together, so that many routes to many do not add up.
  private static var receiversKeptMax: Int { 1 << 20 }
  /// Receivers of worthless routes that may stay in memory until their place is used again.
  private static var receiversLeftMax: Int { 4096 }

  private var routes: [Route]
  private var receiversKept = 0
  private(set) var generation: UInt64 = 1
  private let seed: UInt64

  /// - Parameter seed: keeps peers from choosing names that fall on one place.
  init(placeCount: Int, seed: UInt64) {
    self.seed = seed
    routes = Array(repeating: Route(), count: placeCount)
  }

  /// Somebody has come or gone: what was found may be wrong from now on.
  mutating func age() {
    generation += 1
    if receiversKept > Self.receiversLeftMax { forgetReceivers() }
  }

  /// Where the route of `key` is, or would be.
  func place(of key: RawSpan, nameLength: Int) -> Int {
    Int(truncatingIfNeeded: key.hash(seed: seed &+ UInt64(nameLength)) % UInt64(routes.count))
  }

  /// The route that is kept at `place`, if it is that of `key`.
  func receivers(at place: Int, of key: RawSpan, nameLength: Int) -> [Receiver]? {
    guard routes[place].generation == generation else { return nil }
    let kept = routes[place].key
    guard kept.count == key.byteCount + 1, Int(kept[0]) == nameLength else { return nil }
    for offset in 0..<key.byteCount
    where kept[offset + 1] != key.integer(at: offset, as: UInt8.self) { return nil }
    return routes[place].receivers
  }

  mutating func keep(_ receivers: [Receiver], at place: Int, of key: RawSpan, nameLength: Int) {
    receiversKept += receivers.count - routes[place].receivers.count
    if receiversKept > Self.receiversKeptMax {
      generation += 1
      forgetReceivers()
      receiversKept = receivers.count
    }
    routes[place].receivers = receivers
    routes[place].generation = generation
    routes[place].key.removeAll(keepingCapacity: true)
    routes[place].key.append(UInt8(nameLength))
    for offset in 0..<key.byteCount {
      routes[place].key.append(key.integer(at: offset, as: UInt8.self))
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
