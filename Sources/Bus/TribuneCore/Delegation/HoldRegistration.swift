// SPDX-License-Identifier: Apache-2.0

import TribuneWire

final class HoldRegistration: Hashable {
  /// Holds and delegates share one sequence of ids, because an outcome in a verdict can be of either.
  let identity: DelegateIdentity
  let connection: ConnectionID
  let slot: ConnectionSlot
  let serial: Serial
  let pattern: Pattern
  /// nil if the hold is for any object.
  let object: String?
  var why: String
  /// The serial of the last `amend`; nil without one. The serial stays in use until the next `amend` of the
  /// hold, or until the hold ends.
  var amendment: Serial?
  let taken: Instant
  let expiry: Instant?
  let rememberedLength: Int
  /// The number of actions under way for which the hold came too late.
  var lateCount = 0
  fileprivate(set) var deadline: Due.Handle?

  init(
    identity: DelegateIdentity, connection: ConnectionID, slot: ConnectionSlot, serial: Serial,
    pattern: Pattern, object: String?, why: String, taken: Instant, expiry: Instant?
  ) {
    self.identity = identity
    self.connection = connection
    self.slot = slot
    self.serial = serial
    self.pattern = pattern
    self.object = object
    self.why = why
    self.taken = taken
    self.expiry = expiry
    rememberedLength = identity.rememberedLength
  }

  static func == (one: HoldRegistration, other: HoldRegistration) -> Bool { one === other }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  func outcome(within budget: inout OutcomeBudget) -> Outcome? {
    guard budget.admit(rememberedLength) else { return nil }
    return Outcome(delegate: identity, outcome: .held, reason: budget.cut(why), elapsed: 0)
  }

  func entry(at now: Instant) -> HoldEntry {
    HoldEntry(
      connection: connection, delegate: identity, pattern: pattern.text, object: object ?? "", why: why,
      age: now.nanoseconds(since: taken) / 1000,
      // 0 means that the hold does not expire.
      remaining: expiry.map { max(1, $0.nanoseconds(since: now) / 1000) } ?? 0)
  }
}

struct Holds {
  private var tree = PatternTree<HoldRegistration>()
  private var routes: RouteCache<HoldRegistration>

  init(seed: UInt64) { routes = RouteCache(placeCount: 64, seed: seed) }

  var count: Int { tree.count }
  var changeCount: UInt64 { routes.generation }

  mutating func insert(_ hold: HoldRegistration, _ deadlines: inout Deadlines<Due>) {
    tree.insert(hold, pattern: hold.pattern, object: hold.object)
    routes.invalidate()
    hold.deadline = hold.expiry.map {
      deadlines.insert(.hold(hold), due: $0, rank: DeadlineRank(.hold, hold.identity.id.rawValue))
    }
  }

  mutating func remove(_ hold: HoldRegistration, _ deadlines: inout Deadlines<Due>) {
    tree.remove(hold, pattern: hold.pattern, object: hold.object)
    routes.invalidate()
    if let deadline = hold.deadline { deadlines.remove(deadline) }
    hold.deadline = nil
  }

  /// The holds that match the name and the object, oldest first. If the object is empty, the holds of all
  /// objects match.
  mutating func against(_ key: RawSpan, nameLength: Int) -> [HoldRegistration] {
    if tree.isEmpty { return [] }
    let place = routes.place(of: key, nameLength: nameLength)
    if let index = routes.index(at: place, of: key, nameLength: nameLength) {
      return routes.receivers(at: index)
    }
    var found: [HoldRegistration] = []
    let object = key.extracting(droppingFirst: nameLength)
    tree.forEach(matching: key.extracting(first: nameLength), object: object, noneIsEvery: true) {
      found.append($0)
    }
    found.sort { $0.identity.id < $1.identity.id }
    _ = routes.keep(found, at: place, of: key, nameLength: nameLength)
    return found
  }
}
