// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Generates the index of the golden vectors, for the tests of all languages. Each frame is one JSON object.
struct VectorIndex {
  private let description: Description

  init(_ description: Description) { self.description = description }

  func text(of vectors: [(name: String, text: String)]) throws -> String {
    var lines: [String] = []
    for (name, text) in vectors.sorted(by: { $0.name < $1.name }) where !name.hasPrefix("hello") {
      let bytes = text.split(separator: "\n").flatMap { line in
        line.prefix { $0 != "#" }.split(separator: " ").compactMap { UInt8($0, radix: 16) }
      }
      let members: [String: Any] = try entry(of: bytes, name)
      let data = try JSONSerialization.data(
        withJSONObject: members, options: [.sortedKeys, .withoutEscapingSlashes])
      lines.append("  \"\(name)\": " + String(decoding: data, as: UTF8.self))
    }
    return "{\n" + lines.joined(separator: ",\n") + "\n}\n"
  }

  private func entry(of bytes: [UInt8], _ name: String) throws(DescriptionError) -> [String: Any] {
    var reader = ByteReader(bytes, name)
    let length = try reader.integer(4)
    let kind = try Int(reader.integer(1))
    guard length == bytes.count, let frame = description.frames.first(where: { $0.number == kind }) else {
      throw DescriptionError(line: 0, message: "the vector \(name) is no frame")
    }
    let flags = try reader.integer(1)
    let (nameLength, objectLength) = (try Int(reader.integer(1)), try Int(reader.integer(1)))
    let (sender, serial) = (try reader.integer(8), try reader.integer(8))
    let fieldsLength = try Int(reader.integer(4))
    _ = try reader.integer(4)
    var fields = ByteReader(try reader.bytes(fieldsLength), name)
    return [
      "kind": frame.word, "flags": flags, "sender": sender, "serial": serial,
      "fields": try content(of: frame, &fields),
      "name": String(decoding: try reader.bytes(nameLength), as: UTF8.self),
      "object": String(decoding: try reader.bytes(objectLength), as: UTF8.self),
      "payload": try reader.bytes(reader.left).hexadecimal,
    ]
  }

  private func content(of frame: Frame, _ reader: inout ByteReader) throws(DescriptionError) -> [String: Any]
  {
    switch frame.content {
    case .fields(let fields):
      if frame.canBeEmpty, reader.left == 0 { return [:] }
      return try values(of: fields, &reader)
    case .choice(let alternatives):
      let number = try Int(reader.integer(1))
      guard let alternative = alternatives.first(where: { $0.value == number }) else {
        throw DescriptionError(line: 0, message: "\(frame.name) has no alternative \(number)")
      }
      guard let type = alternative.type else { return [alternative.name: NSNull()] }
      return [alternative.name: try value(of: type, &reader)]
    }
  }

  private func values(of fields: [Field], _ reader: inout ByteReader) throws(DescriptionError) -> [String:
    Any]
  {
    var values: [String: Any] = [:]
    for field in fields {
      if let condition = field.condition, values[condition.field] as? String != condition.word { continue }
      values[field.name] = try value(of: field.type, &reader)
    }
    return values
  }

  private func value(of type: FieldType, _ reader: inout ByteReader) throws(DescriptionError) -> Any {
    switch type {
    case .integer(.i32): return Int32(truncatingIfNeeded: try reader.integer(4))
    case .integer(let type): return try reader.integer(type.size)
    case .open: return try reader.integer(2)
    case .bool: return try reader.integer(1) != 0
    case .text: return try reader.text()
    case .bytes: return try reader.bytes(Int(reader.integer(4))).hexadecimal
    case .texts:
      var texts: [String] = []
      for _ in 0..<(try reader.integer(2)) { texts.append(try reader.text()) }
      return texts
    case .integers:
      var integers: [UInt64] = []
      for _ in 0..<(try reader.integer(4)) { integers.append(try reader.integer(4)) }
      return integers
    case .records(let name):
      var records: [Any] = []
      for _ in 0..<(try reader.integer(4)) {
        var record = ByteReader(try reader.bytes(Int(reader.integer(4))), name)
        records.append(try value(of: .named(name), &record))
      }
      return records
    case .optional(let name):
      return try reader.integer(1) == 0 ? NSNull() : value(of: .named(name), &reader)
    case .named(let name):
      switch description.declaration(named: name) {
      case .record(let record): return try values(of: record.fields, &reader)
      case .enumeration(let enumeration):
        let number = try Int(reader.integer(enumeration.type.size))
        guard let member = enumeration.members.first(where: { $0.value == number }) else {
          throw DescriptionError(line: 0, message: "\(name) has no value \(number)")
        }
        return member.name
      case .bits(let bits): return try reader.integer(bits.type.size)
      default: return try reader.integer(8)
      }
    }
  }
}

private struct ByteReader {
  private var rest: ArraySlice<UInt8>
  private let name: String

  init(_ bytes: some Collection<UInt8>, _ name: String) { (rest, self.name) = (Array(bytes)[...], name) }

  var left: Int { rest.count }

  mutating func bytes(_ count: Int) throws(DescriptionError) -> ArraySlice<UInt8> {
    guard count <= rest.count else { throw DescriptionError(line: 0, message: "\(name) ends early") }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  mutating func integer(_ size: Int) throws(DescriptionError) -> UInt64 {
    try bytes(size).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  mutating func text() throws(DescriptionError) -> String {
    String(decoding: try bytes(Int(integer(2))), as: UTF8.self)
  }
}

extension Collection<UInt8> {
  fileprivate var hexadecimal: String {
    map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
