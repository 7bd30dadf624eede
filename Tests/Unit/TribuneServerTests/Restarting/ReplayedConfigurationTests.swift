// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneLog
import TribunePolicy
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore
@testable import TribuneServer

@MainActor
@Suite("A log of another configuration", .timeLimit(.minutes(15)))
struct ReplayedConfigurationTests {
  @Test("a log that cannot grow limits what may be retained, also after a reload")
  func fixed() throws {
    var configuration = Configuration()
    configuration.notifications.retainedMaxBytes = 1 << 20
    configuration.logMaxBytes = 1 << 20
    let bus = try SteppedBus(configuration)
    configuration.notifications.retainedMaxBytes = 1 << 30
    bus.server.reconfigure(configuration)
    let client = try bus.client()
    let text = String(repeating: "x", count: 60_000)
    for serial in Serial(1)...100 {
      let post = ByteBuffer(capacity: 65_536)
      post.appendFrame(Post(options: .retain), serial: serial, name: "load.n\(serial)", text: text)
      try client.send(post)
      try bus.pass(client)
    }
    #expect(try client.frames().last?.kind == .error)
    #expect(bus.server.wal.usedLength <= bus.server.wal.segmentCapacity)
  }

  @Test("a full log still takes another configuration")
  func full() throws {
    let bus = try SteppedBus()
    let client = try bus.client()
    for serial in Serial(1)...100 { try client.send(Observe(), serial: serial, name: "load.n\(serial)") }
    repeat { try bus.pass(client) } while bus.server.bus.value.observationCount < 100
    let server = bus.server
    server.recorder.compactNow()
    var configuration = Configuration()
    configuration.policy.queryRules = [.init(pattern: .any, required: [.unit("guard.service")])]
    configuration.logMaxBytes = server.wal.usedLength
    server.reconfigure(configuration)
    server.recorder.commit()
    let expected = ByteBuffer(capacity: 256)
    server.bus.value.appendConfiguration(to: expected)
    #expect(bus.loggedConfigurations.last == expected.array)
    #expect(server.wal.usedLength > server.wal.admissionLimit)
  }

  @Test(
    "a replay asks no delegate that the policy has ended, even if a damaged log names it twice",
    arguments: [false, true])
  func ended(isDamaged: Bool) throws {
    let bus = try SteppedBus()
    let server = bus.server
    let (delegate, asker) = (try bus.client(), try bus.client())
    let patterns = [["a.shouldB", "x.c"], ["a.shouldB", "x.d"], ["a.shouldB"]]
    for (serial, patterns) in zip(Serial(1)..., patterns) {
      let attach = Attach(
        order: Int32(serial), failurePolicy: .abstain, timeout: 0, label: "", patterns: patterns,
        isSet: false, protocols: [])
      try delegate.send(attach, serial: serial)
    }
    try bus.pass(delegate)
    try asker.send(Ask(mode: .order), serial: 1, name: "a.shouldB")
    try bus.pass(asker)
    var parser = PolicyParser(.none)
    parser.read(Array("allow * ** user:*\ndeny delegate x.** user:*".utf8), file: "test.policy")
    let slot = try #require(server.sessions[delegate.id]?.slot)
    let places = [1, 2, 1, 2].map { RegistrationPlace(slot, $0) }
    // A reload would exempt the user that runs the bus.
    server.interpreter.perform {
      if isDamaged { server.recorder.recordEnds(of: places) }
      server.bus.value.apply(.policy(Policy(parser.lines), exempt: []), at: server.context.now)
    }
    // Taking over compares the states.
    let next = try bus.successor()
    #expect(next.server.bus.value.queryCount == 1 && next.server.bus.value.delegateCount == 1)
  }
}

extension SteppedBus {
  fileprivate var loggedConfigurations: [[UInt8]] {
    var bodies: [[UInt8]] = []
    _ = server.wal.forEachEntry { entry in
      if entry.kind == .configuration { bodies.append(Array(entry.body)) }
    }
    return bodies
  }
}
