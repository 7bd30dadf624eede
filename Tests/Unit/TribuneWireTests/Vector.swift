// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneTestSupport
import TribuneWire

/// Bytes from a file in Vectors/: hexadecimal digits, with comments after `#`.
enum Vector {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors")

  static func names() throws -> Set<String> {
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    return Set(files.filter { $0.hasSuffix(".hex") }.map { ($0 as NSString).deletingPathExtension })
  }

  static func bytes(_ name: String) throws -> [UInt8] {
    let text = try String(contentsOf: folder.appending(path: name + ".hex"), encoding: .utf8)
    return try text.split(separator: "\n").flatMap { try bytes(of: $0, in: name) }
  }

  static func bytes(of line: Substring, in name: String) throws -> [UInt8] {
    try line.prefix { $0 != "#" }.split(separator: " ").map { pair -> UInt8 in
      try #require(UInt8(pair, radix: 16), "\(name): \(pair) is no byte")
    }
  }
}

func decoding<F: FrameFields>(_ bytes: [UInt8], as fields: F) -> ErrorCode? {
  refusal { () throws(WireError) in
    var reader = FieldReader(bytes.raw)
    _ = try F(from: &reader)
  }
}

struct FrameVector: Sendable, CustomTestStringConvertible {
  let file: String
  var flags: FrameFlags = []
  var sender: UInt64 = 0
  var serial: Serial
  var name = ""
  var object = ""
  var payload: [UInt8] = []
  let fields: any FrameFields

  init(
    _ file: String, _ fields: any FrameFields, flags: FrameFlags = [], sender: UInt64 = 0, serial: Serial,
    name: String = "", object: String = "", payload: [UInt8] = [], text: String = ""
  ) {
    self.file = file
    self.fields = fields
    self.flags = flags
    self.sender = sender
    self.serial = serial
    self.name = name
    self.object = object
    self.payload = payload + Array(text.utf8)
  }

  var testDescription: String { file }

  var kind: FrameKind { type(of: fields).kind }

  var canLeaveOutItsFields: Bool { kind == .post || kind == .observe }

  var hasLeftOutItsFields: Bool { (fields as? Post) == Post() || (fields as? Observe) == Observe() }

  func bytes() throws -> [UInt8] { try Vector.bytes(file) }

  func fieldBytes() throws -> [UInt8] {
    let bytes = try bytes()
    let header = try #require(try FrameHeader(bytes.raw, at: 0, limits: .fromBus))
    return Array(bytes[FrameHeader.length..<header.nameStart])
  }

  func expect(_ frame: FrameView) throws {
    let header = frame.header
    #expect(header.kind == kind)
    #expect(header.flags == flags)
    #expect(header.sender == ConnectionID(rawValue: sender))
    #expect(header.serial == serial)
    let (name, object, payload) = (Array(frame.name), Array(frame.object), Array(frame.payload))
    #expect(name == Array(self.name.utf8))
    #expect(object == Array(self.object.utf8))
    #expect(payload == self.payload)
    try expect(fields, in: frame)
  }

  private func expect<F: FrameFields>(_ expected: F, in frame: FrameView) throws {
    let decoded = try frame.decode(F.self)
    #expect(decoded == expected)
  }

  func encoded() -> [UInt8] { ByteBuffer { append(fields, to: $0) }.array }

  private func append<F: FrameFields>(_ fields: F, to buffer: ByteBuffer) {
    let payload = ByteBuffer(holding: payload)
    buffer.appendFrame(
      fields, flags: flags, sender: ConnectionID(rawValue: sender), serial: serial, name: name,
      object: object, payload: payload.bytes)
  }
}
