// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("The hello", .timeLimit(.minutes(15)))
struct HelloTests {
  static let vectors: Set<String> = ["hello", "hello-newer", "hello-descriptors", "hello-posters"]

  @Test(
    "Is decoded and encoded as its vector",
    arguments: [
      ("hello", Hello(version: 1, minimumVersion: 1)), ("hello-newer", Hello(version: 3, minimumVersion: 1)),
      ("hello-descriptors", Hello(capabilities: .descriptors)),
      ("hello-posters", Hello(capabilities: [.descriptors, .posters])),
    ])
  func vector(_ name: String, _ expected: Hello) throws {
    let bytes = try Vector.bytes(name)
    #expect(bytes.count == Hello.length)
    #expect(try Hello(bytes.raw) == expected)
    let buffer = ByteBuffer { expected.append(to: $0) }
    #expect(buffer.array.hex == bytes.hex)
  }

  @Test("Is complete with its last byte, and ignores the bytes after it")
  func byteByByte() throws {
    let bytes = try Vector.bytes("hello")
    for length in 0..<bytes.count { #expect(try Hello(Array(bytes[..<length]).raw) == nil) }
    #expect(try Hello((bytes + [1, 2, 3]).raw) == Hello())
  }

  @Test("A wrong byte of the magic is refused at once", arguments: 0..<8)
  func badMagic(at offset: Int) throws {
    var bytes = try Vector.bytes("hello")
    bytes[offset] ^= 0x20
    for length in offset + 1...bytes.count {
      #expect(refusal { () throws(WireError) in _ = try Hello(Array(bytes[..<length]).raw) } == .badMagic)
    }
  }

  @Test(
    "The first bytes of other protocols are refused",
    arguments: ["GET / HTTP/1.1\r\n", "\0AUTH EXTERNAL", "{", "\n"])
  func strangers(_ text: String) {
    #expect(refusal { () throws(WireError) in _ = try Hello(text.utf8Bytes) } == .badMagic)
  }

  @Test(
    "Negotiation picks a version that both sides speak",
    arguments: [
      (minimum: 1, version: 1, code: nil), (1, 2, nil), (1, .max, nil), (0, 1, nil), (0, .max, nil),
      (2, 2, .unsupportedVersion), (2, .max, .unsupportedVersion), (0, 0, .unsupportedVersion),
      (2, 1, .unsupportedVersion), (.max, 0, .unsupportedVersion),
    ] as [(minimum: UInt16, version: UInt16, code: ErrorCode?)])
  func negotiation(minimum: UInt16, version: UInt16, code: ErrorCode?) {
    let hello = Hello(version: version, minimumVersion: minimum)
    var spoken: UInt16?
    #expect(refusal { () throws(WireError) in spoken = try hello.negotiated() } == code)
    #expect(spoken == (code == nil ? 1 : nil))
  }
}
