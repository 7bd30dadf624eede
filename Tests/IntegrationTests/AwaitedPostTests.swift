// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

/// Posters that wait for their observers, byte by byte.
@Suite("Awaited posts", .timeLimit(.minutes(1)))
struct AwaitedPostTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private func observer(
    _ suspension: SuspensionBehavior = .coalesce
  ) throws -> (client: RawClient, id: ConnectionID) {
    let (client, welcome) = try RawClient.welcomed(bus)
    try client.send(Observe(options: .awaited, suspension: suspension), serial: 1, name: "disk.*")
    _ = try client.next(.ok)
    return (client, welcome.connection)
  }

  private func post(_ poster: RawClient, serial: Serial, deadline: UInt32 = 0) throws {
    try poster.send(Post(options: .awaited, deadline: deadline), serial: serial, name: "disk.willUnmount")
  }

  private func acknowledge(
    _ frame: RawClient.Frame, by client: RawClient, failed reason: String? = nil, serial: Serial = 5
  ) throws {
    try client.send(
      Done(poster: frame.header.sender, post: frame.header.serial, hasFailed: reason != nil), serial: serial,
      text: reason ?? "")
  }

  private func reply(_ poster: RawClient, serial: Serial) throws -> Awaited {
    let frame = try poster.next()
    #expect(frame.kind == .awaited)
    #expect(frame.header.serial == serial)
    return try frame.decode(Awaited.self)
  }

  @Test("the poster is answered once, when all have said what came of it, and told who went")
  func outcomes() throws {
    let poster = try RawClient.greeted(bus)
    let (done, failing) = (try observer(), try observer())
    var gone: (client: RawClient, id: ConnectionID)? = try observer()
    let goneID = try #require(gone?.id)
    let other = try RawClient.greeted(bus)
    try other.observe("disk.*", serial: 1)
    try post(poster, serial: 7)
    try acknowledge(try done.client.next(), by: done.client)
    let kept = try failing.client.next()
    try acknowledge(kept, by: failing.client, failed: "2 files are open")
    _ = try gone?.client.next()
    gone = nil
    let awaited = try reply(poster, serial: 7)
    #expect(awaited.acknowledged == 1)
    #expect(awaited.missing.map(\.connection) == [failing.id, goneID])
    #expect(awaited.missing.map(\.failure) == [.failed, .gone])
    #expect(awaited.missing.map(\.reason) == ["2 files are open", ""])
    #expect(try awaited.missing[0].peer == ThisProcess.identity)
    // Who says it again is told, and the poster nothing more.
    try acknowledge(kept, by: failing.client)
    #expect(try failing.client.nextError() == .notAsked)
    try poster.expectSilence()
    #expect(try other.next().name == "disk.willUnmount")
  }

  @Test("at its deadline the poster is told who has not done it, and they that nobody waits any more")
  func deadline() throws {
    let poster = try RawClient.greeted(bus)
    let observers = [try observer(), try observer()]
    try post(poster, serial: 7, deadline: 50)
    let awaited = try reply(poster, serial: 7)
    #expect(awaited.acknowledged == 0)
    #expect(awaited.missing.map(\.connection) == observers.map(\.id))
    #expect(awaited.missing.allSatisfy { $0.failure == .timedOut && $0.elapsed >= 50_000 })
    for observer in observers {
      try acknowledge(try observer.client.next(), by: observer.client)
      #expect(try observer.client.nextError() == .notAsked)
    }
    try poster.expectSilence()
  }

  @Test("a poster that goes is forgotten, and whoever still acknowledges is told that nobody waits")
  func posterGoes() throws {
    let (client, _) = try observer()
    var poster: RawClient? = try RawClient.greeted(bus)
    for serial in 1...100 as ClosedRange<Serial> { try poster.map { try post($0, serial: serial) } }
    let frames = try (0..<100).map { _ in try client.next() }
    let sender = frames[0].header.sender
    let departures = try Departures(ofBusAt: bus.path)
    poster = nil
    try departures.wait(for: sender)
    let other = try RawClient.greeted(bus)
    for frame in frames {
      try acknowledge(frame, by: client)
      #expect(try client.nextError() == .notAsked)
    }
    // Another poster that uses the same serials waits for itself alone.
    try post(other, serial: 1)
    #expect(try client.next().kind == .post)
    try acknowledge(frames[0], by: client)
    #expect(try client.nextError() == .notAsked)
    try client.send(Done(poster: try otherID(other), post: 1), serial: 6)
    #expect(try reply(other, serial: 1).acknowledged == 1)
  }

  private func otherID(_ client: RawClient) throws -> ConnectionID {
    try client.observe("test.who", serial: 900)
    try client.send(Post(), serial: 901, name: "test.who")
    return try client.next(.post).header.sender
  }

  @Test("an observer that is killed has gone, and a poster that is killed is waited for by nobody")
  func killed() throws {
    let program = try bus.staying("observe", "--awaited", "disk.*")
    let (client, _) = try observer()
    try program.freeze()
    let poster = try RawClient.greeted(bus)
    try post(poster, serial: 1, deadline: 600_000)
    try acknowledge(try client.next(), by: client)
    program.signal(SIGKILL)
    let awaited = try reply(poster, serial: 1)
    #expect(awaited.acknowledged == 1)
    #expect(awaited.missing.map(\.failure) == [.gone])
    #expect(awaited.missing.map(\.peer.pid) == [UInt32(program.pid)])

    let waiting = try RunningProgram(
      [try Programs.path(of: "tribunectl"), "post", "disk.willUnmount", "--wait=10min"],
      environment: ["TRIBUNE_ADDRESS": bus.address])
    let frame = try client.next()
    let departures = try Departures(ofBusAt: bus.path)
    waiting.signal(SIGKILL)
    #expect(waiting.status() == -SIGKILL)
    try departures.wait(for: frame.header.sender)
    try acknowledge(frame, by: client)
    #expect(try client.nextError() == .notAsked)
  }

  @Test("posts that are awaited at once are answered each, in whichever order they are done")
  func pipelined() throws {
    let observers = [try observer(), try observer()]
    let poster = try RawClient.greeted(bus)
    let count = 200
    try poster.send {
      for serial in 1...Serial(count) {
        $0.appendFrame(
          Post(options: .awaited, deadline: 60_000), serial: serial, name: "disk.will\(serial)",
          object: "disk/\(serial)")
      }
    }
    for (index, observer) in observers.enumerated() {
      let frames = try (0..<count).map { _ in try observer.client.next() }
      for frame in index == 0 ? frames : frames.reversed() { try acknowledge(frame, by: observer.client) }
      try observer.client.expectSilence()
    }
    var answered: [Serial] = []
    for _ in 0..<count {
      let frame = try poster.next(.awaited)
      let awaited = try frame.decode(Awaited.self)
      #expect(awaited.acknowledged == 2 && awaited.missing.isEmpty)
      answered.append(frame.header.serial)
    }
    #expect(answered == (1...Serial(count)).reversed())
    try poster.expectSilence()
  }

  @Test("who is suspended is reached behind what is held, and who drops is not waited for")
  func suspended() throws {
    let (holding, dropping) = (try observer(.hold), try observer(.drop))
    for client in [holding.client, dropping.client] {
      try client.send(Suspend(isSuspended: true), serial: 2)
      _ = try client.next(.ok)
    }
    let poster = try RawClient.greeted(bus)
    try poster.send(Post(), serial: 1, name: "disk.didFill")
    try post(poster, serial: 2)
    #expect(try holding.client.next().name == "disk.didFill")
    try acknowledge(try holding.client.next(), by: holding.client)
    #expect(try reply(poster, serial: 2) == Awaited(acknowledged: 1, missing: []))
    try dropping.client.expectSilence()
  }

  @Test("of an observer that loses, each post is answered all the same, at the deadline at the latest")
  func lossy() throws {
    let bus = try TestBus(configuration: "[Queue]\nLowMark=16K\nHighMark=64K\nPaceMaxSec=1ms\n")
    let (client, welcome) = try RawClient.welcomed(bus)
    try client.send(Observe(options: .awaited), serial: 1, name: "disk.*")
    _ = try client.next(.ok)
    let poster = try RawClient.greeted(bus)
    let count = 300
    try poster.send {
      for serial in 1...Serial(count) {
        $0.appendFrame(
          Post(options: .awaited, deadline: 500), serial: serial, name: "disk.willUnmount",
          text: String(repeating: "x", count: 8000))
      }
    }
    for _ in 0..<count {
      let awaited = try poster.next(.awaited).decode(Awaited.self)
      #expect(awaited.acknowledged == 0)
      #expect(awaited.missing.map(\.failure) == [.timedOut])
      #expect(awaited.missing.map(\.connection) == [welcome.connection])
    }
    var tally = Tally()
    try client.read(&tally, to: count)
    #expect(tally.lost > 0)
  }
}
