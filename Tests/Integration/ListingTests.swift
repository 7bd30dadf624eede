// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Lists", .timeLimit(.minutes(15)))
struct ListingTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test("connections are listed in the order of their connection, even after others end")
  func connectionOrder() throws {
    var gone: [RawClient] = []
    var clients: [RawClient] = []
    for _ in 0..<5 {
      gone.append(try RawClient.greeted(bus))
      clients.append(try RawClient.greeted(bus))
    }
    gone.removeAll()
    clients += try (0..<5).map { _ in try RawClient.greeted(bus) }
    let ids = try clients[0].connections().map(\.id)
    #expect(ids.count >= clients.count)
    #expect(ids == ids.sorted())
  }

  @Test("connections, observations and delegates are listed, of all connections or of one")
  func lists() throws {
    let (first, firstWelcome) = try RawClient.welcomed(bus)
    let (second, secondWelcome) = try RawClient.welcomed(bus)
    try first.observe("a.*", object: "o", serial: 1)
    try first.observe(serial: 2)
    try second.observe("b.**", serial: 1)
    try second.attach(Attach(label: "x", patterns: ["a.shouldB"]), object: "o", serial: 2)
    try first.send(Ask(), serial: 3, name: "a.shouldB", object: "o")
    _ = try second.nextQuestion()
    try second.send(Post(), serial: 3, flags: .acknowledge, name: "c.d")
    try second.settle()
    let (third, thirdWelcome) = try RawClient.welcomed(bus)
    try third.sendConfirmed(Declare(), serial: 1, text: "protocol P { optional did p.didTurn () }")
    try third.sendConfirmed(Monitor(), serial: 2)

    let connections = try first.connections()
    let welcomes = [firstWelcome, secondWelcome, thirdWelcome]
    #expect(connections.map(\.id) == welcomes.map(\.connection))
    #expect(connections.map(\.observations) == [2, 1, 0])
    let entry = try first.busEntry()
    #expect(entry.pid == UInt32(bus.pid) && entry.address == bus.address)
    #expect(entry.software == Version.current && entry.uptime > 0)
    #expect((entry.connections, entry.observations, entry.delegates, entry.queries) == (3, 3, 1, 1))
    #expect(connections.map(\.delegates) == [0, 1, 0])
    #expect(connections.map(\.queries) == [1, 0, 0])
    #expect(connections.map(\.posted) == [0, 2, 0])
    #expect(connections.map(\.lost) == [0, 0, 0])
    for entry in connections {
      #expect(entry.peer == (try ThisProcess.identity))
      #expect(!entry.isLossy && !entry.isPaused)
    }
    let one = List(.connections, connection: secondWelcome.connection.rawValue)
    #expect(try first.list(one).count == 1)

    let observations = try first.list(List(.observations)).compactMap { entry in
      if case .observation(let entry) = entry { entry } else { nil }
    }
    #expect(observations.map(\.pattern) == ["a.*", "**", "b.**"])
    #expect(observations.map(\.object) == ["o", "", ""])
    #expect(try first.list(List(.observations, connection: firstWelcome.connection.rawValue)).count == 2)

    #expect(try first.list(List(.delegates)).count == 1)
    #expect(try first.list(List(.delegates, connection: firstWelcome.connection.rawValue)).isEmpty)
    #expect(try first.list(List(.connections, connection: 999)).isEmpty)
  }
}
