// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A connection that receives a notification, and how.
package struct Receiver: Equatable, Sendable {
  /// What becomes of the notification for it. Where several observations match, the one that wants most decides.
  package enum Way: UInt8, Comparable, Sendable {
    /// It is suspended, and wants nothing of this.
    case drop
    /// It is suspended: the last of each name and object is held for it.
    case coalesce
    /// It is suspended: all are held for it.
    case hold
    /// It is suspended, and is delivered what is held for it, and then this.
    case flush
    case now

    init(during suspension: SuspensionBehavior) {
      self =
        switch suspension {
        case .drop: .drop
        case .coalesce: .coalesce
        case .hold: .hold
        case .deliverImmediately: .flush
        }
    }

    package static func < (one: Way, other: Way) -> Bool { one.rawValue < other.rawValue }
  }

  package let slot: ConnectionSlot
  package private(set) var way: Way
  /// Whoever posts an awaited notification waits for it.
  package private(set) var isAwaited: Bool

  /// One more of its observations matches.
  mutating func join(_ way: Way, isAwaited: Bool) {
    self.way = max(self.way, way)
    self.isAwaited = self.isAwaited || isAwaited
  }

  /// How it receives what was posted with `options`.
  func way(for options: PostOptions) -> Way {
    if options.contains(.immediately) { return max(way, .flush) }
    // Who is waited for is not to be kept from its work; who wants nothing of it is not waited for.
    if options.contains(.awaited), isAwaited, way != .drop { return max(way, .flush) }
    return way
  }
}
