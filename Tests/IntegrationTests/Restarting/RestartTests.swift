// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// A bus that is restarted goes on with all its connections, whether it handed them over or died.
@Suite("Restarts", .timeLimit(.minutes(2)))
struct RestartTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  @Test("what was counted goes on", arguments: RestartedBus.Way.allCases)
  func figures(_ way: RestartedBus.Way) throws {
    let client = try RawClient.greeted(bus)
    try client.sendConfirmed(Hold(), serial: 1, name: "a.shouldB", text: "backup")
    try client.observe("load.*", serial: 2)
    for serial in 3...5 as ClosedRange<Serial> {
      try client.sendConfirmed(Post(), serial: serial, name: "load.unit")
    }
    for name in ["a.shouldB", "b.shouldC"] {
      try client.ask(name, serial: 6)
    }
    let before = try client.busEntry()
    #expect((before.asked, before.vetoed, before.posted, before.delivered) == (2, 1, 3, 3))
    for _ in 0..<2 {
      try bus.restart(way)
      let after = try client.busEntry()
      #expect((after.asked, after.vetoed) == (2, 1))
      // After a death, those go on from where they were last written down.
      if way != .crash { #expect((after.posted, after.delivered) == (3, 3)) }
    }
  }

  @Test(
    "a file that is retained under two names is kept once, until it is so under none",
    arguments: RestartedBus.Way.allCases)
  func sharedFile(_ way: RestartedBus.Way) throws {
    let poster = try RawClient.greeted(bus)
    try poster.observe("nothing.*", serial: 9)
    let contents = SharedFile.bytes(100_000)
    let file = try SharedFile.make(contents)
    for object in ["a", "b"] {
      try poster.post(
        "kept.file", object: object, options: .retain, file: file, length: contents.count, serial: 1,
        flags: .acknowledge)
      _ = try poster.next(.ok)
    }
    for object in ["a", "b"] {
      try poster.sendConfirmed(
        Post(options: .retain), serial: 2, name: "kept.file", object: object)
      guard object == "a" else { continue }
      try bus.restart(way)
      let late = try RawClient.greeted(bus)
      try late.send(Observe(options: .retained), serial: 1, name: "kept.*")
      let kept = try late.next(.retained)
      #expect(kept.object == "b" && kept.payloadBytes == contents)
    }
    #expect(try bus.endCountingFiles() == 0)
  }

  @Test(
    "what is answered with the serial of a registration takes nothing from it",
    arguments: RestartedBus.Way.allCases)
  func serials(_ way: RestartedBus.Way) throws {
    let delegate = try RawClient.greeted(bus)
    try delegate.attach(Attach(timeout: 60_000, label: "x", patterns: ["a.shouldB"]), serial: 7)
    let observer = try RawClient.greeted(bus)
    try observer.sendConfirmed(Observe(options: .awaited), serial: 7, name: "unit.*")
    let (asker, welcome) = try RawClient.welcomed(bus)
    for round in Serial(1)...4 {
      try asker.send(Ask(deadline: 60_000), serial: round, name: "a.shouldB")
      let question = try delegate.nextQuestion().question
      try delegate.send(
        Answer(query: question.query, delegate: question.delegate, answer: .veto), serial: 7, text: "no")
      #expect(try asker.nextVerdict().outcomes.map(\.reason) == ["no"])
      try asker.send(Post(options: .awaited, deadline: 60_000), serial: 10 + round, name: "unit.willStop")
      _ = try observer.next(.post)
      try observer.send(Done(poster: welcome.connection, post: 10 + round), serial: 7)
      #expect(try asker.next(.awaited).decode(Awaited.self).acknowledged == 1)
      try bus.restart(way)
    }
  }

  @Test("what a connection has posted and lost stays counted, and what it loses by a crash is added")
  func counts() throws {
    let bus = try RestartedBus(configuration: "[Queue]\nHighMark=64K\nLowMark=16K\nPaceMaxSec=1ms\n")
    let observer = try RawClient.greeted(bus)
    try observer.sendConfirmed(Observe(suspension: .hold), serial: 1, name: "load.*")
    let poster = try RawClient.observing("nothing.*", on: bus)
    let posted = 3000
    let payload = String(repeating: "x", count: 1000)
    for serial in 1...posted {
      try poster.send(Post(), serial: Serial(serial), name: "load.unit", text: payload)
    }
    try poster.settle()
    let before = try Self.counts(poster)
    // With what it settled by.
    #expect(before.posted == posted + 1)
    #expect(before.lost > 0)
    // While it has not been told of them.
    try bus.restart()
    #expect(try Self.counts(poster) == before)
    var tally = Tally()
    while tally.total < posted { try tally.add(observer.next()) }
    #expect(tally.lost == before.lost)
    try bus.crash()
    #expect(try Self.counts(poster) == before)
    try observer.sendConfirmed(Suspend(isSuspended: true), serial: 2)
    for serial in 1...3 { try poster.send(Post(), serial: Serial(serial), name: "load.unit") }
    try poster.settle()
    try bus.crash()
    #expect(try Self.counts(poster).lost == before.lost + 3)
    #expect(try observer.next().decode(Lost.self).count == 3)
  }

  /// What all connections together have posted and lost.
  private static func counts(_ client: RawClient) throws -> (posted: Int, lost: Int) {
    var counts = (posted: 0, lost: 0)
    for case .connection(let entry) in try client.list(List(.connections)) {
      counts.posted += Int(entry.posted)
      counts.lost += Int(entry.lost)
    }
    return counts
  }
}

extension RawClient {
  static func welcomed(_ bus: RestartedBus) throws -> (client: RawClient, welcome: Welcome) {
    let client = try RawClient(path: bus.path)
    return (client, try client.greet())
  }

  static func greeted(_ bus: RestartedBus) throws -> RawClient { try welcomed(bus).client }

  static func observing(_ pattern: String, on bus: RestartedBus) throws -> RawClient {
    try observing(pattern, on: bus.bus)
  }
}
