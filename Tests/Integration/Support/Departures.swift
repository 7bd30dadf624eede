// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// Observes which connections of a bus end, with a client of its own.
struct Departures {
  private let client: RawClient

  init(ofBusAt path: String) throws {
    client = try RawClient(path: path)
    try client.greet()
    try client.observe("tribune.connection.didDisconnect", serial: 1)
  }

  func wait(for connection: ConnectionID) throws {
    while try !client.next(.post).payload.contains("\"\(connection)\"") {}
  }

  func wait(count: Int) throws {
    for _ in 0..<count { _ = try client.next(.post) }
  }
}

extension RawClient {
  private static let milestone = "test.milestone"

  func observeMilestones(serial: Serial) throws { try observe(Self.milestone, serial: serial) }

  /// Posts a milestone. When an observer of milestones gets it, the bus has taken everything that this client sent
  /// before, even if this client reads nothing.
  func passMilestone() throws { try send(Post(), serial: .max - 2, name: Self.milestone) }

  func awaitMilestone() throws { #expect(try next(.post).name == Self.milestone) }
}
