// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

@testable import TribuneServer

@Suite("Succession", .timeLimit(.minutes(15)))
struct SuccessionTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  private func detach(_ client: RawClient) throws {
    try client.send([1, 2, 3])
    try bus.crash()
    #expect(try client.nextError() == .restarted)
  }

  /// The bus dies, and its log gets another process for some connections. `identity`: the pid, and the uid 32 bits
  /// higher.
  private func restart(noting identity: UInt64, of ids: [ConnectionID]) throws {
    try bus.die()
    try bus.changeLog { state in
      for record in state.records
      where record.kind == EntryKind.connect.rawValue
        && ids.contains(ConnectionID(rawValue: record.connection))
      {
        // After its slot and its cookie.
        state.set(identity, at: 12, inBodyOf: record)
      }
    }
    try bus.start()
  }

  @Test("a connection that is open, or never existed, has no successor")
  func noSuccession() throws {
    let (client, welcome) = try RawClient.welcomed(bus)
    let other = try RawClient.greeted(bus)
    for id in [welcome.connection, ConnectionID(rawValue: 99), ConnectionID(rawValue: 0)] {
      try expectRefusal(of: id, to: other)
    }
    try client.settle()
  }

  private func expectRefusal(of predecessor: ConnectionID, to client: RawClient) throws {
    try client.send(Succeed(predecessor: predecessor, received: 0), serial: 2)
    #expect(try client.nextError() == .notFound)
  }

  @Test(
    "only the same process of the same user succeeds a connection",
    arguments: [(1, 0), (0, 1)] as [(UInt64, UInt64)])
  func strangers(pids: UInt64, uids: UInt64) throws {
    let (client, welcome) = try RawClient.welcomed(bus)
    try client.observe("load.*", serial: 1)
    try detach(client)
    let identity = UInt64(getpid()) + pids | (UInt64(getuid()) + uids) << 32
    try restart(noting: identity, of: [welcome.connection])
    let successor = try RawClient.greeted(bus)
    #expect(try successor.entry(of: welcome.connection) != nil)
    try expectRefusal(of: welcome.connection, to: successor)
  }

  @Test(
    "a client with its user's full share registers everything again beside its detached connection")
  func full() throws {
    let bus = try RestartedBus(configuration: "[Bus]\nRegistrationsMax=8\n")
    let client = try RawClient.greeted(bus)
    for serial in 1...8 as ClosedRange<Serial> { try client.observe("load.n\(serial)", serial: serial) }
    try client.send([1, 2, 3])
    try bus.crash()
    #expect(try client.nextError() == .restarted)
    let successor = try RawClient.greeted(bus)
    for serial in 1...8 as ClosedRange<Serial> { try successor.observe("load.n\(serial)", serial: serial) }
    try successor.send(Observe(), serial: 9, name: "load.n9")
    #expect(try successor.nextError() == .limitExceeded)
  }

  /// For the daemon, all processes outside its pid namespace have the pid 0.
  @Test("a process that the bus cannot see succeeds no connection, and releases no hold of another process")
  func unseen() throws {
    let (holder, welcome) = try RawClient.welcomed(bus)
    try holder.sendConfirmed(Hold(), serial: 1, name: "load.shouldStop", text: "a restore is running")
    try detach(holder)
    let (other, otherWelcome) = try RawClient.welcomed(bus)
    try other.observe("load.*", serial: 1)
    try restart(noting: UInt64(getuid()) << 32, of: [welcome.connection, otherWelcome.connection])
    #expect(try other.entry(of: welcome.connection) != nil)
    try expectRefusal(of: welcome.connection, to: other)
    #expect(try other.entry(of: welcome.connection) != nil)
    let holds = try other.list(List(.holds)).count
    #expect(holds == 1)
  }

  @Test("when the bus ends, a query that waits for a reconnecting delegate gets no verdict")
  func stopping() throws {
    let delegate = try RawClient.greeted(bus)
    try delegate.attach(Attach(timeout: 60_000, patterns: ["a.shouldB"]), serial: 1)
    let asker = try RawClient.greeted(bus)
    try asker.send(Ask(deadline: 60_000), serial: 1, name: "a.shouldB")
    _ = try delegate.nextQuestion()
    try detach(delegate)
    bus.bus.signal(SIGINT)
    let frames = try asker.readToEnd()
    #expect(!frames.isEmpty)
    for frame in frames {
      #expect(frame.kind == .error)
      #expect(try frame.decode(Refusal.self).code == .shuttingDown)
    }
    #expect(bus.bus.status() == 0)
  }

  @Test("clients that reconnect get the keeper's slots of their old connections")
  func places() throws {
    // The log, the listening socket, and two connections.
    let bus = try RestartedBus(room: 4)
    var clients: [RawClient] = []
    for _ in 0..<2 {
      let (client, welcome) = try RawClient.welcomed(bus)
      try client.observe("load.*", serial: 1)
      try bus.waitUntilKept(welcome, client)
      clients.append(client)
    }
    for client in clients { try client.send([1, 2, 3]) }
    try RawClient.greeted(bus).settle()
    bus.end(SIGKILL)
    try bus.start()
    for client in clients { #expect(try client.nextError() == .restarted) }
    let successors = try clients.map { _ in try RawClient.welcomed(bus) }
    for (client, welcome) in successors {
      try client.observe("load.*", serial: 1)
      try bus.waitUntilKept(welcome, client)
    }
  }
}
