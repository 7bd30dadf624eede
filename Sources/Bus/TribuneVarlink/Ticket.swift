// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Identifies a question or an awaited notification that the bus has sent to a connection.
///
/// Any connection of the same user can answer with the ticket. The ticket contains a secret of the connection
/// to which the bus has sent the request, so other clients cannot guess a ticket.
package struct Ticket: Equatable, Sendable {
  package enum Request: Equatable, Sendable {
    case question(QueryID, DelegateID)
    case notification(from: ConnectionID, Serial)
  }

  package let connection: ConnectionID
  package let secret: UInt64
  package let request: Request

  package init(connection: ConnectionID, secret: UInt64, _ request: Request) {
    (self.connection, self.secret, self.request) = (connection, secret, request)
  }

  package var text: String {
    let (letter, one, two) =
      switch request {
      case .question(let query, let delegate): ("q", query.rawValue, delegate.rawValue)
      case .notification(let poster, let serial): ("n", poster.rawValue, serial)
      }
    return "\(letter)\(connection.rawValue).\(one).\(two).\(String(secret, radix: 16))"
  }

  package init?(_ text: String) {
    let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4, let connection = UInt64(parts[0]), let one = UInt64(parts[1]),
      let two = UInt64(parts[2]), let secret = UInt64(parts[3], radix: 16)
    else { return nil }
    self.connection = ConnectionID(rawValue: connection)
    self.secret = secret
    switch text.first {
    case "q": request = .question(QueryID(rawValue: one), DelegateID(rawValue: two))
    case "n": request = .notification(from: ConnectionID(rawValue: one), two)
    default: return nil
    }
  }
}
