// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// The connections of a bus that end, in order: a client of its own that observes what the bus posts about them.
struct Departures {
  private let client: RawClient

  /// - Parameter path: of the bus. What ends from now on is known.
  init(ofBusAt path: String) throws {
    client = try RawClient(path: path)
    try client.greet()
    try client.observe("tribune.connection.didDisconnect", serial: 1)
  }

  /// Waits until that connection has ended, going past others.
  func wait(for connection: ConnectionID) throws {
    while try !client.next(.post).payload.contains("\"\(connection)\"") {}
  }

  /// Waits until so many more have ended.
  func wait(count: Int) throws {
    for _ in 0..<count { _ = try client.next(.post) }
  }
}

extension RawClient {
  private static let milestone = "test.milestone"

  /// Observes what `passMilestone()` posts.
  func observeMilestones(serial: Serial) throws { try observe(Self.milestone, serial: serial) }

  /// Posts behind what this client has sent: whoever observes milestones learns when the bus has come so far, even if
  /// this client reads nothing.
  func passMilestone() throws { try send(Post(), serial: .max - 2, name: Self.milestone) }

  /// Waits for the next milestone of another client.
  func awaitMilestone() throws { #expect(try next(.post).name == Self.milestone) }
}
