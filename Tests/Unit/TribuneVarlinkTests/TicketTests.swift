// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneVarlink
import TribuneWire

@Suite("Tickets")
struct TicketTests {
  @Test(
    "a ticket is restored from its text",
    arguments: [
      Ticket(
        connection: ConnectionID(rawValue: 7), secret: .max,
        .question(QueryID(rawValue: 1), DelegateID(rawValue: 2))),
      Ticket(
        connection: ConnectionID(rawValue: .max), secret: 0,
        .notification(from: ConnectionID(rawValue: 3), .max)),
    ])
  func text(_ ticket: Ticket) { #expect(Ticket(ticket.text) == ticket) }

  @Test(
    "any other text is not a ticket",
    arguments: [
      "", "q", "q1.2.3", "x1.2.3.4", "q1.2.3.4.5", "q1.2.3.g", "q.2.3.4", "q-1.2.3.4",
      "q1.2.3.10000000000000000",
    ])
  func others(_ text: String) { #expect(Ticket(text) == nil) }
}
