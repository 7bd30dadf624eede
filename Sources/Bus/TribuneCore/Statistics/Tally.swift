// SPDX-License-Identifier: Apache-2.0

import TribuneWire

package protocol Counts {
  init()
  var activity: UInt64 { get }
  mutating func add(_ other: Self)
}

/// The counts of one key. References to a tally stay valid after its eviction from `Busiest`. Updates then go
/// to the tally for all other keys.
package final class Tally<C: Counts> {
  private let own = Cell(C())
  private let hasEnded = Cell(false)
  private let successor = Cell<Tally?>(nil)
  /// The number of attached delegates that use the tally. The tally can end only while this number is 0.
  let userCount = Cell(0)
  let uid: Cell<UInt32>

  init(for uid: UInt32) { self.uid = Cell(uid) }

  package var counts: C {
    get { own.value }
    set { own.value = newValue }
  }

  @inline(__always) package func update(_ body: (inout C) -> Void) {
    guard !hasEnded.value else { return updateSuccessor(body) }
    body(&own.value)
  }

  private func updateSuccessor(_ body: (inout C) -> Void) {
    guard let successor = successor.value else { preconditionFailure("a tally has ended for no other one") }
    body(&successor.own.value)
  }

  /// Ends this tally. `successor` gets its counts and all later updates.
  func end(for successor: Tally) {
    successor.own.value.add(own.value)
    own.value = C()
    self.successor.value = successor
    hasEnded.value = true
  }
}
