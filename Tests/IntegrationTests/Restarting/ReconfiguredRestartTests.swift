// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// A daemon that takes over under another configuration than that under which everything was registered.
@Suite("A restart with another configuration", .timeLimit(.minutes(2)))
struct ReconfiguredRestartTests {
  @Test("what was accepted stays, even if limits are lower now", arguments: RestartedBus.Way.allCases)
  func limits(_ way: RestartedBus.Way) throws {
    let bus = try RestartedBus()
    let client = try RawClient.greeted(bus)
    for serial in Serial(1)...3 { try client.observe("load.n\(serial)", serial: serial) }
    try bus.folder.write("[Bus]\nObservationsMax=1\n", to: "etc/tribuned.conf")
    try bus.restart(way)
    let poster = try RawClient.greeted(bus)
    for number in 1...3 {
      try poster.send(Post(), serial: 1, name: "load.n\(number)")
      #expect(try client.next().name == "load.n\(number)")
    }
    try client.send(Observe(), serial: 4, name: "load.n4")
    #expect(try client.nextError() == .limitExceeded)
  }
}
