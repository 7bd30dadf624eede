// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Notifications", .timeLimit(.minutes(15)))
struct NotificationTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test("the bus stamps the sender, whatever the poster claims")
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

  @Test("a bus that is never idle still delivers idle posts, even after their poster left")
  func neverIdle() throws {
    let observer = try RawClient.observing("idle.*", on: bus)
    let bytes = RawClient.bytes { load in
      for number in 0..<4000 { load.appendFrame(Post(), serial: 1, name: "load.unit\(number)", text: "{}") }
    }
    try PostingThread.run(on: bus, unansweredMax: nil) { buffer, _ in
      buffer.append(bytes)
    } during: {
      let (poster, welcome) = try RawClient.welcomed(bus)
      try poster.sendConfirmed(Post(style: .whenIdle), serial: 7, name: "idle.unit", text: "1")
      try poster.leave()
      let frame = try observer.next()
      #expect((frame.header.sender, frame.header.serial) == (welcome.connection, 7))
    }
  }

  static let payloads: [[UInt8]] = [
    [], [0], Array(0...255), Array("{\"offset\": 1.5}".utf8), [0xFF, 0xFE, 0xC0, 0x80, 0xED, 0xA0, 0x80],
    Array(repeating: 0, count: 4096), Array(repeating: 0xF1, count: 65_536),
    (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) },
    SharedFile.bytes(16 << 20),
  ]

  @Test("userInfo arrives unchanged, whatever its bytes", arguments: payloads.indices)
  func userInfo(index: Int) throws {
    let bytes = Self.payloads[index]
    let observers = try (0..<2).map { _ in try RawClient.observing("a.b", on: bus) }
    let (poster, welcome) = try RawClient.welcomed(bus)
    #expect(welcome.payloadMax == 16 << 20)
    try poster.post("a.b", object: "o", bytes: bytes, serial: 77)
    let expected = RawClient.bytes {
      $0.appendHead(
        of: Post(), sender: welcome.connection, serial: 77, nameLength: 3, objectLength: 1,
        payloadLength: bytes.count)
      $0.append("a.bo")
      $0.append(bytes)
    }
    for observer in observers { #expect(try observer.next().bytes == expected) }
  }

  @Test("one poster's notifications arrive in order, whatever their lengths", arguments: [1, 2, 3])
  func order(seed: Int) throws {
    let bus = try TestBus(configuration: "[Queue]\nHighMark=512M\nHardLimit=1G\n")
    let observer = try RawClient.observing("load.*", on: bus)
    let poster = try RawClient.greeted(bus)
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

  @Test(
    "of the posts in one read, immediate ones come first, then those for soon, then those for an idle bus")
  func styles() throws {
    let observer = try RawClient.observing("a.*", on: bus)
    let poster = try RawClient.greeted(bus)
    var orders: [[Serial]] = []
    // On a busy machine, a user's share of an iteration can end within the posts.
    repeat {
      try poster.send {
        for number in 1...3 as ClosedRange<Serial> {
          $0.appendFrame(Post(style: .whenIdle), serial: 20 + number, name: "a.idle")
          $0.appendFrame(Post(style: .asSoonAsPossible), serial: 10 + number, name: "a.soon")
          $0.appendFrame(Post(options: number == 2 ? .immediately : []), serial: number, name: "a.now")
        }
      }
      orders.append(try (0..<9).map { _ in try observer.next().header.serial })
    } while orders.last != [1, 2, 3, 11, 12, 13, 21, 22, 23] && orders.count < 10
    #expect(orders.last == [1, 2, 3, 11, 12, 13, 21, 22, 23], "\(orders)")
    try observer.expectSilence()
  }
}
