// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

@Suite("Posters", .timeLimit(.minutes(15)))
struct PosterTests {
  private static func curious(
    _ bus: some ServedBus, _ observe: Observe = Observe(), _ pattern: String = "a.**"
  ) throws -> RawClient {
    let client = try RawClient.greeted(bus, capabilities: .posters)
    try client.sendConfirmed(observe, serial: 1, name: pattern)
    return client
  }

  private static func brief(_ client: RawClient, _ count: Int) throws -> [String] {
    try (0..<count).map { _ in
      let frame = try client.next()
      switch frame.kind {
      case .poster:
        let facts = try frame.decode(PosterFacts.self)
        #expect(frame.header.sender == .bus && frame.header.serial == 0)
        return "\(facts.connection) is \(facts.peer.pid)" + (facts.slot == 0 ? ", gone" : "")
      case .post, .retained: return "\(frame.name) of \(frame.header.sender)"
      default: return frame.kind.map { "\($0)" } ?? "\(frame.header.rawKind)"
      }
    }
  }

  private static let pid = getpid()

  @Test("an observer that requests posters learns of each poster once, before its first notification")
  func once() throws {
    let bus = try TestBus()
    let observer = try Self.curious(bus)
    let (first, one) = try RawClient.welcomed(bus)
    let (second, two) = try RawClient.welcomed(bus)
    for (client, name) in [(first, "a.b"), (first, "a.c"), (second, "a.b"), (first, "a.b"), (second, "a.c")] {
      try client.sendConfirmed(Post(), serial: 1, name: name)
    }
    let (x, y) = (one.connection, two.connection)
    #expect(
      try Self.brief(observer, 7) == [
        "\(x) is \(Self.pid)", "a.b of \(x)", "a.c of \(x)", "\(y) is \(Self.pid)", "a.b of \(y)",
        "a.b of \(x)",
        "a.c of \(y)",
      ])
  }

  @Test("it learns the same facts as in lists, with a slot that the poster keeps")
  func facts() throws {
    let bus = try TestBus()
    let (observer, other) = (try Self.curious(bus), try Self.curious(bus))
    let (poster, welcome) = try RawClient.welcomed(bus)
    try poster.sendConfirmed(Post(), serial: 1, name: "a.b")
    let facts = try observer.next(.poster).decode(PosterFacts.self)
    let entry = try #require(try poster.entry(of: welcome.connection))
    #expect(facts.connection == welcome.connection && facts.peer == entry.peer && facts.slot > 0)
    #expect(try other.next(.poster).decode(PosterFacts.self) == facts)
  }

  @Test("observers that do not request posters get the same frames as before, even beside one that does")
  func unasked() throws {
    let bus = try TestBus()
    let (plain, observer) = (try RawClient.observing("a.**", on: bus), try Self.curious(bus))
    let (poster, welcome) = try RawClient.welcomed(bus)
    for _ in 0..<3 { try poster.sendConfirmed(Post(), serial: 1, name: "a.b") }
    #expect(try Self.brief(plain, 3) == Array(repeating: "a.b of \(welcome.connection)", count: 3))
    #expect(try observer.next().kind == .poster)
    try plain.expectSilence()
  }

  @Test("it learns of each new connection in a reused slot")
  func reusedSlot() throws {
    let bus = try TestBus()
    let observer = try Self.curious(bus)
    var slots: Set<UInt32> = []
    for round in 0..<5 {
      let (poster, welcome) = try RawClient.welcomed(bus)
      for _ in 0..<2 { try poster.sendConfirmed(Post(), serial: 1, name: "a.b") }
      let facts = try observer.next().decode(PosterFacts.self)
      #expect(facts.connection == welcome.connection, "round \(round)")
      slots.insert(facts.slot)
      #expect(try Self.brief(observer, 2) == Array(repeating: "a.b of \(welcome.connection)", count: 2))
      try poster.leave()
    }
    #expect(slots.count == 1)
  }

  @Test("it learns of itself as a poster, but of no poster of the bus's own posts")
  func itselfAndTheBus() throws {
    let bus = try TestBus()
    let (observer, welcome) = try RawClient.welcomed(bus, capabilities: .posters)
    try observer.observe("a.**", serial: 1)
    try observer.send(Post(), serial: 2, name: "a.b")
    #expect(
      try Self.brief(observer, 2) == ["\(welcome.connection) is \(Self.pid)", "a.b of \(welcome.connection)"])
    try observer.observe("tribune.connection.*", serial: 3)
    let other = try RawClient.greeted(bus)
    #expect(try Self.brief(observer, 1) == ["tribune.connection.didConnect of :0"])
    try other.leave()
  }

  @Test("retained notifications come with their posters, even departed ones")
  func retained() throws {
    let bus = try TestBus()
    var ids: [ConnectionID] = []
    for name in ["a.b", "a.c"] {
      let (poster, welcome) = try RawClient.welcomed(bus)
      try poster.sendConfirmed(Post(options: .retain), serial: 1, name: name, text: "1")
      try poster.leave()
      ids.append(welcome.connection)
    }
    let (living, welcome) = try RawClient.welcomed(bus)
    for name in ["a.d", "a.e"] {
      try living.sendConfirmed(Post(options: .retain), serial: 1, name: name, text: "1")
    }
    let observer = try RawClient.greeted(bus, capabilities: .posters)
    try observer.send(Observe(options: .retained), serial: 1, name: "a.**")
    let (x, y, z) = (ids[0], ids[1], welcome.connection)
    #expect(
      try Self.brief(observer, 8) == [
        "ok", "\(x) is \(Self.pid), gone", "a.b of \(x)", "\(y) is \(Self.pid), gone", "a.c of \(y)",
        "\(z) is \(Self.pid)", "a.d of \(z)", "a.e of \(z)",
      ])
    try observer.send(Observe(options: .retained), serial: 2, name: "a.c")
    #expect(try Self.brief(observer, 2) == ["ok", "a.c of \(y)"])
    try observer.send(Observe(options: .retained), serial: 3, name: "a.b")
    #expect(try Self.brief(observer, 3) == ["ok", "\(x) is \(Self.pid), gone", "a.b of \(x)"])
  }

  @Test("notifications that waited for a resume, or for an idle bus, come with their posters")
  func waiting() throws {
    let bus = try TestBus()
    let observer = try Self.curious(bus, Observe(suspension: .hold))
    try observer.sendConfirmed(Suspend(isSuspended: true), serial: 2)
    let (poster, welcome) = try RawClient.welcomed(bus)
    for name in ["a.b", "a.c"] { try poster.sendConfirmed(Post(), serial: 1, name: name) }
    try observer.send(Suspend(isSuspended: false), serial: 3)
    let id = welcome.connection
    #expect(try Self.brief(observer, 4) == ["\(id) is \(Self.pid)", "a.b of \(id)", "a.c of \(id)", "ok"])
    try observer.sendConfirmed(Suspend(isSuspended: true), serial: 4)
    let (brief, short) = try RawClient.welcomed(bus)
    try brief.sendConfirmed(Post(), serial: 1, name: "a.e")
    try brief.leave()
    try observer.send(Suspend(isSuspended: false), serial: 5)
    #expect(
      try Self.brief(observer, 3) == [
        "\(short.connection) is \(Self.pid), gone", "a.e of \(short.connection)", "ok",
      ])
    let (leaving, last) = try RawClient.welcomed(bus)
    try leaving.send(Post(style: .whenIdle), serial: 1, name: "a.d")
    try leaving.leave()
    let told = try Self.brief(observer, 2)
    #expect(told.first?.hasPrefix("\(last.connection) is \(Self.pid)") == true)
    #expect(told.last == "a.d of \(last.connection)")
  }

  @Test("an awaited post comes with its poster")
  func awaited() throws {
    let bus = try TestBus()
    let observer = try Self.curious(bus, Observe(options: .awaited))
    let (poster, welcome) = try RawClient.welcomed(bus)
    try poster.send(Post(options: .awaited, deadline: 60_000), serial: 1, name: "a.willB")
    let id = welcome.connection
    #expect(try Self.brief(observer, 2) == ["\(id) is \(Self.pid)", "a.willB of \(id)"])
  }

  @Test(
    "after a restart, it learns of the poster before the first notification",
    arguments: RestartedBus.Way.allCases)
  func restart(_ way: RestartedBus.Way) throws {
    let bus = try RestartedBus()
    let observer = try Self.curious(bus)
    let (poster, welcome) = try RawClient.welcomed(bus)
    // A connection that has registered something survives a crash.
    try poster.observe("nothing.*", serial: 9)
    let (leaving, gone) = try RawClient.welcomed(bus)
    try leaving.sendConfirmed(Post(options: .retain), serial: 1, name: "a.kept", text: "1")
    try leaving.leave()
    try poster.sendConfirmed(Post(), serial: 1, name: "a.b")
    #expect(try Self.brief(observer, 4).last == "a.b of \(welcome.connection)")
    try bus.restart(way)
    for _ in 0..<2 { try poster.sendConfirmed(Post(), serial: 2, name: "a.b") }
    let id = welcome.connection
    #expect(try Self.brief(observer, 3) == ["\(id) is \(Self.pid)", "a.b of \(id)", "a.b of \(id)"])
    try observer.send(Observe(options: .retained), serial: 2, name: "a.kept")
    #expect(
      try Self.brief(observer, 3) == [
        "ok", "\(gone.connection) is \(Self.pid), gone", "a.kept of \(gone.connection)",
      ])
  }

  @Test("posters that come and go do not close an observer that does not read: it loses notifications")
  func flood() throws {
    // The smallest limits for which undroppable frames make it lossy.
    let bus = try TestBus(
      configuration: "[Queue]\nLowMark=8K\nHighMark=16K\nHardLimit=64K\nPaceMaxSec=1ms\n")
    let observer = try Self.curious(bus)
    let other = try RawClient.greeted(bus)
    let text = String(repeating: "x", count: 200)
    let filler = String(repeating: "x", count: 50_000)
    for _ in 0..<20 { try other.sendConfirmed(Post(), serial: 1, name: "a.filler", text: filler) }
    var posted = 20
    for _ in 0..<1500 {
      let poster = try RawClient.greeted(bus)
      try poster.sendConfirmed(Post(), serial: 1, name: "a.b", text: text)
      try poster.leave()
      posted += 1
    }
    var known: Set<ConnectionID> = []
    var (received, lost) = (0, 0)
    while received + lost < posted {
      let frame = try observer.next()
      switch frame.kind {
      case .poster: known.insert(try frame.decode(PosterFacts.self).connection)
      case .post:
        #expect(known.contains(frame.header.sender))
        received += 1
      case .lost: lost += Int(try frame.decode(Lost.self).count)
      default: Issue.record("a frame of kind \(frame.header.rawKind)")
      }
    }
    #expect(received + lost == posted)
    #expect(lost > 0)
    try observer.expectSilence()
  }
}
