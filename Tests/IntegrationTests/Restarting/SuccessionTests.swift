// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

@testable import TribuneServer

/// Who gets what a connection has missed that has to connect again, and how much that is.
@Suite("Succession", .timeLimit(.minutes(2)))
struct SuccessionTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  /// Has a client be in the middle of a frame when the bus dies.
  private func detach(_ client: RawClient) throws {
    try client.send([1, 2, 3])
    try bus.crash()
    #expect(try client.nextError() == .restarted)
  }

  /// Has the bus die, and the next one find something else noted of who is behind connections.
  ///
  /// - Parameter identity: the pid, and the uid 32 bits higher.
  private func restart(noting identity: UInt64, of ids: [ConnectionID]) throws {
    try bus.die()
    try bus.changeLog { state in
      for record in state.records
      where record.kind == EntryKind.connect.rawValue
        && ids.contains(ConnectionID(rawValue: record.connection))
      {
        // Behind its slot and its cookie.
        state.set(identity, at: 12, inBodyOf: record)
      }
    }
    try bus.start()
  }

  private func isListed(_ id: ConnectionID, _ client: RawClient) throws -> Bool {
    try client.list(List(.connections)).contains { entry in
      if case .connection(let connection) = entry { connection.id == id } else { false }
    }
  }

  enum Stranger: CaseIterable { case process, user }

  @Test("only the process of the same user that it was succeeds a connection", arguments: Stranger.allCases)
  func strangers(_ stranger: Stranger) throws {
    let (client, welcome) = try RawClient.welcomed(bus)
    try client.observe("load.*", serial: 1)
    try detach(client)
    let (pid, uid) = (UInt64(getpid()), UInt64(getuid()))
    try restart(
      noting: stranger == .process ? pid + 1 | uid << 32 : pid | (uid + 1) << 32, of: [welcome.connection])
    let successor = try RawClient.greeted(bus)
    #expect(try isListed(welcome.connection, successor))
    try successor.send(Succeed(predecessor: welcome.connection, received: 0), serial: 1)
    let frame = try successor.next()
    #expect(frame.kind == .error)
    #expect(try frame.decode(Refusal.self).code == .notFound)
  }

  /// Two processes outside the daemon's pid namespace have the same pid, which is none.
  @Test("a process that the bus cannot see succeeds no connection, and releases no other's hold")
  func unseen() throws {
    let (holder, welcome) = try RawClient.welcomed(bus)
    try holder.sendConfirmed(Hold(), serial: 1, name: "load.shouldStop", text: "a restore is running")
    try detach(holder)
    let (other, otherWelcome) = try RawClient.welcomed(bus)
    try other.observe("load.*", serial: 1)
    try restart(noting: UInt64(getuid()) << 32, of: [welcome.connection, otherWelcome.connection])
    #expect(try isListed(welcome.connection, other))
    try other.send(Succeed(predecessor: welcome.connection, received: 0), serial: 2)
    let frame = try other.next()
    #expect(frame.kind == .error)
    #expect(try frame.decode(Refusal.self).code == .notFound)
    #expect(try isListed(welcome.connection, other))
    let holds = try other.list(List(.holds)).count
    #expect(holds == 1)
  }

  @Test("the end of the bus is not taken for that of a delegate that has to connect again")
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
    #expect(bus.bus.waitForEnd() == 0)
  }

  @Test("who comes in the place of another has its place with the keeper as well")
  func places() throws {
    // For two connections, beside the log and the listening socket.
    let bus = try RestartedBus(room: 4)
    var clients: [RawClient] = []
    for _ in 0..<2 {
      let (client, welcome) = try RawClient.welcomed(bus)
      try client.observe("load.*", serial: 1)
      try bus.bus.wait(serving: client) { try client.entry(of: welcome.connection)?.isSurviving == true }
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
      try bus.bus.wait(serving: client) { try client.entry(of: welcome.connection)?.isSurviving == true }
    }
  }
}
