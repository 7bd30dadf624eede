// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("The frame header", .timeLimit(.minutes(15)))
struct FrameHeaderTests {
  struct Lengths: Sendable {
    var frame: UInt32
    var fields: UInt32 = 0
    var name: UInt8 = 0
    var object: UInt8 = 0

    var header: [UInt8] {
      let buffer = ByteBuffer { FrameHeader(kind: .post, serial: 1).append(to: $0) }
      buffer.store(frame, at: 0)
      buffer.store(name, at: 6)
      buffer.store(object, at: 7)
      buffer.store(fields, at: 24)
      return buffer.array
    }
  }

  private static let limits = FrameLimits(fields: 100, payload: 1000)

  @Test(
    "Lengths up to the limits are accepted",
    arguments: [
      Lengths(frame: 32), Lengths(frame: 33, name: 1), Lengths(frame: 32 + 255 + 255, name: 255, object: 255),
      Lengths(frame: 132, fields: 100), Lengths(frame: 1032),
      Lengths(frame: 32 + 100 + 255 + 255 + 1000, fields: 100, name: 255, object: 255),
    ])
  func withinLimits(_ lengths: Lengths) throws {
    let header = try #require(try FrameHeader(lengths.header.raw, at: 0, limits: Self.limits))
    #expect(header.frameLength == Int(lengths.frame))
    #expect(header.nameStart == 32 + Int(lengths.fields))
    #expect(header.objectStart == header.nameStart + Int(lengths.name))
    #expect(header.payloadStart == header.objectStart + Int(lengths.object))
    #expect(header.payloadStart + header.payloadLength == header.frameLength)
  }

  @Test(
    "A frame that is shorter than its parts is malformed",
    arguments: [
      Lengths(frame: 0), Lengths(frame: 1), Lengths(frame: 31), Lengths(frame: 32, name: 1),
      Lengths(frame: 32, object: 1), Lengths(frame: 32, fields: 1), Lengths(frame: 131, fields: 100),
      Lengths(frame: 32 + 3, fields: 1, name: 1, object: 2), Lengths(frame: 31, fields: .max),
      Lengths(frame: .max, fields: .max), Lengths(frame: .max, fields: .max, name: .max, object: .max),
    ])
  func contradictoryLengths(_ lengths: Lengths) {
    #expect(
      refusal { () throws(WireError) in
        _ = try FrameHeader(lengths.header.raw, at: 0, limits: .fromBus)
      } == .malformedFrame)
  }

  @Test(
    "A length past its limit is refused before the frame has arrived",
    arguments: [
      Lengths(frame: 133, fields: 101), Lengths(frame: 1033), Lengths(frame: .max), Lengths(frame: 1 << 31),
      Lengths(frame: 1033 + 100, fields: 100), Lengths(frame: .max, fields: .max - 32),
      Lengths(frame: 32 + 255 + 255 + 1001, name: 255, object: 255),
    ])
  func pastLimits(_ lengths: Lengths) {
    #expect(
      refusal { () throws(WireError) in
        _ = try FrameHeader(lengths.header.raw, at: 0, limits: Self.limits)
      } == .frameTooLong)
  }

  @Test("A client accepts the longest monitored frame from the bus")
  func longestTraffic() throws {
    let monitored = FrameHeader(
      kind: .post, serial: 1, fieldsLength: WireLimits.fieldsLength, nameLength: 255, objectLength: 255,
      payloadLength: WireLimits.payloadLengthCeiling)
    let traffic = FrameHeader(
      kind: .traffic, serial: 1, fieldsLength: 28, payloadLength: monitored.frameLength)
    let buffer = ByteBuffer { traffic.append(to: $0) }
    #expect(try FrameHeader(buffer.bytes, at: 0, limits: .fromBus) == traffic)
  }

  @Test("Unknown kinds and flags are read, and kinds are known or not")
  func unknownKinds() throws {
    var known: Set<UInt8> = []
    for number in UInt8.min ... .max {
      var bytes = Lengths(frame: 32).header
      bytes[4] = number
      bytes[5] = ~number
      let header = try #require(try FrameHeader(bytes.raw, at: 0, limits: Self.limits))
      #expect(header.rawKind == number)
      #expect(header.flags.rawValue == ~number)
      #expect(header.flags.contains(.critical) == (number < 0x80))
      if header.kind != nil { known.insert(number) }
    }
    #expect(known == Set(1...33))
  }

  @Test("The last four bytes of a header are ignored")
  func reservedBytes() throws {
    var bytes = Lengths(frame: 32).header
    bytes.replaceSubrange(28..<32, with: [1, 2, 3, 4])
    #expect(try FrameHeader(bytes.raw, at: 0, limits: Self.limits) == FrameHeader(kind: .post, serial: 1))
  }

  @Test("A header can start at any offset")
  func offset() throws {
    let bytes = [9, 9, 9] + Lengths(frame: 32).header
    #expect(try FrameHeader(bytes.raw, at: 3, limits: Self.limits) == FrameHeader(kind: .post, serial: 1))
    #expect(try FrameHeader(bytes.raw, at: 4, limits: Self.limits) == nil)
    #expect(try FrameHeader(bytes.raw, at: bytes.count, limits: Self.limits) == nil)
  }

  @Test("Writing a header with a name or object that is too long stops the process")
  func tooLongToSay() async {
    await #expect(processExitsWith: .failure) { _ = FrameHeader(kind: .post, serial: 1, nameLength: 256) }
    await #expect(processExitsWith: .failure) { _ = FrameHeader(kind: .post, serial: 1, objectLength: 256) }
  }

  @Test("A view with another length than its frame stops the process")
  func wrongView() async {
    await #expect(processExitsWith: .failure) {
      let bytes = ByteBuffer { FrameHeader(kind: .post, serial: 1).append(to: $0) }
      bytes.append(UInt8(0))
      _ = FrameView(FrameHeader(kind: .post, serial: 1), bytes.bytes).header
    }
  }
}

@Suite("Connection ids", .timeLimit(.minutes(15)))
struct ConnectionIDTests {
  @Test(
    "Are digits, with or without a colon before them",
    arguments: [
      (":7", 7), ("7", 7), (":0", 0), (":18446744073709551615", .max), ("", nil), (":", nil), ("::7", nil),
      (":-0", nil), (":+7", nil), ("-1", nil), ("+7", nil), (" 7", nil), ("7 ", nil), (":7:", nil),
      ("7a", nil), ("0x7", nil), ("٧", nil), (":18446744073709551616", nil),
    ] as [(String, UInt64?)])
  func digits(_ text: String, _ number: UInt64?) { #expect(ConnectionID(text)?.rawValue == number) }
}
