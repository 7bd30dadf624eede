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

  @Test("what had been accepted is kept though its object has another protocol now", arguments: Way.allCases)
  func protocols(_ way: Way) throws {
    let delegate = try RawClient.greeted(bus)
    let attach = Attach(patterns: ["p.didZ"])
    try delegate.attach(attach, object: "view/1", serial: 1)
    try bus.folder.write("protocol P { optional did p.didX () }\n", to: "etc/protocols.d/p.protocol")
    try restart(way, with: "[Object \"view/*\"]\nProtocol=P\n")
    // It is there to be taken back.
    try delegate.send(Cancel(target: 1), serial: 2)
    _ = try delegate.next(.ok)
    // Whoever comes now is held against it.
    let other = try RawClient.greeted(bus)
    try other.send(attach, serial: 1, object: "view/1")
    let code = try other.nextError()
    #expect(code == .notConforming || code == .unknownName)
  }

  @Test("who had asked what is refused now connects again, after a crash")
  func refused() throws {
    let (delegate, asker) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    try delegate.attach(Attach(timeout: 60_000, patterns: ["a.shouldB"]), serial: 1)
    try asker.send(
      Ask(deadline: 60_000, flags: .overrides, overrideReason: "it burns"), serial: 1, name: "a.shouldB")
    _ = try delegate.nextQuestion()
    try restart(.crash, with: "[Delegation]\nOverrideUsers=none\n")
    #expect(try asker.nextError() == .restarted)
    #expect(try asker.readToEnd().isEmpty)
    #expect(try bus.log().contains("1 connection has registered or asked what is refused now"))
    try delegate.settle()
  }
}
