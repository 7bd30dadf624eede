// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A connection that receives a notification, and how.
package struct Receiver: Equatable, Sendable {
  /// How the connection gets the notification. If several observations match, the highest way wins.
  package enum Way: UInt8, Comparable, Sendable {
    /// It is suspended, and the notification is dropped.
    case drop
    /// It is suspended: the last notification of each name and object is buffered.
    case coalesce
    /// It is suspended: all notifications are buffered.
    case hold
    /// It is suspended, and gets the buffered notifications, then this one.
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
  /// Whether the poster of an awaited notification waits for it.
  package private(set) var isAwaited: Bool

  /// Adds another matching observation of the connection.
  mutating func join(_ way: Way, isAwaited: Bool) {
    self.way = max(self.way, way)
    self.isAwaited = self.isAwaited || isAwaited
  }

  /// How the connection gets a notification that was posted with `options`.
  func way(for options: PostOptions) -> Way {
    if options.contains(.immediately) { return max(way, .flush) }
    // An awaited observer gets the post even if it is suspended. One that drops the post is not awaited.
    if options.contains(.awaited), isAwaited, way != .drop { return max(way, .flush) }
    return way
  }
}
