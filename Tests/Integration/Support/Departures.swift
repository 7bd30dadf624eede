// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

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

  /// An observer of this post knows that the bus has taken everything that this client sent before.
  func passMilestone() throws { try send(Post(), serial: .max - 2, name: Self.milestone) }

  func awaitMilestone() throws { #expect(try next(.post).name == Self.milestone) }
}
