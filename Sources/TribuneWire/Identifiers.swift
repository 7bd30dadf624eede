// SPDX-License-Identifier: Apache-2.0

/// Names one connection for ever: a counter that is never used again.
package struct ConnectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The bus itself, as the sender of what it says on its own.
  package static let bus = ConnectionID(rawValue: 0)

  package static func < (one: ConnectionID, other: ConnectionID) -> Bool { one.rawValue < other.rawValue }

  package var description: String { ":" + String(rawValue) }

  /// Reads `:N`, or `N` alone.
  package init?(_ text: String) {
    let digits = text.hasPrefix(":") ? text.dropFirst() : text[...]
    guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let number = UInt64(digits)
    else { return nil }
    rawValue = number
  }
}

/// Names one query for ever.
package struct QueryID: Hashable, Comparable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (one: QueryID, other: QueryID) -> Bool { one.rawValue < other.rawValue }
}

/// Names one registration in a delegate chain for ever.
package struct DelegateID: Hashable, Comparable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (one: DelegateID, other: DelegateID) -> Bool { one.rawValue < other.rawValue }
}

/// A sender's own number for one of its frames. Replies carry it; what the frame registered is known by it.
package typealias Serial = UInt64
