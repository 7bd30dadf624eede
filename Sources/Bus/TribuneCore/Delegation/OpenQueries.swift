// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The queries that wait for one delegate, in no particular order.
struct OpenQueries {
  private static let searchedMax = 32

  private(set) var all: [QueryID] = []
  /// Indices in `all`, by id (an integer, see `PlacesByID.others`). Empty until `all` exceeds `searchedMax`.
  private var places: [UInt64: Int] = [:]

  mutating func insert(_ query: QueryID) {
    all.append(query)
    if !places.isEmpty {
      places[query.rawValue] = all.count - 1
    } else if all.count > Self.searchedMax {
      for (place, query) in all.enumerated() { places[query.rawValue] = place }
    }
  }

  mutating func remove(_ query: QueryID) -> Bool {
    let isByTable = !places.isEmpty
    guard let place = isByTable ? places[query.rawValue] : all.firstIndex(of: query) else { return false }
    let last = all.removeLast()
    if place < all.count { all[place] = last }
    guard isByTable else { return true }
    places[last.rawValue] = place
    places[query.rawValue] = nil
    if all.isEmpty { places = [:] }
    return true
  }
}
