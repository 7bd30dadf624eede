// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// Telling and observing, from one socket to the other.
@Suite("Notifications", .timeLimit(.minutes(2)))
struct NotificationTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  // MARK: Who receives

  @Test("a connection receives one copy, however many of its observations match")
  func oneCopy() throws {
    let observer = try RawClient.greeted(bus)
    for (index, pattern) in ["window.didClose", "window.*", "**", "", "window.**"].enumerated() {
      try observer.observe(pattern, serial: Serial(index + 1))
    }
    try observer.observe("window.didClose", object: "window/42", serial: 6)
    let other = try RawClient.greeted(bus)
    try other.observe("window.didClose", serial: 1)
    let poster = try RawClient.greeted(bus)
    try poster.send(Post(), serial: 1, name: "window.didClose", object: "window/42", text: "{}")
    try poster.send(Post(), serial: 2, name: "window.didOpen")
    #expect(try observer.next().header.serial == 1)
    #expect(try observer.next().header.serial == 2)
    #expect(try other.next().header.serial == 1)
  }

  @Test("an observation with an object receives those of that object alone, one without receives all")
  func objects() throws {
    let any = try RawClient.greeted(bus)
    try any.observe("unit.*", serial: 1)
    let one = try RawClient.greeted(bus)
    try one.observe("unit.*", object: "unit/ü.service", serial: 1)
    let poster = try RawClient.greeted(bus)
    let objects = ["", "unit/u.service", "unit/ü.service", "unit/ü", "unit/ü.service2"]
    for (index, object) in objects.enumerated() {
      try poster.send(Post(), serial: Serial(index), name: "unit.didStart", object: object)
    }
    try poster.settle()
    for object in objects { #expect(try any.next().object == object) }
    #expect(try one.next().object == "unit/ü.service")
    try one.settle()
  }

  @Test("a poster that observes what it posts receives it, too")
  func ownNotifications() throws {
    let (client, welcome) = try RawClient.welcomed(bus)
    try client.observe("a.*", serial: 1)
    try client.send(Post(), serial: 2, flags: .acknowledge, name: "a.b", text: "mine")
    // The confirmation comes before it or after it.
    let frames = [try client.next(), try client.next()]
    let post = try #require(frames.first { $0.kind == .post })
    #expect(post.header.sender == welcome.connection)
    #expect(post.payload == "mine")
    #expect(frames.contains { $0.kind == .ok && $0.header.serial == 2 })
  }

  @Test("an observation that is taken back receives nothing more, and the others go on")
  func cancelledObservation() throws {
    let observer = try RawClient.greeted(bus)
    try observer.observe("a.*", serial: 1)
    try observer.observe("b.*", serial: 2)
    let poster = try RawClient.greeted(bus)
    try poster.send(Post(), serial: 1, name: "a.first")
    #expect(try observer.next().name == "a.first")
    try observer.send(Cancel(target: 1), serial: 3)
    #expect(try observer.next(.ok).header.serial == 3)
    try poster.send(Post(), serial: 2, name: "a.second")
    try poster.send(Post(), serial: 3, name: "b.first")
    #expect(try observer.next().name == "b.first")
    try observer.send(Cancel(target: 1), serial: 4)
    #expect(try observer.nextError() == .notFound)
  }

  @Test("what is sent behind an observation meets it, without waiting for the bus")
  func pipelined() throws {
    let client = try RawClient(bus)
    try client.send {
      Hello().append(to: $0)
      $0.appendFrame(Observe(), serial: 1, name: "a.b")
      $0.appendFrame(Post(), serial: 2, name: "a.b")
      $0.appendFrame(Cancel(target: 1), serial: 3)
      $0.appendFrame(Post(), flags: .acknowledge, serial: 4, name: "a.b")
    }
    _ = try client.readHello()
    let frames = try (0..<5).map { _ in try client.next() }
    #expect(frames.map(\.kind) == [.welcome, .ok, .post, .ok, .ok])
    #expect(frames.map(\.header.serial) == [0, 1, 2, 3, 4])
  }

  // MARK: What they receive

  @Test("the sender is whom the bus knows, whoever the poster says that it is")
  func stampedSender() throws {
    let (observer, observerWelcome) = try RawClient.welcomed(bus)
    try observer.observe(serial: 1)
    let (poster, welcome) = try RawClient.welcomed(bus)
    for (index, forged) in [ConnectionID.bus, observerWelcome.connection, .init(rawValue: .max)].enumerated()
    {
      try poster.post("a.b", bytes: [], serial: Serial(index), sender: forged)
      let frame = try observer.next()
      #expect(frame.header.sender == welcome.connection)
      #expect(frame.header.serial == Serial(index))
    }
  }

  /// Bytes that look like text, like a frame and like nothing.
  static let payloads: [[UInt8]] = [
    [], [0], Array(0...255), Array("{\"offset\": 1.5}".utf8), [0xFF, 0xFE, 0xC0, 0x80, 0xED, 0xA0, 0x80],
    Array(repeating: 0, count: 4096), Array(repeating: 0xF1, count: 65_536),
    (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) },
  ]

  @Test("userInfo arrives as it was sent, whatever its bytes", arguments: payloads)
  func userInfo(bytes: [UInt8]) throws {
    let observer = try RawClient.greeted(bus)
    try observer.observe("a.b", serial: 1)
    let (poster, welcome) = try RawClient.welcomed(bus)
    try poster.post("a.b", object: "o", bytes: bytes, serial: 77)
    let frame = try observer.next()
    #expect(frame.payloadBytes == bytes)
    // All of the frame is the poster's, but for the sender.
    let expected = ByteBuffer(capacity: 64)
    expected.appendHead(
      of: Post(), sender: welcome.connection, serial: 77, nameLength: 3, objectLength: 1,
      payloadLength: bytes.count)
    expected.append("a.b")
    expected.append("o")
    expected.append(bytes)
    #expect(frame.bytes == [UInt8](expected.bytes))
  }

  @Test("the longest userInfo that a bus takes unless it is set otherwise arrives, at every observer")
  func longestUserInfo() throws {
    let observers = try (0..<2).map { _ in
      let observer = try RawClient.greeted(bus)
      try observer.observe("a.b", serial: 1)
      return observer
    }
    let (poster, welcome) = try RawClient.welcomed(bus)
    #expect(welcome.payloadMax == 16 << 20)
    let bytes = (0..<16 << 20).map { UInt8(truncatingIfNeeded: $0 >> 4) }
    try poster.post("a.b", bytes: bytes, serial: 1)
    for observer in observers {
      let frame = try observer.next()
      #expect(frame.kind == .post)
      #expect(frame.payloadBytes == bytes)
    }
  }

  // MARK: Order

  @Test("what one poster sends arrives in that order, however long each is", arguments: [1, 2, 3])
  func order(seed: Int) throws {
    // As much as this test sends may wait: that notifications are dropped is told elsewhere.
    let bus = try TestBus(configuration: "[Queue]\nHighMark=512M\nHardLimit=1G\n")
    let observer = try RawClient.greeted(bus)
    try observer.observe("load.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    // Around the lengths of a read, of a buffer and of a frame that gets a buffer of its own.
    let lengths = [0, 1, 100, 4_000, 16_350, 16_384, 40_000, 65_500, 65_536, 131_072, 700_000, 1 << 20]
    var length = seed
    for serial in 1...200 {
      length = (length * 5 + 7 * seed) % lengths.count
      let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: serial), count: lengths[length] + serial % 3)
      try poster.post("load.unit\(serial % 3)", bytes: bytes, serial: Serial(serial))
    }
    for serial in 1...200 {
      let frame = try observer.next()
      #expect(frame.kind == .post)
      #expect(frame.header.serial == Serial(serial))
      #expect(frame.payloadBytes.allSatisfy { $0 == UInt8(truncatingIfNeeded: serial) })
    }
  }

  @Test("should, will and did of one action come in that order, to delegates and to observers")
  func actionOrder() throws {
    let delegate = try RawClient.greeted(bus)
    try delegate.attach(Attach(patterns: ["window.shouldClose"]), object: "window/42", serial: 1)
    try delegate.observe("window.*", object: "window/42", serial: 2)
    let observer = try RawClient.greeted(bus)
    try observer.observe("window.*", serial: 1)
    let actor = try RawClient.greeted(bus)
    for round in 0..<20 {
      let serial = Serial(round * 3)
      try actor.send(Ask(), serial: serial + 1, name: "window.shouldClose", object: "window/42")
      let (_, question) = try delegate.nextQuestion()
      try delegate.answer(question, .approve)
      #expect(try actor.nextVerdict().verdict == .allowed)
      try actor.send(Post(), serial: serial + 2, name: "window.willClose", object: "window/42")
      try actor.send(Post(), serial: serial + 3, name: "window.didClose", object: "window/42")
      #expect(try delegate.next().kind == .concluded)
      for client in [delegate, observer] {
        #expect(try client.next().name == "window.willClose")
        #expect(try client.next().name == "window.didClose")
      }
    }
  }

  @Test("posters do not mix each other's frames, and each keeps its own order")
  func manyPosters() throws {
    let observer = try RawClient.greeted(bus)
    try observer.observe("load.*", serial: 1)
    let posters = try (0..<8).map { _ in try RawClient.welcomed(bus) }
    for serial in 1...50 {
      for (index, poster) in posters.enumerated() {
        let bytes = [UInt8](repeating: UInt8(index), count: 500 * index)
        try poster.client.post("load.unit", bytes: bytes, serial: Serial(serial))
      }
    }
    var last: [ConnectionID: Serial] = [:]
    for _ in 0..<50 * posters.count {
      let frame = try observer.next()
      #expect(frame.header.serial == last[frame.header.sender, default: 0] + 1)
      last[frame.header.sender] = frame.header.serial
      let index = try #require(posters.firstIndex { $0.welcome.connection == frame.header.sender })
      #expect(frame.payloadBytes == [UInt8](repeating: UInt8(index), count: 500 * index))
    }
    #expect(last.count == posters.count)
  }
}
