// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Golden frames", .timeLimit(.minutes(15)))
struct FrameVectorTests {
  @Test("Every kind of frame has a vector, and every vector has an expectation")
  func coverage() throws {
    #expect(Set(FrameVector.all.map(\.kind)) == Set(FrameKind.allCases))
    let expected = Set(FrameVector.all.map(\.file)).union(HelloTests.vectors)
    #expect(try Vector.names() == expected)
  }

  @Test("A hold that is taken again keeps its holder, and is not the last frame of its connection")
  func renewal() {
    let units = PeerUnits(system: "apt.service")
    let holder = PeerIdentity(pid: 42, uid: 1, gid: 1, process: "dpkg", units: units)
    let hold = Hold(expiry: 7, label: "logind:dpkg", isLast: true, holder: holder)
    #expect(hold.renewal == Hold(expiry: 7, label: "logind:dpkg", holder: holder))
  }

  @Test("The expectation of a vector is encoded as its bytes", arguments: FrameVector.all)
  func encoding(_ vector: FrameVector) throws { #expect(try vector.encoded().hex == vector.bytes().hex) }

  @Test(
    "A vector is decoded as expected once its last byte has arrived, not before", arguments: FrameVector.all)
  func byteByByte(_ vector: FrameVector) throws {
    let bytes = try vector.bytes()
    var assembler = FrameAssembler()
    for (index, byte) in bytes.enumerated() {
      assembler.append([byte])
      let header = try FrameHeader(assembler.buffer.bytes, at: 0, limits: .fromBus)
      #expect((header == nil) == (index + 1 < FrameHeader.length))
      let frame = try assembler.next()
      #expect((frame == nil) == (index + 1 < bytes.count))
      if let frame { try vector.expect(assembler.view(of: frame)) }
    }
    #expect(assembler.isEmpty)
  }

  @Test(
    "Frames that arrive together, or in pieces of any length, are separated",
    arguments: [1, 2, 3, 7, 16, 31, 32, 33, 64, 100, 1000, .max])
  func joined(pieceLength: Int) throws {
    let stream = try FrameVector.all.flatMap { try $0.bytes() }
    var assembler = FrameAssembler()
    var next = 0
    var position = 0
    while position < stream.count {
      let end = stream.count - position > pieceLength ? position + pieceLength : stream.count
      assembler.append(Array(stream[position..<end]))
      position = end
      while let frame = try assembler.next() {
        try FrameVector.all[next].expect(assembler.view(of: frame))
        next += 1
      }
    }
    #expect(next == FrameVector.all.count)
    #expect(assembler.isEmpty)
  }

  @Test("Truncated fields are malformed", arguments: FrameVector.all)
  func truncated(_ vector: FrameVector) throws {
    let fields = try vector.fieldBytes()
    for length in fields.indices where length > 0 || !vector.canLeaveOutItsFields {
      #expect(decoding(Array(fields[..<length]), as: vector.fields) == .malformedFrame, "\(length) bytes")
    }
    #expect(decoding(fields, as: vector.fields) == nil)
  }

  @Test(
    "Fields that a newer peer adds at the end are skipped",
    arguments: FrameVector.all.filter { !$0.hasLeftOutItsFields })
  func surplus(_ vector: FrameVector) throws {
    var bytes = try vector.bytes()
    let added: [UInt8] = [0xFF, 0x00, 0xFF, 0xFF, 0x7F]
    let header = try #require(try FrameHeader(bytes.raw, at: 0, limits: .fromBus))
    bytes.insert(contentsOf: added, at: header.nameStart)
    let buffer = ByteBuffer(holding: bytes)
    buffer.store(UInt32(header.frameLength + added.count), at: 0)
    buffer.store(UInt32(header.fieldsLength + added.count), at: 24)
    let longer = try #require(try FrameHeader(buffer.bytes, at: 0, limits: .fromBus))
    try vector.expect(FrameView(longer, buffer.bytes))
  }

  @Test("Writing the sender into a frame changes no other byte", arguments: FrameVector.all)
  func stamping(_ vector: FrameVector) throws {
    let bytes = try vector.bytes()
    let buffer = ByteBuffer(holding: [0xEE] + bytes + [0xEE])
    buffer.stamp(ConnectionID(rawValue: 0x0102_0304_0506_0708), frameAt: 1)
    var expected = bytes
    expected.replaceSubrange(8..<16, with: [8, 7, 6, 5, 4, 3, 2, 1])
    #expect(buffer.array == [0xEE] + expected + [0xEE])
    var stamped = vector
    stamped.sender = 0x0102_0304_0506_0708
    let header = try #require(try FrameHeader(buffer.bytes, at: 1, limits: .fromBus))
    try stamped.expect(FrameView(header, buffer.bytes(in: 1..<1 + header.frameLength)))
  }
}

private struct FrameAssembler {
  let buffer = ByteBuffer(capacity: 0)
  private var start = 0

  var isEmpty: Bool { start == buffer.count }

  func append(_ bytes: [UInt8]) { buffer.append(bytes.raw) }

  mutating func next() throws -> Range<Int>? {
    guard let header = try FrameHeader(buffer.bytes, at: start, limits: .fromBus),
      header.frameLength <= buffer.count - start
    else { return nil }
    defer { start += header.frameLength }
    return start..<start + header.frameLength
  }

  @_lifetime(borrow self)
  func view(of range: Range<Int>) throws -> FrameView {
    let header = try #require(try FrameHeader(buffer.bytes, at: range.lowerBound, limits: .fromBus))
    return FrameView(header, buffer.bytes(in: range))
  }
}
