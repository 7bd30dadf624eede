// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

/// When what is posted is delivered, and what becomes of what waits for that.
@Suite("Posting styles", .timeLimit(.minutes(1)))
struct PostingStyleTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private func observer(of pattern: String, _ fields: Observe = Observe()) throws -> RawClient {
    let observer = try RawClient.greeted(bus)
    try observer.send(fields, serial: 1, name: pattern)
    _ = try observer.next(.ok)
    return observer
  }

  @Test("of one read, now comes first, then as soon as possible, then when idle, each in its order")
  func styles() throws {
    let observer = try observer(of: "a.*")
    let poster = try RawClient.greeted(bus)
    try poster.send {
      for number in 1...3 as ClosedRange<Serial> {
        $0.appendFrame(Post(style: .whenIdle), serial: 20 + number, name: "a.idle")
        $0.appendFrame(Post(style: .asSoonAsPossible), serial: 10 + number, name: "a.soon")
        $0.appendFrame(Post(options: number == 2 ? .immediately : []), serial: number, name: "a.now")
      }
    }
    #expect(try (0..<9).map { _ in try observer.next().header.serial } == [1, 2, 3, 11, 12, 13, 21, 22, 23])
    try observer.expectSilence()
  }

  @Test("what posters send in many reads arrives once, and each poster's of one style in order")
  func order() throws {
    let observer = try observer(of: "a.*")
    let posters = try (0..<3).map { _ in try RawClient.greeted(bus) }
    let styles = PostingStyle.allCases
    let count = 1200
    for start in stride(from: 0, to: count, by: 40) {
      for poster in posters {
        try poster.send {
          for number in start..<start + 40 {
            let style = styles[number * 7 % 11 % styles.count]
            $0.appendFrame(Post(style: style), serial: Serial(number), name: "a.s\(style.rawValue)")
          }
        }
      }
    }
    var last: [String: Serial] = [:]
    for _ in 0..<count * posters.count {
      let frame = try observer.next()
      let key = "\(frame.header.sender) \(frame.name)"
      if let last = last[key] { #expect(frame.header.serial > last) }
      last[key] = frame.header.serial
    }
    try observer.expectSilence()
  }

  @Test(
    "a bus that always has something to read delivers what waits for it to be idle, though its poster has gone"
  )
  func neverIdle() throws {
    let observer = try observer(of: "idle.*")
    // Names that are new to it take it longer than sending them.
    let load = ByteBuffer(capacity: 1 << 18)
    for number in 0..<4000 { load.appendFrame(Post(), serial: 1, name: "load.unit\(number)", text: "{}") }
    let bytes = [UInt8](load.bytes)
    try PostingThread.run(on: bus, unansweredMax: nil) { buffer, _ in
      buffer.append(bytes)
    } during: {
      let id: ConnectionID
      do {
        let (poster, welcome) = try RawClient.welcomed(bus)
        id = welcome.connection
        try poster.send(Post(style: .whenIdle), serial: 7, flags: .acknowledge, name: "idle.unit", text: "1")
        _ = try poster.next(.ok)
      }
      // Who has its place in the bus's tables now is not taken for it.
      let next = try RawClient.greeted(bus)
      let frame = try observer.next()
      #expect(frame.header.sender == id)
      #expect(frame.header.serial == 7)
      try next.expectSilence()
    }
  }

  @Test(
    "of what connections of one user have waiting, the last of a kind is delivered",
    arguments: [PostingStyle.asSoonAsPossible, .whenIdle])
  func coalescing(style: PostingStyle) throws {
    let observer = try observer(of: "a.*")
    let posters = try (0..<10).map { _ in try RawClient.welcomed(bus) }
    try bus.freeze()
    for (index, poster) in posters.enumerated() {
      try poster.client.send {
        $0.appendFrame(Post(style: style), serial: 1, name: "a.each", object: "\(index)")
        $0.appendFrame(
          Post(options: .coalesceByName, style: style), flags: .acknowledge, serial: 2, name: "a.last",
          object: "\(index)")
      }
    }
    bus.signal(SIGCONT)
    for poster in posters { _ = try poster.client.next(.ok) }
    let frames = try (0..<11).map { _ in try observer.next() }
    #expect(Set(frames.filter { $0.name == "a.each" }.map(\.object)) == Set((0..<10).map { "\($0)" }))
    let last = try #require(frames.last)
    #expect(last.name == "a.last")
    #expect(last.header.sender == posters[Int(last.object) ?? 0].welcome.connection)
    try observer.expectSilence()
  }

  @Test("a bus that ends delivers first what waits and what is held, and tells nobody that others have gone")
  func stopping() throws {
    let observer = try observer(of: "a.*")
    let suspended = try self.observer(of: "a.*", Observe(suspension: .hold))
    try suspended.send(Suspend(isSuspended: true), serial: 2)
    _ = try suspended.next(.ok)
    let awaited = try self.observer(of: "b", Observe(options: .awaited))
    let waiting = try RawClient.greeted(bus)
    try waiting.send(Post(options: .awaited), serial: 1, name: "b")
    _ = try awaited.next(.post)
    let poster = try RawClient.greeted(bus)
    try poster.send(Post(), serial: 1, name: "a.now")
    try poster.settle()
    try bus.freeze()
    try poster.send {
      $0.appendFrame(Post(style: .whenIdle), serial: 3, name: "a.idle")
      $0.appendFrame(Post(style: .asSoonAsPossible), serial: 2, name: "a.soon")
    }
    bus.signal(SIGTERM)
    bus.signal(SIGCONT)
    for client in [observer, suspended] {
      let frames = try client.readToEnd()
      #expect(frames.filter { $0.kind == .post }.map(\.header.serial) == [1, 2, 3])
      #expect(frames.last?.kind == .error)
    }
    #expect(try waiting.readToEnd().map(\.kind) == [.error])
    #expect(bus.waitForEnd() == 0)
  }
}
