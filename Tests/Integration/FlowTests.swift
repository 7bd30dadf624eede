// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

@Suite("Back-pressure", .timeLimit(.minutes(15)))
struct FlowTests {
  private static let patient = "[Queue]\nLowMark=16K\nHighMark=64K\nPaceMaxSec=10s\n"

  private static func observer(
    on bus: TestBus, of pattern: String = "load.*"
  ) throws -> (client: RawClient, welcome: Welcome) {
    let (client, welcome) = try RawClient.welcomed(bus)
    try client.observe(pattern, serial: 1)
    return (client, welcome)
  }

  private static func lines(_ bus: TestBus, with text: String) throws -> [Substring] {
    try bus.log().split(separator: "\n").filter { $0.contains(text) }
  }

  @Test("above an observer's high mark, its posters pause; they resume once it drains, and nothing is lost")
  func pacing() throws {
    let bus = try TestBus(configuration: Self.patient)
    let (observer, observerWelcome) = try Self.observer(on: bus)
    let (poster, welcome) = try RawClient.welcomed(bus)
    let other = try RawClient.greeted(bus)
    let stream = PostStream(poster)
    while try other.entry(of: welcome.connection)?.isPaused == false { try stream.fill() }
    let entry = try #require(try other.entry(of: observerWelcome.connection))
    #expect(entry.queued > 64 << 10)
    #expect(!entry.isLossy && !entry.isPaused)
    let list = try bus.tribunectl("--json=off", "list")
    #expect(list.lines.first?.split(separator: " ").contains("STATE") == true)
    #expect(list.lines.filter { $0.contains(" paused ") }.count == 1)

    var tally = Tally()
    try observer.read(&tally, to: stream.posted)
    #expect(tally.lost == 0)
    try poster.settle()
    #expect(try other.entry(of: welcome.connection)?.isPaused == false)
    #expect(try Self.lines(bus, with: "does not read").isEmpty)
  }

  @Test("a poster to several slow observers resumes when the last of them drains")
  func severalObservers() throws {
    let bus = try TestBus(configuration: Self.patient)
    let observers = try (0..<3).map { _ in try Self.observer(on: bus) }
    let (poster, welcome) = try RawClient.welcomed(bus)
    let other = try RawClient.greeted(bus)
    let stream = PostStream(poster)
    // Leave little in its socket, so it does not pause again when it continues.
    while try other.entry(of: welcome.connection)?.isPaused == false { try stream.send() }
    let queued = try observers.map { try other.entry(of: $0.welcome.connection)?.queued ?? 0 }
    #expect(queued.allSatisfy { $0 > 64 << 10 })
    for (observer, observerWelcome) in observers {
      #expect(try other.entry(of: welcome.connection)?.isPaused == true)
      while try other.entry(of: observerWelcome.connection)?.queued ?? 0 > 0 { _ = try observer.next() }
    }
    try poster.settle()
    #expect(try other.entry(of: welcome.connection)?.isPaused == false)
  }

  @Test("the posts of a paused poster still arrive after it leaves")
  func pausedPosterGoes() throws {
    let bus = try TestBus(configuration: Self.patient)
    let (observer, _) = try Self.observer(on: bus)
    let other = try RawClient.greeted(bus)
    let departures = try Departures(ofBusAt: bus.path)
    let posted: Int
    let id: ConnectionID
    do {
      let (poster, welcome) = try RawClient.welcomed(bus)
      id = welcome.connection
      let stream = PostStream(poster, length: 100)
      while try other.entry(of: id)?.isPaused == false { try stream.fill() }
      posted = stream.posted
    }
    try departures.wait(for: id)
    try other.send(Post(), serial: 2, name: "load.end")
    var last = ""
    var tally = Tally()
    while last != "load.end" {
      let frame = try observer.next()
      try tally.add(frame)
      last = frame.name
    }
    #expect(tally.lost == 0)
    #expect(tally.received == posted + 1)
    try observer.expectSilence()
  }

  @Test("a paused poster is not closed because of its partial frame")
  func partialFrame() throws {
    let bus = try TestBus(configuration: "[Bus]\nFrameTimeoutSec=100ms\n" + Self.patient)
    let (observer, observerWelcome) = try Self.observer(on: bus)
    let (poster, welcome) = try RawClient.welcomed(bus)
    let other = try RawClient.greeted(bus)
    let stream = PostStream(other)
    while try other.entry(of: observerWelcome.connection)?.queued ?? 0 < 60 << 10 { try stream.post(1) }
    let frames = ByteBuffer(capacity: 16_384)
    for serial in 1...2 {
      frames.appendFrame(
        Post(), serial: Serial(serial), name: "load.unit", text: String(repeating: "x", count: 6000))
    }
    let (whole, half) = ([UInt8](frames.bytes), frames.count * 3 / 4)
    try poster.send(Array(whole[..<half]))
    // The clock's partial frame begins later than the poster's, which the bus has read when it welcomes this client.
    let clock = try RawClient.greeted(bus)
    #expect(try other.entry(of: welcome.connection)?.isPaused == true)
    try clock.send([40])
    #expect(try clock.nextError() == .frameTimeout)
    #expect(try other.entry(of: welcome.connection)?.isPaused == true)
    try poster.send(Array(whole[half...]))
    var tally = Tally()
    try observer.read(&tally, to: stream.posted + 2)
    #expect(tally.lost == 0)
    try poster.settle()
  }

  @Test("an observer that falls behind gets all of PaceMaxSec each time")
  func everyStall() throws {
    let bus = try TestBus(
      configuration: "[Bus]\nFrameTimeoutSec=400ms\n[Queue]\nLowMark=16K\nHighMark=64K\nPaceMaxSec=1s\n")
    let (watcher, _) = try Self.observer(on: bus, of: "tribune.observer.*")
    let (observer, _) = try Self.observer(on: bus)
    let (poster, welcome) = try RawClient.welcomed(bus)
    let other = try RawClient.greeted(bus)
    let stream = PostStream(poster)
    // A partial frame times out: that is the clock.
    func letTimePass() throws {
      let clock = try RawClient.greeted(bus)
      try clock.send([40])
      #expect(try clock.nextError() == .frameTimeout)
    }
    while try other.entry(of: welcome.connection)?.isPaused == false { try stream.send() }
    try letTimePass()
    while try other.entry(of: welcome.connection)?.isPaused == true { _ = try observer.next() }
    while try other.entry(of: welcome.connection)?.isPaused == false { try stream.fill() }
    // This outlasts the first stall's time, but not the second's.
    for _ in 0..<2 { try letTimePass() }
    try watcher.expectSilence()
    #expect(try watcher.next(.post).name == "tribune.observer.didBecomeLossy")
  }

  @Test("the bus's own announcements do not shorten an observer's time")
  func announcementWhilePaced() throws {
    let bus = try TestBus(configuration: Self.patient)
    let (observer, observerWelcome) = try Self.observer(on: bus)
    try observer.observe("tribune.**", serial: 2)
    let (poster, welcome) = try RawClient.welcomed(bus)
    let other = try RawClient.greeted(bus)
    let stream = PostStream(poster)
    while try other.entry(of: welcome.connection)?.isPaused == false { try stream.fill() }
    for _ in 0..<10 { _ = try RawClient.greeted(bus) }
    #expect(try other.entry(of: observerWelcome.connection)?.isLossy == false)
    #expect(try other.entry(of: welcome.connection)?.isPaused == true)
  }

  @Test("an observer that loses posts no longer delays other clients")
  func oncePaused() throws {
    let bus = try TestBus(
      configuration: "[Queue]\nLowMark=16K\nHighMark=64K\nHardLimit=1M\nPaceMaxSec=50ms\n")
    let (observer, observerWelcome) = try Self.observer(on: bus)
    let (poster, welcome) = try RawClient.welcomed(bus)
    let other = try RawClient.greeted(bus)
    let stream = PostStream(poster)
    while try other.entry(of: observerWelcome.connection)?.isLossy == false { try stream.fill() }
    for _ in 0..<50 {
      for _ in 0..<100 { try stream.send() }
      let entry = try #require(try other.entry(of: welcome.connection))
      #expect(!entry.isPaused)
    }
    try poster.settle()
    let entry = try #require(try other.entry(of: observerWelcome.connection))
    #expect(entry.queued <= 65 << 10)
    #expect(entry.lost > 0)
    let list = try bus.tribunectl("--json=off", "list")
    #expect(list.lines.filter { $0.contains(" lossy ") }.count == 1)
    var tally = Tally()
    try observer.read(&tally, to: stream.posted)
    #expect(UInt64(tally.lost) == entry.lost)
    #expect(try other.busEntry().lost == entry.lost)
  }

  @Test(
    "the bus announces and logs each start and end of an observer's losses once",
    arguments: ["16K", "0"])
  func episodes(lowMark: String) throws {
    let bus = try TestBus(configuration: "[Queue]\nLowMark=\(lowMark)\nHighMark=64K\nPaceMaxSec=1ms\n")
    let (watcher, _) = try Self.observer(on: bus, of: "tribune.observer.*")
    let (observer, welcome) = try Self.observer(on: bus)
    let poster = try RawClient.greeted(bus)
    let stream = PostStream(poster)
    var tally = Tally()
    let observed = #""connection":"\#(welcome.connection)","pid":\#(getpid())"#
    for episode in 1...3 {
      try stream.post(2000)
      try poster.settle()
      #expect(try poster.entry(of: welcome.connection)?.isLossy == true)
      let before = tally.lost
      try observer.read(&tally, to: stream.posted)
      let lost = tally.lost - before
      #expect(lost > 0)
      #expect(try poster.entry(of: welcome.connection)?.isLossy == false)
      let news = [try watcher.next(.post), try watcher.next(.post)]
      #expect(news.map(\.name) == ["tribune.observer.didBecomeLossy", "tribune.observer.didRecover"])
      #expect(news.allSatisfy { $0.payload.contains(observed) && $0.header.sender == .bus })
      #expect(news[1].payload.contains(#""lost":\#(lost)}"#))
      let warnings = try Self.lines(bus, with: "does not read")
      #expect(warnings.count == episode)
      #expect(warnings.allSatisfy { $0.contains("[\(getpid())]") && $0.contains("\(welcome.connection) ") })
      let notices = try Self.lines(bus, with: "reads again")
      #expect(notices.count == episode)
      #expect(notices.last?.contains("has lost \(lost) notifications") == true)
    }
    try watcher.expectSilence()
  }

  @Test("losses caused by announcements of losses are not announced, which could go on for ever")
  func noFeedback() throws {
    let bus = try TestBus(configuration: Self.patient.replacing("10s", with: "1ms"))
    let watchers = try (0..<5).map { _ in
      let (client, welcome) = try Self.observer(on: bus, of: "fill.*")
      try client.observe("tribune.observer.*", serial: 2)
      return (client: client, welcome: welcome)
    }
    let poster = try RawClient.greeted(bus)
    func queued() throws -> [UInt64] {
      try watchers.map { try poster.entry(of: $0.welcome.connection)?.queued ?? 0 }
    }
    let fills = [PostStream(poster, name: "fill.unit"), PostStream(poster, name: "fill.unit", length: 0)]
    while try queued()[0] < 62 << 10 { try fills[0].post(1) }
    while try queued()[0] < (64 << 10) - 100 { try fills[1].post(1) }
    #expect(try queued().allSatisfy { $0 > (64 << 10) - 120 && $0 <= 64 << 10 })

    let (observer, _) = try Self.observer(on: bus)
    let stream = PostStream(poster)
    try stream.post(1000)
    try poster.settle()
    for watcher in watchers {
      #expect(try poster.entry(of: watcher.welcome.connection)?.isLossy == true)
      var tally = Tally()
      try watcher.client.read(&tally, to: fills[0].posted + fills[1].posted + 1)
    }
    #expect(try Self.lines(bus, with: "does not read").count == watchers.count + 1)
    #expect(try Self.lines(bus, with: "reads again").count == watchers.count)
    var tally = Tally()
    try observer.read(&tally, to: stream.posted)
  }

  @Test("when all queues together are too long, slow observers lose early, learn that, and continue")
  func allQueues() throws {
    let bus = try TestBus(configuration: "[Queue]\nLowMark=256K\nHighMark=4M\nMemoryMax=2M\nPaceMaxSec=10s\n")
    let observers = try (0..<20).map { _ in try Self.observer(on: bus) }
    let poster = try RawClient.greeted(bus)
    let other = try RawClient.greeted(bus)
    let stream = PostStream(poster, length: 5000)
    for _ in 0..<40 {
      try stream.post(10)
      try poster.settle()
      let queued = try other.connections().reduce(0) { $0 + $1.queued }
      #expect(queued <= (2 << 20) + 100_000)
    }
    for (observer, welcome) in observers {
      #expect(try other.entry(of: welcome.connection)?.isLossy == true)
      var tally = Tally()
      try observer.read(&tally, to: stream.posted)
      #expect(tally.lost > 0)
      #expect(tally.received > 0)
      #expect(try other.entry(of: welcome.connection)?.isLossy == false)
    }
    #expect(try Self.lines(bus, with: "does not read").count == observers.count)
  }

  @Test("an ordinary user whose observers lose takes few lines of the log, and all are counted")
  func losingUser() throws {
    let bus = try TestBus.allowingAll("[Queue]\nLowMark=16K\nHighMark=64K\nPaceMaxSec=1ms\n")
    let observers = try (0..<50).map { _ in
      let client = try RawClient.greeted(bus, as: 65_534)
      try client.observe("load.*", serial: 1)
      return client
    }
    let poster = try RawClient.greeted(bus)
    let stream = PostStream(poster)
    try stream.post(1000)
    try poster.settle()
    for observer in observers {
      var tally = Tally()
      try observer.read(&tally, to: stream.posted)
      #expect(tally.lost > 0)
    }
    #expect(bus.stop() == 0)
    let logged = try ["does not read", "reads again"].map { try Self.lines(bus, with: $0).count }
    let omitted = try Self.lines(bus, with: "about lossy observers omitted").reduce(0) { sum, line in
      #expect(line.contains("user 65534: "))
      return sum + (line.split(separator: " ").lazy.compactMap { Int($0) }.first ?? 0)
    }
    #expect(logged[0] > 0 && omitted > 0)
    #expect(logged[0] + logged[1] + omitted == 2 * observers.count)
  }

  @Test("clients that the bus closes again and again take few lines of the log, and all are counted")
  func badClients() throws {
    let bus = try TestBus()
    let count = 500
    for _ in 0..<count {
      let client = try RawClient(bus)
      try client.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
      _ = try client.readHello()
      try client.expectClosed(with: .badMagic)
    }
    #expect(bus.stop() == 0)
    let closed = try Self.lines(bus, with: "closing connection")
    #expect(!closed.isEmpty && closed.allSatisfy { $0.contains("not a Tribune hello") })
    let omitted = try Self.lines(bus, with: "more connections").reduce(0) { sum, line in
      sum + (line.split(separator: " ").compactMap { Int($0) }.first ?? 0)
    }
    #expect(closed.count + omitted == count)
    #expect(omitted > 0)
  }
}
