// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

// A state of which the daemon dies that takes it over would kill the next one as well, and so on until nobody starts
// daemons any more. So it counts them.

extension StateFile {
  /// Daemons that may die while they take a state over before it is taken for the cause. What kills a daemon at any
  /// moment, such as a want of memory, can hit one there by chance, and hardly three.
  package static let takeOversMax: UInt32 = 3

  /// To be called by who has adopted the state, before anything of it is looked at.
  package func beginTakeOver() {
    let begun = Self.takeOversBegun(in: mapping)
    mapping.publish(StateWord(begun + 1).bits, at: StateHeader.takeOversOffset)
  }

  /// The daemon has come to serve, or has given up for a reason that is none of the state's.
  package func endTakeOver() { mapping.publish(StateWord(0).bits, at: StateHeader.takeOversOffset) }

  /// Those that have not ended. Where that is damaged there is no more known than of a state that nobody has taken over.
  static func takeOversBegun(in mapping: borrowing SharedMapping) -> UInt32 {
    min(StateWord(bits: mapping.load(at: StateHeader.takeOversOffset)).value ?? 0, takeOversMax)
  }
}
