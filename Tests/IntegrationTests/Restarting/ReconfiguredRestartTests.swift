// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// A daemon that takes over under another configuration than that under which everything was registered.
@Suite("A restart with another configuration", .timeLimit(.minutes(2)))
struct ReconfiguredRestartTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  private func restart(_ way: RestartedBus.Way, with configuration: String) throws {
    try bus.folder.write(configuration, to: "etc/tribuned.conf")
    try bus.restart(way)
  }

  @Test("what was accepted stays, even if limits are lower now", arguments: RestartedBus.Way.allCases)
  func limits(_ way: RestartedBus.Way) throws {
    let client = try RawClient.greeted(bus)
    for serial in Serial(1)...3 { try client.observe("load.n\(serial)", serial: serial) }
    try restart(way, with: "[Bus]\nObservationsMax=1\n")
    let poster = try RawClient.greeted(bus)
    for number in 1...3 {
      try poster.send(Post(), serial: 1, name: "load.n\(number)")
      #expect(try client.next().name == "load.n\(number)")
    }
    try client.send(Observe(), serial: 4, name: "load.n4")
    #expect(try client.nextError() == .limitExceeded)
  }

  @Test(
    "what was accepted stays, even if its object has another protocol now",
    arguments: RestartedBus.Way.allCases)
  func protocols(_ way: RestartedBus.Way) throws {
    let delegate = try RawClient.greeted(bus)
    let attach = Attach(patterns: ["p.didZ"])
    try delegate.attach(attach, object: "view/1", serial: 1)
    try bus.folder.write("protocol P { optional did p.didX () }\n", to: "etc/protocols.d/p.protocol")
    try restart(way, with: "[Object \"view/*\"]\nProtocol=P\n")
    // It is still registered, so it can be cancelled.
    try delegate.sendConfirmed(Cancel(target: 1), serial: 2)
    // A new delegate must conform to the protocol.
    let other = try RawClient.greeted(bus)
    try other.send(attach, serial: 1, object: "view/1")
    let code = try other.nextError()
    #expect(code == .notConforming || code == .unknownName)
  }
}
