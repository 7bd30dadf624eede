// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// One delegate in a chain. Its queries hold it, so that a verdict can name a delegate that has gone;
/// whether it still takes part is `isAttached`.
package final class DelegateRegistration {
  package let identity: DelegateIdentity
  package let connection: ConnectionID
  package let slot: ConnectionSlot
  package let serial: Serial
  /// Empty for any.
  package let object: String
  package let order: Int32
  package let failurePolicy: FailurePolicy
  /// Milliseconds.
  package let timeout: UInt32
  package let patterns: [Pattern]

  /// Cleared when it leaves the chain, and never set again.
  package internal(set) var isAttached = true

  init(
    identity: DelegateIdentity, connection: ConnectionID, slot: ConnectionSlot, serial: Serial,
    object: String, order: Int32, failurePolicy: FailurePolicy, timeout: UInt32, patterns: [Pattern]
  ) {
    self.identity = identity
    self.connection = connection
    self.slot = slot
    self.serial = serial
    self.object = object
    self.order = order
    self.failurePolicy = failurePolicy
    self.timeout = timeout
    self.patterns = patterns
  }

  /// What two registrations of one connection have in common when they are the same thing: the object,
  /// the names, in whatever order, and the label. Neither object nor names hold a line break, so nothing
  /// else reads the same.
  static func likeness(object: String, patterns: [Pattern], label: String) -> ExactText {
    let names = Set(patterns.map(\.text)).sorted().joined(separator: " ")
    return ExactText("\(object)\n\(names)\n\(label)")
  }

  var likeness: ExactText {
    Self.likeness(object: object, patterns: patterns, label: identity.label)
  }

  func responds(to name: RawSpan) -> Bool {
    for pattern in patterns where pattern.matches(name) { return true }
    return false
  }

  /// Whether it stands before `other`: by order, then by time of attaching, which ids count.
  func precedes(_ other: DelegateRegistration) -> Bool {
    (order, identity.id) < (other.order, other.identity.id)
  }

  package var entry: DelegateEntry {
    DelegateEntry(
      connection: connection, delegate: identity, object: object, order: order,
      failurePolicy: failurePolicy, timeout: timeout, patterns: patterns.map(\.text))
  }
}

/// The delegates of each object, in order.
struct DelegateChains {
  private var chains: [ExactText: [DelegateRegistration]] = [:]
  /// Those for any object.
  private var forAny: [DelegateRegistration] = []
  private(set) var count = 0
  private(set) var changeCount: UInt64 = 0

  mutating func insert(_ delegate: DelegateRegistration) {
    count += 1
    changeCount += 1
    if delegate.object.isEmpty {
      forAny.insertSorted(delegate)
    } else {
      chains[ExactText(delegate.object), default: []].insertSorted(delegate)
    }
  }

  mutating func remove(_ delegate: DelegateRegistration) {
    count -= 1
    changeCount += 1
    if delegate.object.isEmpty {
      forAny.removeSorted(delegate)
    } else {
      let object = ExactText(delegate.object)
      chains[object]?.removeSorted(delegate)
      if chains[object]?.isEmpty == true { chains[object] = nil }
    }
  }

  /// Calls `found` for each delegate that responds to `name` for `object`, in the chain's order.
  func forEach(respondingTo name: RawSpan, object: RawSpan, _ found: (DelegateRegistration) -> Void) {
    var own: [DelegateRegistration] = []
    if object.byteCount > 0, !chains.isEmpty { own = chains[ExactText(String(repairing: object))] ?? [] }
    var ownIndex = 0
    var anyIndex = 0
    while ownIndex < own.count || anyIndex < forAny.count {
      let next: DelegateRegistration
      if anyIndex == forAny.count || (ownIndex < own.count && own[ownIndex].precedes(forAny[anyIndex])) {
        next = own[ownIndex]
        ownIndex += 1
      } else {
        next = forAny[anyIndex]
        anyIndex += 1
      }
      if next.responds(to: name) { found(next) }
    }
  }
}

extension [DelegateRegistration] {
  /// The place of the first that does not stand before `delegate`.
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
    precondition(place < count && self[place] === delegate, "a delegate is not where its order says")
    remove(at: place)
  }
}
