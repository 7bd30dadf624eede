// SPDX-License-Identifier: Apache-2.0

import TribuneWire

package struct Receiver: Equatable, Sendable {
  /// How a notification reaches a receiver. If several observations match, the way that comes last in this
  /// list applies.
  package enum Way: UInt8, Comparable, Sendable {
    case drop
    /// Buffers only the last notification of each name and object.
    case coalesce
    case hold
    /// Delivers the buffered notifications, then this one.
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
  package private(set) var isAwaited = false
  /// True if the connection has a delegate for this will or did. The bus then delivers the notification even
  /// if the client is slow or suspended.
  package private(set) var isDelegate = false

  mutating func join(_ other: Receiver) {
    way = max(way, other.way)
    isAwaited = isAwaited || other.isAwaited
    isDelegate = isDelegate || other.isDelegate
  }

  func way(for options: PostOptions) -> Way {
    if options.contains(.immediately) { return max(way, .flush) }
    // An awaited observer gets the post even while suspended, unless the observer drops notifications. The
    // poster does not wait for an observer that drops the post.
    if options.contains(.awaited), isAwaited, way != .drop { return max(way, .flush) }
    return way
  }
}
