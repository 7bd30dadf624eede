// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Bad input", .timeLimit(.minutes(15)))
struct BadInputTests {
  private static func header(
    length: UInt32, kind: UInt8 = 4, nameLength: UInt8 = 0, fieldsLength: UInt32 = 0
  ) -> [UInt8] {
    let buffer = ByteBuffer(capacity: 32)
    buffer.append(length)
    buffer.append([kind, 0, nameLength, 0])
    buffer.append(UInt64(0))
    buffer.append(UInt64(7))
    buffer.append(fieldsLength)
    buffer.append(UInt32(0))
    return [UInt8](buffer.bytes)
  }

  @Test("an unknown version is refused, with the versions that the bus speaks")
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

  @Test(
    "impossible lengths end the connection before the bus allocates anything for them",
    arguments: [
      (header(length: .max), .frameTooLong), (header(length: 32 + (16 << 20) + 1), .frameTooLong),
      (header(length: .max, fieldsLength: .max - 64), .frameTooLong), (header(length: 31), .malformedFrame),
      (header(length: 33, kind: FrameKind.attach.rawValue, fieldsLength: 1) + [0], .malformedFrame),
    ] as [([UInt8], ErrorCode)])
  func lengths(bytes: [UInt8], code: ErrorCode) throws {
    let bus = try TestBus()
    let client = try RawClient.greeted(bus)
    let before = try bus.processStatus("VmData")
    try client.send(bytes)
    let error = try client.next(.error)
    #expect(try error.decode(Refusal.self).code == code)
    #expect(error.header.serial == 0)
    #expect(try client.readToEnd().isEmpty)
    // Enough for a thread's stack, but not for the shortest payload over the limit.
    #expect(try bus.processStatus("VmData") - before < 15 * 1024)
    try RawClient.greeted(bus).settle()
  }

  @Test("a payload over the limit in the welcome is refused, one at the limit is not")
  func payloadLimit() throws {
    let bus = try TestBus(configuration: "[Bus]\nPayloadMax=64K\n")
    let (client, welcome) = try RawClient.welcomed(bus)
    #expect(welcome.payloadMax == 65_536)
    let most = String(repeating: "x", count: 65_536)
    try client.send(Post(), serial: 1, flags: .acknowledge, name: "a.b", text: most)
    #expect(try client.next().kind == .ok)
    try client.send(Post(), serial: 2, flags: .acknowledge, name: "a.b", text: most + "x")
    try client.expectClosed(with: .frameTooLong)
  }

  @Test("an error carries the serial of the refused frame, and the connection goes on")
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

  @Test("a timeout that a reload shortened does not wait for an older, longer one")
  func shortenedTimeout() throws {
    let bus = try TestBus(configuration: "[Bus]\nFrameTimeoutSec=1h\n")
    let half = Array(Self.header(length: 4096, nameLength: 3).prefix(20))
    let patient = try RawClient.greeted(bus)
    try patient.send(half)
    try RawClient.greeted(bus).settle()
    try bus.reload("[Bus]\nFrameTimeoutSec=50ms\n")
    let hasty = try RawClient.greeted(bus)
    try hasty.send(half)
    try hasty.expectClosed(with: .frameTimeout)
    try RawClient.greeted(bus).settle()
  }

  @Test("a long frame that never ends takes no more memory than the client has sent")
  func longUnfinishedFrames() throws {
    let bus = try TestBus(configuration: "[Bus]\nPartialFramesMemoryMax=40M\n")
    let before = try bus.privateMemory()
    let long = Self.header(length: 16 << 20, nameLength: 3) + Array("a.b".utf8)
    let first = try RawClient.greeted(bus)
    let second = try RawClient.greeted(bus)
    try first.send(long)
    try second.send(long)
    try RawClient.greeted(bus).settle()
    #expect(try bus.privateMemory() - before < 4096)
    let third = try RawClient.greeted(bus)
    try third.send(long)
    try third.expectClosed(with: .outOfMemory)
    try RawClient.greeted(bus).settle()
  }

  @Test("long frames that never end do not keep others from sending short frames in parts")
  func shortFramesInPieces() throws {
    let bus = try TestBus(configuration: "[Bus]\nPartialFramesMemoryMax=64K\n")
    let long = try RawClient.greeted(bus)
    try long.send(Self.header(length: 64 << 10, nameLength: 3) + Array("a.b".utf8))
    try RawClient.greeted(bus).settle()
    let text = String(repeating: "x", count: 3000)
    let bytes = RawClient.bytes {
      $0.appendFrame(Post(), flags: .acknowledge, serial: 7, name: "a.b", text: text)
    }
    let other = try RawClient.greeted(bus)
    try other.send(Array(bytes[..<2900]))
    try RawClient.greeted(bus).settle()
    try other.send(Array(bytes[2900...]))
    #expect(try other.next().header.serial == 7)
    let another = try RawClient.greeted(bus)
    try another.send(Self.header(length: 64 << 10, nameLength: 3) + Array("a.b".utf8))
    #expect(try another.nextError() == .outOfMemory)
  }

  @Test("a frame that arrives byte by byte and never ends also ends its connection")
  func drippingFrame() throws {
    let bus = try TestBus(configuration: "[Bus]\nFrameTimeoutSec=100ms\n")
    let client = try RawClient.greeted(bus)
    try client.send(Self.header(length: 16 << 20, nameLength: 3))
    #expect(throws: (any Error).self) {
      while true { try client.send([0x61]) }
    }
    #expect(try bus.log().contains("did not come in time"))
    try RawClient.greeted(bus).settle()
  }
}
