// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Monitoring", .timeLimit(.minutes(15)))
struct MonitorTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private struct Seen {
    let traffic: Traffic
    let header: FrameHeader
    let bytes: [UInt8]

    init(_ frame: RawClient.Frame) throws {
      let buffer = ByteBuffer(holding: frame.payloadBytes)
      header = try #require(try FrameHeader(buffer.bytes, at: 0, limits: .fromBus))
      #expect(header.frameLength == buffer.count)
      traffic = try frame.decode(Traffic.self)
      bytes = frame.payloadBytes
    }

    var words: String {
      let to =
        traffic.to == .bus ? (traffic.receivers == 0 ? "bus" : "\(traffic.receivers)") : "\(traffic.to)"
      let from = traffic.from == .bus ? "bus" : "\(traffic.from)"
      return "\(from) → \(to) \(header.kind.map { "\($0)" } ?? "\(header.rawKind)")"
    }
  }

  private func nextTraffic(_ monitor: RawClient) throws -> Seen {
    let frame = try monitor.next()
    #expect(frame.kind == .traffic)
    return try Seen(frame)
  }

  private func expect(_ expected: [String], at monitor: RawClient) throws {
    #expect(try expected.map { _ in try nextTraffic(monitor).words } == expected)
  }

  private func expect(withSerials expected: [String], at monitor: RawClient) throws {
    let seen = try expected.map { _ in try nextTraffic(monitor) }
    #expect(seen.map { "\($0.words) \($0.header.serial)" } == expected)
  }

  private func monitor(_ pattern: String = "") throws -> RawClient {
    let monitor = try RawClient.greeted(bus)
    try monitor.sendConfirmed(Monitor(), serial: 1, name: pattern)
    return monitor
  }

  @Test("with a pattern, it sees the traffic of matching names, with sender and receiver")
  func patterns() throws {
    let monitor = try monitor("a.**")
    let (delegate, delegateWelcome) = try RawClient.welcomed(bus)
    let (asker, askerWelcome) = try RawClient.welcomed(bus)
    try delegate.attach(Attach(patterns: ["**"]), serial: 1)
    try delegate.observe("a.didB", serial: 2)

    try asker.send(Ask(), serial: 1, name: "b.shouldC")
    try delegate.answer(try delegate.nextQuestion().question, .approve)
    _ = try asker.nextVerdict()
    try asker.send(Ask(), serial: 2, name: "a.shouldB", object: "o", text: "{}")
    let (questionFrame, question) = try delegate.nextQuestion()
    try delegate.send(
      Defer(query: question.query, delegate: question.delegate, extension: 20_000), serial: 3, text: "wait")
    _ = try asker.next(.progress)
    try delegate.answer(question, .veto, "no")
    let verdictFrame = try asker.next(.verdict)
    try asker.send(Post(), serial: 3, name: "a.didB", text: "1")
    let postFrame = try delegate.next(.post)

    let kinds: [FrameKind] = [.ask, .question, .defer, .progress, .answer, .verdict, .concluded, .post]
    let seen = try kinds.map { _ in try nextTraffic(monitor) }
    #expect(seen.map(\.header.kind) == kinds)
    let (asks, answers) = (askerWelcome.connection, delegateWelcome.connection)
    #expect(seen.map(\.traffic.from) == [asks, asks, answers, .bus, answers, .bus, .bus, asks])
    #expect(seen.map(\.traffic.to) == [.bus, answers, .bus, asks, .bus, asks, answers, .bus])
    #expect(seen.map(\.traffic.receivers) == [0, 1, 0, 1, 0, 1, 1, 1])
    #expect(seen[1].bytes == questionFrame.bytes)
    #expect(seen[5].bytes == verdictFrame.bytes)
    #expect(seen[7].bytes == postFrame.bytes)
    #expect(seen.allSatisfy { $0.traffic.time > 1_000_000_000_000_000 })

    try monitor.send(Cancel(target: 1), serial: 2)
    #expect(try monitor.next().kind == .ok)
    try asker.send(Post(), serial: 4, name: "a.didB")
    try asker.settle()
    try monitor.expectSilence()
  }

  @Test("with a pattern, it sees the bus's replies to frames with matching names")
  func answers() throws {
    let monitor = try monitor("a.**")
    let client = try RawClient.greeted(bus)
    try client.send(Post(), serial: 7, flags: .acknowledge, name: "a.b")
    try client.send(Ask(deadline: .max), serial: 8, name: "a.shouldB")
    try client.send(Post(), serial: 9, flags: .acknowledge, name: "b")
    try client.send(Post(), serial: 10, name: "a..b")
    try client.settle()
    try expect(
      withSerials: [":2 → bus post 7", "bus → :2 ok 7", ":2 → bus ask 8", "bus → :2 error 8"], at: monitor)
    try monitor.expectSilence()
  }

  @Test("it sees a waiting post on arrival, and again if it is delivered")
  func waitingPosts() throws {
    let monitor = try monitor("a.**")
    let client = try RawClient.observing("a.b", on: bus)
    for serial in [2, 3] as [Serial] {
      try client.send(Post(options: .coalesceByName, style: .asSoonAsPossible), serial: serial, name: "a.b")
      try client.settle()
    }
    try client.send {
      for serial in [4, 5] as [Serial] {
        $0.appendFrame(Post(options: .coalesceByName, style: .whenIdle), serial: serial, name: "a.b")
      }
      $0.appendFrame(Post(options: .retain), serial: 6, name: "a.c")
      $0.appendFrame(Post(options: [.awaited, .coalesceByName]), serial: 7, name: "a.d")
    }
    #expect(try client.nextError() == .invalidValue)
    try expect(
      withSerials: [
        ":2 → bus post 2", ":2 → 1 post 2", ":2 → bus post 3", ":2 → 1 post 3", ":2 → bus post 4",
        ":2 → bus post 5", ":2 → bus post 6", ":2 → bus post 7", "bus → :2 error 7", ":2 → 1 post 5",
      ], at: monitor)
  }

  @Test("it sees deliveries of buffered and retained notifications, and `done` of awaited ones")
  func laterDeliveries() throws {
    let monitor = try monitor("a.**")
    let (observer, poster) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    try observer.sendConfirmed(Observe(options: .awaited, suspension: .hold), serial: 1, name: "a.*")
    try observer.sendConfirmed(Suspend(isSuspended: true), serial: 2)
    try poster.send(Post(), serial: 1, name: "a.b")
    try poster.sendConfirmed(Post(options: .retain), serial: 2, name: "a.c", text: "1")
    try poster.send(Post(options: .awaited), serial: 3, name: "a.willB")
    let post = try observer.next(.post)
    #expect(post.header.serial == 1)
    try observer.send(Done(poster: post.header.sender, post: 3), serial: 0)
    _ = try poster.next(.awaited)
    try observer.send(Observe(options: .retained), serial: 3, name: "a.c")
    _ = try observer.next(.retained)
    try expect(
      withSerials: [
        ":3 → bus post 1", ":3 → bus post 2", "bus → :3 ok 2", ":3 → :2 post 1", ":3 → :2 post 2",
        ":3 → 1 post 3", ":2 → bus done 0", "bus → :3 awaited 3", ":3 → :2 retained 3",
      ], at: monitor)
  }

  @Test("without a pattern, it sees every frame once, in order")
  func everything() throws {
    let monitor = try monitor()
    let client = try RawClient.observing("a.b", on: bus)
    try client.attach(Attach(patterns: ["a.shouldB"]), serial: 2)
    try client.sendConfirmed(Post(), serial: 3, name: "a.b")
    try client.send(Post(), serial: 4, name: "no name")
    _ = try client.next(.error)
    try client.send(Ask(), serial: 5, name: "a.shouldB")
    try client.answer(try client.nextQuestion().question, .veto, "no")
    _ = try client.nextConclusion()
    _ = try client.list(List(.observations), serial: 6)
    try client.send { $0.append([32, 0, 0, 0, 200, 0, 0, 0] + [UInt8](repeating: 0, count: 24)) }
    #expect(try client.nextError() == .unknownKind)
    try client.send(Hold(expiry: 0), serial: 7, name: "c.shouldB", text: "why")
    try client.send(Cancel(target: 1), serial: 8)
    while try client.next(.ok).header.serial != 8 {}
    try client.send { $0.append([UInt8](repeating: 0, count: 32)) }
    _ = try client.readToEnd()
    let expected = [
      "bus → :2 welcome", ":2 → bus observe", "bus → :2 ok", ":2 → bus attach", "bus → :2 ok",
      ":2 → 1 post", "bus → :2 ok", ":2 → bus post", "bus → :2 error",
      ":2 → bus ask", ":2 → :2 question", ":2 → bus answer", "bus → :2 verdict", "bus → :2 concluded",
      ":2 → bus list", "bus → :2 entry", "bus → :2 ok", ":2 → bus 200", "bus → :2 error",
      ":2 → bus hold", "bus → :2 ok", ":2 → bus cancel", "bus → :2 ok", "bus → :2 error",
    ]
    try expect(expected, at: monitor)
  }

  @Test("it sees neither its own `monitor` nor its own traffic; others see its `monitor`")
  func monitors() throws {
    let first = try monitor()
    let second = try monitor()
    try expect(["bus → :2 welcome", ":2 → bus monitor", "bus → :2 ok"], at: first)
    try second.send(Post(), serial: 2, flags: .acknowledge, name: "a.b")
    try expect([":2 → bus post", "bus → :2 ok"], at: first)
    let kinds = try (0..<3).map { _ in try second.next() }.map { $0.kind }
    #expect(kinds == [.traffic, .ok, .traffic])
    try first.settle()
    try second.send(Monitor(), serial: 3, name: "a.**")
    while try second.next(.ok).header.serial != 3 {}
    try second.send(Post(), serial: 4, name: "a.b")
    #expect(try nextTraffic(second).header.serial == 4)
  }

  @Test("it sees each post of a run, including long ones")
  func runs() throws {
    let monitor = try monitor("load.*")
    let (poster, welcome) = try RawClient.welcomed(bus)
    let lengths = [0, 10, 10, 100_000, 3, 70_000, 0]
    try poster.send {
      for (index, length) in lengths.enumerated() {
        $0.appendFrame(
          Post(), serial: Serial(index), name: "load.unit", text: String(repeating: "x", count: length))
      }
    }
    for (index, length) in lengths.enumerated() {
      let seen = try nextTraffic(monitor)
      #expect(seen.header.kind == .post)
      #expect(seen.header.serial == Serial(index))
      #expect(seen.header.payloadLength == length)
      #expect(seen.header.sender == welcome.connection)
      #expect(seen.traffic.receivers == 0)
    }
  }

  @Test("it sees how many notifications a slow observer lost")
  func slowObserver() throws {
    let bus = try TestBus(configuration: "[Queue]\nPaceMaxSec=1ms\n")
    let monitor = try RawClient.greeted(bus)
    let (observer, observerWelcome) = try RawClient.welcomed(bus)
    try observer.observe("load.unit", serial: 1)
    try monitor.sendConfirmed(Monitor(), serial: 1)
    let poster = try RawClient.greeted(bus)
    let text = String(repeating: "x", count: 100_000)
    var lost = 0
    var serial: Serial = 0
    while lost == 0 {
      serial += 1
      try poster.send(Post(), serial: serial, flags: .acknowledge, name: "load.unit", text: text)
      while true {
        let seen = try Seen(try monitor.next(.traffic))
        if seen.header.kind == .lost {
          #expect(seen.traffic.to == observerWelcome.connection && seen.traffic.from == .bus)
          lost += 1
        }
        if seen.header.kind == .ok, seen.header.serial == serial { break }
      }
    }
    #expect(try observer.next(.lost).header.serial == 0)
  }
}
