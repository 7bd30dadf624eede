// SPDX-License-Identifier: Apache-2.0

/// The id of a connection. Until the bus is stopped, it gives this id to no other connection.
package struct ConnectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static let bus = ConnectionID(rawValue: 0)

  package static func < (one: ConnectionID, other: ConnectionID) -> Bool { one.rawValue < other.rawValue }

  package var description: String { ":" + String(rawValue) }

  package init?(_ text: String) {
    let digits = text.hasPrefix(":") ? text.dropFirst() : text[...]
    guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let number = UInt64(digits)
    else { return nil }
    rawValue = number
  }
}

/// The id of a query. Until the bus is stopped, it gives this id to no other query.
package struct QueryID: Hashable, Comparable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (one: QueryID, other: QueryID) -> Bool { one.rawValue < other.rawValue }
}

/// The id of a delegate or a hold. Until the bus is stopped, it gives this id to no other delegate or hold.
package struct DelegateID: Hashable, Comparable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (one: DelegateID, other: DelegateID) -> Bool { one.rawValue < other.rawValue }
}

/// The sender's number for one of its frames. Replies to the frame have the same number. The serial of a
/// frame that makes a registration also identifies the registration.
package typealias Serial = UInt64
