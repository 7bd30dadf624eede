// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// Looking at the bus: what is listed, and who would be asked.
@Suite("Looking at the bus", .timeLimit(.minutes(2)))
struct ListingTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private func delegates(_ entries: [Entry]) -> [DelegateEntry] {
    entries.compactMap { if case .delegate(let entry) = $0 { entry } else { nil } }
  }

  // MARK: Lists

  @Test("connections are listed in the order in which they came, whatever went between")
  func connectionOrder() throws {
    var gone: [RawClient] = []
    var clients: [RawClient] = []
    for _ in 0..<5 {
      gone.append(try RawClient.greeted(bus))
      clients.append(try RawClient.greeted(bus))
    }
    gone.removeAll()
    clients += try (0..<5).map { _ in try RawClient.greeted(bus) }
    let ids = try clients[0].list(List(.connections)).compactMap { entry in
      if case .connection(let connection) = entry { connection.id } else { nil }
    }
    #expect(ids.count >= clients.count)
    #expect(ids == ids.sorted())
  }

  @Test("explaining lists who would be asked, in order, and asks nobody")
  func explain() throws {
    let (first, firstWelcome) = try RawClient.welcomed(bus)
    let (second, secondWelcome) = try RawClient.welcomed(bus)
    // By order, and then by the time of attaching, whether for the object or for any.
    try first.attach(Attach(order: 7, label: "d", patterns: ["window.**"]), serial: 1)
    try first.attach(
      Attach(failurePolicy: .abstain, timeout: 1500, label: "b", patterns: ["window.shouldClose"]),
      object: "window/42", serial: 2)
    try second.attach(Attach(label: "c", patterns: ["window.*", "other.name"]), serial: 1)
    try second.attach(
      Attach(order: -3, label: "a", patterns: ["*.shouldClose"]), object: "window/42", serial: 2)
    try second.attach(Attach(label: "another's", patterns: ["window.*"]), object: "window/43", serial: 3)
    try second.attach(Attach(label: "deaf", patterns: ["window.didClose"]), object: "window/42", serial: 4)

    let asker = try RawClient.greeted(bus)
    let chain = delegates(try asker.list(List(.chain), name: "window.shouldClose", object: "window/42"))
    #expect(chain.map(\.delegate.label) == ["a", "b", "c", "d"])
    #expect(chain.map(\.order) == [-3, 0, 0, 7])
    #expect(chain.map(\.object) == ["window/42", "window/42", "", ""])
    #expect(chain.map(\.failurePolicy) == [.veto, .abstain, .veto, .veto])
    #expect(chain.map(\.timeout) == [5000, 1500, 5000, 5000])
    #expect(
      chain.map(\.patterns) == [
        ["*.shouldClose"], ["window.shouldClose"], ["window.*", "other.name"], ["window.**"],
      ])
    let connections = [secondWelcome, firstWelcome, secondWelcome, firstWelcome].map(\.connection)
    #expect(chain.map(\.connection) == connections)
    for entry in chain { #expect(entry.delegate.peer == (try ThisProcess.identity)) }
    #expect(
      delegates(try asker.list(List(.chain), name: "window.shouldClose")).map(\.delegate.label) == ["c", "d"])
    #expect(try asker.list(List(.chain), name: "nobody.cares").isEmpty)
    for client in [first, second] { try client.expectSilence() }

    // Those are asked, in that order.
    try asker.send(Ask(mode: .order), serial: 1, name: "window.shouldClose", object: "window/42")
    for (client, entry) in zip([second, first, second, first], chain) {
      let question = try client.nextQuestion().question
      #expect(question.delegate == entry.delegate.id)
      try client.answer(question, .approve)
    }
    #expect(try asker.nextVerdict().outcomes.map(\.delegate.label) == ["a", "b", "c", "d"])
  }

  @Test("connections, observations and delegates are listed, all or those of one")
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
    // Neither is an observation.
    let (third, thirdWelcome) = try RawClient.welcomed(bus)
    try third.send(Declare(), serial: 1, text: "protocol P { optional did p.didTurn () }")
    try third.send(Monitor(), serial: 2)
    _ = try third.next(.ok)
    _ = try third.next(.ok)

    let connections = try first.list(List(.connections)).compactMap { entry in
      if case .connection(let entry) = entry { entry } else { nil }
    }
    let welcomes = [firstWelcome, secondWelcome, thirdWelcome]
    #expect(connections.map(\.id) == welcomes.map(\.connection))
    #expect(connections.map(\.observations) == [2, 1, 0])
    #expect(try first.busEntry().observations == 3)
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
    #expect(
      try first.list(List(.observations, connection: firstWelcome.connection.rawValue)).count == 2)

    #expect(delegates(try first.list(List(.delegates))).map(\.delegate.label) == ["x"])
    #expect(try first.list(List(.delegates, connection: firstWelcome.connection.rawValue)).isEmpty)
    #expect(try first.list(List(.connections, connection: 999)).isEmpty)
  }

  @Test("the bus tells what it is and what it has done")
  func busEntry() throws {
    let observer = try RawClient.greeted(bus)
    try observer.observe("a.*", serial: 1)
    let client = try RawClient.greeted(bus)
    try client.attach(Attach(patterns: ["a.shouldB"]), serial: 1)
    for serial in 2...4 { try client.send(Post(), serial: Serial(serial), name: "a.b") }
    try client.send(Post(), serial: 5, name: "b.c")
    try client.send(Ask(), serial: 6, name: "a.shouldB")
    try client.answer(try client.nextQuestion().question, .veto)
    #expect(try client.nextVerdict().verdict == .vetoed)
    try client.send(Ask(), serial: 7, name: "a.shouldC")
    #expect(try client.nextVerdict().verdict == .allowed)
    try client.send(Ask(), serial: 8, name: "a.shouldB")

    guard case .bus(let entry)? = try client.list(List(.bus)).first else {
      Issue.record("no bus in the list")
      return
    }
    #expect(entry.pid == UInt32(bus.pid))
    #expect(entry.software == Version.current)
    #expect(entry.address == bus.address)
    #expect(entry.uptime > 0)
    #expect(entry.connections == 2)
    #expect(entry.observations == 1)
    #expect(entry.delegates == 1)
    #expect(entry.queries == 1)
    #expect(entry.posted == 4)
    #expect(entry.delivered == 3)
    #expect(entry.lost == 0)
    #expect(entry.asked == 2)
    #expect(entry.vetoed == 1)
  }
}
