// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

/// A daemon that takes over by another configuration than that under which everything had been registered.
@Suite("A restart with another configuration", .timeLimit(.minutes(2)))
struct ReconfiguredRestartTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  enum Way: CaseIterable { case planned, crash }

  private func restart(_ way: Way, with configuration: String) throws {
    switch way {
    case .planned: try bus.end(SIGTERM)
    case .crash: try bus.die()
    }
    try bus.folder.write(configuration, to: "etc/tribuned.conf")
    try bus.start()
  }

  @Test("what had been accepted is kept past limits that are lower now", arguments: Way.allCases)
  func limits(_ way: Way) throws {
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

  @Test("who had registered what is refused now connects again, and is told why not", arguments: Way.allCases)
  func refused(_ way: Way) throws {
    let (delegate, other) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    for client in [delegate, other] { try client.observe("load.*", serial: 1) }
    let attach = Attach(patterns: ["p.didZ"])
    try delegate.attach(attach, object: "view/1", serial: 2)
    try bus.folder.write("protocol P { optional did p.didX () }\n", to: "etc/protocols.d/p.protocol")
    try restart(way, with: "[Object \"view/*\"]\nProtocol=P\n")
    #expect(try delegate.nextError() == .restarted)
    #expect(try delegate.readToEnd().isEmpty)
    #expect(try bus.log().contains("1 connections have registered or asked what is refused now"))
    try other.settle()

    let successor = try RawClient.greeted(bus)
    try successor.observe("load.*", serial: 1)
    try successor.send(attach, serial: 2, object: "view/1")
    let code = try successor.nextError()
    #expect(code == .notConforming || code == .unknownName)
    try successor.settle()
  }
}
