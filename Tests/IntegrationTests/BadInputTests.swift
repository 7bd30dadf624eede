// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// What a peer sends wrong gets a typed error, and nobody else notices.
@Suite("Bad input", .timeLimit(.minutes(2)))
struct BadInputTests {
  /// A header with whatever is asked for in it, true or not.
  private static func header(
    length: UInt32, kind: UInt8 = 4, flags: UInt8 = 0, nameLength: UInt8 = 0, fieldsLength: UInt32 = 0
  ) -> [UInt8] {
    let buffer = ByteBuffer(capacity: 32)
    buffer.append(length)
    buffer.append([kind, flags, nameLength, 0])
    buffer.append(UInt64(0))
    buffer.append(UInt64(7))
    buffer.append(fieldsLength)
    buffer.append(UInt32(0))
    return [UInt8](buffer.bytes)
  }

  /// Whether the bus still serves somebody else.
  private func expectService(_ bus: TestBus) throws {
    let other = try RawClient.greeted(bus)
    try other.settle()
  }

  @Test(
    "a peer that speaks something else is told, closed and logged",
    arguments: ["GET / HTTP/1.1\r\n\r\n", "\0AUTH EXTERNAL 30\r\n", "\u{F1}", "{\"method\":\"x\"}\0"])
  func badMagic(opening: String) throws {
    let bus = try TestBus()
    let client = try RawClient(bus)
    try client.send(Array(opening.utf8))
    _ = try client.readHello()
    #expect(try client.nextError() == .badMagic)
    #expect(try client.readToEnd().isEmpty)
    #expect(try bus.log().contains("no Tribune hello"))
    try expectService(bus)
  }

  @Test("an unknown version is told, with the versions that are spoken")
  func unknownVersion() throws {
    let bus = try TestBus()
    let client = try RawClient(bus)
    try client.send { Hello(version: 9, minimumVersion: 7).append(to: $0) }
    #expect(try client.readHello() == Hello(capabilities: .descriptors))
    let error = try client.next(.error)
    #expect(try error.decode(Refusal.self).code == .unsupportedVersion)
    #expect(error.payload.contains("versions 7 to 9"))
    #expect(try client.readToEnd().isEmpty)
  }

  @Test("a newer peer that also speaks this version is welcome")
  func newerPeer() throws {
    let bus = try TestBus()
    let client = try RawClient(bus)
    try client.send { Hello(version: 9, minimumVersion: 1).append(to: $0) }
    _ = try client.readHello()
    #expect(try client.next().kind == .welcome)
  }

  @Test(
    "lengths that cannot be end the connection before anything is allocated for them",
    arguments: [
      (header(length: .max), ErrorCode.frameTooLong),
      (header(length: 32 + (16 << 20) + 1), .frameTooLong),
      (header(length: .max, fieldsLength: .max - 64), .frameTooLong),
      (header(length: 80_000, kind: 7, fieldsLength: 70_000), .frameTooLong),
      (header(length: 0), .malformedFrame),
      (header(length: 31), .malformedFrame),
      (header(length: 40, nameLength: 9), .malformedFrame),
      (header(length: 40, fieldsLength: 9), .malformedFrame),
      (header(length: 40, fieldsLength: .max), .malformedFrame),
    ])
  func impossibleLengths(bytes: [UInt8], code: ErrorCode) throws {
    let bus = try TestBus()
    let client = try RawClient.greeted(bus)
    let before = try bus.processStatus("VmData")
    try client.send(bytes)
    let error = try client.next(.error)
    #expect(try error.decode(Refusal.self).code == code)
    #expect(error.header.serial == 0)
    #expect(try client.readToEnd().isEmpty)
    // Room for a thread's stack, and not for the shortest payload that is too long.
    #expect(try bus.processStatus("VmData") - before < 15 * 1024)
    try expectService(bus)
  }

  @Test("a payload over the limit that the welcome announced is refused, one at the limit is not")
  func payloadLimit() throws {
    let bus = try TestBus(configuration: "[Bus]\nPayloadMax=64K\n")
    let (client, welcome) = try RawClient.welcomed(bus)
    #expect(welcome.payloadMax == 65_536)
    let most = String(repeating: "x", count: 65_536)
    try client.send(Post(), serial: 1, flags: .acknowledge, name: "a.b", text: most)
    #expect(try client.next().kind == .ok)
    try client.send(Post(), serial: 2, flags: .acknowledge, name: "a.b", text: most + "x")
    #expect(try client.nextError() == .frameTooLong)
    #expect(try client.readToEnd().isEmpty)
  }

  @Test("what is refused is refused under the serial of its frame, and the connection goes on")
  func refusals() throws {
    let bus = try TestBus()
    let client = try RawClient.greeted(bus)
    try client.send(Post(), serial: 1, name: "a..b")
    try client.send(Post(), serial: 2, name: "a.b", object: "a\u{9B}b")
    try client.send(Post(), serial: 3, name: "tribune.connected")
    try client.send(List(.chain), serial: 4, name: "a.*")
    try client.send(Observe(), serial: 5, name: "a*")
    try client.send(
      Defer(query: QueryID(rawValue: 1), delegate: DelegateID(rawValue: 1), extension: 10), serial: 6)
    try client.send(Cancel(target: 77), serial: 7)
    let codes: [ErrorCode] = [
      .invalidName, .invalidObject, .reservedName, .invalidName, .invalidPattern, .notAsked, .notFound,
    ]
    for (serial, code) in zip(Serial(1)..., codes) {
      let error = try client.next(.error)
      #expect(error.header.serial == serial)
      #expect(try error.decode(Refusal.self).code == code)
    }
    try client.settle()
  }

  @Test("an unknown kind is refused, and ends the connection only when it is critical")
  func unknownKinds() throws {
    let bus = try TestBus()
    let client = try RawClient.greeted(bus)
    try client.send(Self.header(length: 32, kind: 200))
    #expect(try client.nextError() == .unknownKind)
    // What only the bus sends is no better.
    try client.send(Lost(count: 3), serial: 1)
    #expect(try client.nextError() == .unknownKind)
    try client.settle()
    try client.send(Self.header(length: 32, kind: 200, flags: FrameFlags.critical.rawValue))
    #expect(try client.nextError() == .unknownCriticalKind)
    #expect(try client.readToEnd().isEmpty)
  }

  @Test(
    "fields that end early end the connection",
    arguments: [FrameKind.attach, .ask, .answer, .defer, .cancel, .list])
  func truncatedFields(kind: FrameKind) throws {
    let bus = try TestBus()
    let client = try RawClient.greeted(bus)
    try client.send(Self.header(length: 33, kind: kind.rawValue, fieldsLength: 1) + [0])
    #expect(try client.nextError() == .malformedFrame)
    #expect(try client.readToEnd().isEmpty)
    try expectService(bus)
  }

  @Test("a number that stands for nothing is refused, and the connection goes on")
  func unknownValues() throws {
    let bus = try TestBus()
    let client = try RawClient.greeted(bus)
    try client.send(
      Self.header(length: 41, kind: FrameKind.list.rawValue, fieldsLength: 9) + [99]
        + Array(repeating: 0, count: 8))
    #expect(try client.nextError() == .invalidValue)
    try client.settle()
  }

  @Test("a frame cut off by its sender's end is forgotten")
  func truncatedFrame() throws {
    let bus = try TestBus()
    let observer = try RawClient.observing(on: bus)
    do {
      let client = try RawClient.greeted(bus)
      try client.send {
        $0.appendFrame(Post(), serial: 1, name: "a.whole")
        $0.appendFrame(Post(), serial: 2, name: "a.cut")
        $0.truncate(to: $0.count - 1)
      }
    }
    #expect(try observer.next().name == "a.whole")
    try expectService(bus)
    #expect(try observer.next().name == "test.settled")
  }

  @Test("a frame that arrives byte by byte is the same frame")
  func byteByByte() throws {
    let bus = try TestBus()
    let client = try RawClient(bus)
    let bytes = ByteBuffer(capacity: 256)
    Hello().append(to: bytes)
    bytes.appendFrame(Observe(), serial: 1)
    bytes.appendFrame(Post(), serial: 2, name: "a.b", object: "o", text: "payload")
    for byte in [UInt8](bytes.bytes) { try client.send([byte]) }
    _ = try client.readHello()
    let post = try client.next(.post)
    #expect(post.name == "a.b")
    #expect(post.object == "o")
    #expect(post.payload == "payload")
  }

  @Test("half a frame for ever ends its connection, half a hello too")
  func halfAFrame() throws {
    let bus = try TestBus(configuration: "[Bus]\nHelloTimeoutSec=50ms\nFrameTimeoutSec=50ms\n")
    let silent = try RawClient(bus)
    try silent.send([0xF1, 0x54])
    _ = try silent.readHello()
    #expect(try silent.nextError() == .helloTimeout)
    #expect(try silent.readToEnd().isEmpty)

    let half = try RawClient.greeted(bus)
    try half.send(Array(Self.header(length: 4096, nameLength: 3).prefix(20)))
    #expect(try half.nextError() == .frameTimeout)
    #expect(try half.readToEnd().isEmpty)
    try expectService(bus)
  }

  @Test("a timeout that a reload has shortened is not kept waiting by one that began before")
  func shortenedTimeout() throws {
    let bus = try TestBus(configuration: "[Bus]\nFrameTimeoutSec=1h\n")
    let half = Array(Self.header(length: 4096, nameLength: 3).prefix(20))
    let patient = try RawClient.greeted(bus)
    try patient.send(half)
    try expectService(bus)
    try bus.reload("[Bus]\nFrameTimeoutSec=50ms\n")
    let hasty = try RawClient.greeted(bus)
    try hasty.send(half)
    #expect(try hasty.nextError() == .frameTimeout)
    try expectService(bus)
  }

  @Test("a long frame that never ends holds no more memory than it has sent")
  func longUnfinishedFrames() throws {
    let bus = try TestBus(configuration: "[Bus]\nPartialFramesMemoryMax=40M\n")
    let before = try bus.privateMemory()
    let long = Self.header(length: 16 << 20, nameLength: 3) + Array("a.b".utf8)
    let first = try RawClient.greeted(bus)
    let second = try RawClient.greeted(bus)
    try first.send(long)
    try second.send(long)
    try expectService(bus)
    #expect(try bus.privateMemory() - before < 4096)
    let third = try RawClient.greeted(bus)
    try third.send(long)
    #expect(try third.nextError() == .outOfMemory)
    #expect(try third.readToEnd().isEmpty)
    try expectService(bus)
  }

  @Test("long frames that never end keep nobody from sending short ones in pieces")
  func shortFramesInPieces() throws {
    let bus = try TestBus(configuration: "[Bus]\nPartialFramesMemoryMax=64K\n")
    let long = try RawClient.greeted(bus)
    try long.send(Self.header(length: 64 << 10, nameLength: 3) + Array("a.b".utf8))
    try expectService(bus)
    let post = ByteBuffer(capacity: 4096)
    post.appendFrame(
      Post(), flags: .acknowledge, serial: 7, name: "a.b", text: String(repeating: "x", count: 3000))
    let bytes = [UInt8](post.bytes)
    let other = try RawClient.greeted(bus)
    try other.send(Array(bytes[..<2900]))
    try expectService(bus)
    try other.send(Array(bytes[2900...]))
    #expect(try other.next().header.serial == 7)
    let another = try RawClient.greeted(bus)
    try another.send(Self.header(length: 64 << 10, nameLength: 3) + Array("a.b".utf8))
    #expect(try another.nextError() == .outOfMemory)
  }

  @Test("a frame that comes drop by drop and never ends, ends its connection all the same")
  func drippingFrame() throws {
    let bus = try TestBus(configuration: "[Bus]\nFrameTimeoutSec=100ms\n")
    let client = try RawClient.greeted(bus)
    try client.send(Self.header(length: 16 << 20, nameLength: 3))
    #expect(throws: (any Error).self) {
      while true { try client.send([0x61]) }
    }
    #expect(try bus.log().contains("did not come in time"))
    try expectService(bus)
  }
}
