// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneServer
import TribuneSystem
import TribuneWire

@Suite("Restarts", .timeLimit(.minutes(15)))
struct RestartTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  @Test(
    "a file that is retained twice is stored once, until it is no longer retained",
    arguments: RestartedBus.Way.allCases)
  func sharedFile(_ way: RestartedBus.Way) throws {
    let poster = try RawClient.greeted(bus)
    try poster.observe("nothing.*", serial: 9)
    let contents = SharedFile.bytes(100_000)
    let file = try SharedFile.make(contents)
    for object in ["a", "b"] {
      try poster.retainFile(file, length: contents.count, as: "kept.file", object: object, serial: 1)
    }
    for object in ["a", "b"] {
      try poster.sendConfirmed(Post(options: .retain), serial: 2, name: "kept.file", object: object)
      guard object == "a" else { continue }
      try bus.restart(way)
      let late = try RawClient.greeted(bus)
      try late.send(Observe(options: .retained), serial: 1, name: "kept.*")
      let kept = try late.next(.retained)
      #expect(kept.object == "b" && kept.payloadBytes == contents)
    }
    #expect(try bus.endCountingFiles() == 0)
  }

  @Test("frames that repeat the serial of a registration do not end it", arguments: RestartedBus.Way.allCases)
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

  @Test("a refused post with the serial of an awaited one leaves nothing in the log")
  func refusedSerial() throws {
    let observer = try RawClient.greeted(bus)
    try observer.sendConfirmed(Observe(options: .awaited), serial: 1, name: "unit.*")
    let (poster, welcome) = try RawClient.welcomed(bus)
    let post = Post(options: .awaited, deadline: 60_000)
    try poster.send(post, serial: 5, name: "unit.willStop")
    try poster.send(post, serial: 5, name: "unit.willStop")
    #expect(try poster.nextError() == .duplicateSerial)
    _ = try observer.next(.post)
    try bus.crash()
    try observer.send(Done(poster: welcome.connection, post: 5), serial: 2)
    #expect(try poster.next(.awaited).decode(Awaited.self).acknowledged == 1)
    #expect(try !bus.log().contains("cannot replay"))
  }

  @Test("an observer that stopped observing before it was sent an awaited post stays gone")
  func abandonedPost() throws {
    let (gone, observer) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    try gone.send(Room(limit: 0), serial: 0)
    // Keeps its connection.
    try gone.observe("nothing.*", serial: 9)
    for client in [gone, observer] {
      try client.sendConfirmed(Observe(options: .awaited), serial: 1, name: "unit.*")
    }
    let (poster, welcome) = try RawClient.welcomed(bus)
    try poster.send(Post(options: .awaited, deadline: 60_000), serial: 5, name: "unit.willStop")
    _ = try observer.next(.post)
    try gone.sendConfirmed(Cancel(target: 1), serial: 2)
    try bus.crash()
    try observer.send(Done(poster: welcome.connection, post: 5), serial: 2)
    let awaited = try poster.next(.awaited).decode(Awaited.self)
    #expect(awaited.acknowledged == 1 && awaited.missing.map(\.failure) == [.gone])
    #expect(try !bus.log().contains("cannot replay"))
  }

  @Test("a connection's count of losses continues, and a crash adds its own losses")
  func losses() throws {
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
    let before = try Self.lostCount(poster)
    #expect(before > 0)
    try bus.restart()
    #expect(try Self.lostCount(poster) == before)
    var tally = Tally()
    while tally.total < posted { try tally.add(observer.next()) }
    #expect(tally.lost == before)
    try bus.crash()
    #expect(try Self.lostCount(poster) == before)
    try observer.sendConfirmed(Suspend(isSuspended: true), serial: 2)
    for serial in 1...3 { try poster.send(Post(), serial: Serial(serial), name: "load.unit") }
    try poster.settle()
    try bus.crash()
    #expect(try Self.lostCount(poster) == before + 3)
    #expect(try poster.busEntry().lost == 3)
    #expect(try observer.next().decode(Lost.self).count == 3)
  }

  @Test(
    "accepted entries stay, even if the limits are lower after the restart",
    arguments: RestartedBus.Way.allCases)
  func limits(_ way: RestartedBus.Way) throws {
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

  @Test("if bus and keeper die and a service manager has the log, holds stand until their holders return")
  func bothDie() throws {
    let bus = try RestartedBus(isManaged: true)
    let hold = try bus.bus.staying("hold", "host.shouldReboot", "--why=backup")
    try bus.die()
    let asker = try RawClient(bus.bus)
    try asker.send { buffer in
      Hello().append(to: buffer)
      buffer.appendFrame(Ask(), serial: 1, name: "host.shouldReboot")
    }
    bus.keeper.die()
    try bus.startKeeper()
    try bus.start()
    _ = try asker.readHello()
    // If the holder is already back but has not identified itself, its hold exists twice.
    #expect(try Set(asker.nextVerdict().outcomes.map(\.reason)) == ["backup"])
    #expect(try hold.errors.line()?.contains("; the hold was in force all the time") == true)
    #expect(try asker.ask("host.shouldReboot", serial: 2).outcomes.map(\.reason) == ["backup"])
  }

  @Test("a keeper without its lease discards everything", arguments: RestartedBus.Way.allCases)
  func lease(_ way: RestartedBus.Way) throws {
    let bus = try RestartedBus(isManaged: true)
    let manager = try #require(bus.manager)
    let client = try RawClient.observing("load.*", on: bus)
    try bus.restart(way)
    try client.settle()
    try bus.end(way)
    #expect(manager.names.contains("lease"))
    // As the manager does for a service that has stopped for ever.
    manager.drop("lease")
    #expect(try client.readToEnd().isEmpty)
  }

  private static func lostCount(_ client: RawClient) throws -> Int {
    try client.connections().reduce(0) { $0 + Int($1.lost) }
  }
}

extension RestartedBus {
  func waitUntilKept(_ welcome: Welcome, _ client: RawClient) throws {
    try bus.wait(serving: client) { try client.entry(of: welcome.connection)?.isSurviving == true }
  }
}
