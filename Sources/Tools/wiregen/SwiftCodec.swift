// SPDX-License-Identifier: Apache-2.0

/// Generates TribuneWire's frames, with one file for each section.
struct SwiftCodec {
  static let handwritten: Set = ["ConnectionID", "DelegateID", "PeerIdentity", "QueryID"]

  private let description: Description

  init(_ description: Description) { self.description = description }

  var files: [(name: String, text: String)] {
    description.sections.compactMap { section in
      var parts = section.declarations.filter { !Self.handwritten.contains($0.name) }.map(text(of:))
      switch section.name {
      case "Limits": parts.append(limits)
      case "Header": parts.insert(contentsOf: [kinds, classes], at: 0)
      default: break
      }
      guard !parts.isEmpty else { return nil }
      return ("\(section.name).swift", ([generatedNotice("//")] + parts).joined(separator: "\n"))
    }
  }

  // MARK: Limits and kinds

  private var limits: String {
    var lines = [
      "/// Limits that the frame's layout or docs/PROTOCOL.md fixes for everyone. The daemon's configuration has the",
      "/// adjustable limits; `Welcome` announces those.",
      "package enum WireLimits {",
    ]
    for limit in description.limits {
      lines += comment(limit.documentation, indent: "  ")
      lines.append("  package static let \(limit.name) = \(grouped(limit.value))")
    }
    return block(lines)
  }

  private var kinds: String {
    var lines = ["/// The kinds of frames.", "package enum FrameKind: UInt8, Sendable, CaseIterable {"]
    for frame in description.frames {
      lines += comment(frame.documentation, indent: "  ")
      lines.append("  case \(escaped(frame.word)) = \(frame.number)")
    }
    return block(lines)
  }

  /// Each kind that clients send has one word of each classification: the parser checks this.
  private var classes: String {
    var lines = ["extension FrameKind {"]
    for classification in Classification.all {
      let name = classification.property
      lines += comment(classification.documentation + "; nil if clients do not send it", indent: "  ")
      lines.append("  @inlinable package var \(name): \(name.prefix(1).uppercased() + name.dropFirst())? {")
      lines.append("    switch self {")
      for word in classification.words.map(Optional.some) + [nil] {
        let frames = description.frames.filter {
          $0.classes.first(where: classification.words.contains) == word
        }
        guard !frames.isEmpty else { continue }
        let cases = frames.map { ".\(escaped($0.word))" }.joined(separator: ", ")
        lines.append("    case \(cases): \(word.map { ".\($0.camelCase)" } ?? "nil")")
      }
      lines += ["    }", "  }"]
    }
    return block(lines)
  }

  // MARK: Declarations

  private func text(of declaration: Declaration) -> String {
    switch declaration {
    case .id: ""
    case .enumeration(let enumeration): text(of: enumeration)
    case .bits(let bits): text(of: bits)
    case .record(let record):
      structure(
        record.name, conformances: "Equatable, Sendable", documentation: record.documentation,
        fields: record.fields)
    case .frame(let frame):
      switch frame.content {
      case .fields(let fields):
        structure(
          frame.name, conformances: "FrameFields", documentation: frame.documentation, fields: fields,
          frame: frame)
      case .choice(let alternatives): choice(alternatives, of: frame)
      }
    }
  }

  private func text(of enumeration: Enumeration) -> String {
    var lines = comment(enumeration.documentation)
    lines.append(
      "package enum \(enumeration.name): \(swift(enumeration.type)), Sendable, CaseIterable {")
    for member in enumeration.members {
      lines += comment(member.documentation, indent: "  ")
      lines.append("  case \(escaped(member.name)) = \(member.value)")
    }
    return block(lines)
  }

  private func text(of bits: Bits) -> String {
    let name = bits.name
    var lines = comment(bits.documentation)
    lines += [
      "package struct \(name): OptionSet, Sendable {", "  package let rawValue: \(swift(bits.type))", "",
      "  package init(rawValue: \(swift(bits.type))) { self.rawValue = rawValue }", "",
      "  /// In another module, an empty literal takes about 1,000 instructions, because the compiler does not see the",
      "  /// set's implementation there.",
      "  package static var none: \(name) { \(name)(rawValue: 0) }",
    ]
    for member in bits.members {
      lines += comment(member.documentation, indent: "  ")
      lines.append("  package static let \(member.name) = \(name)(rawValue: \(member.value))")
    }
    if bits.isStrict {
      let all = bits.members.map { ".\($0.name)" }.joined(separator: ", ")
      lines += ["", "  package static let all: \(name) = [\(all)]"]
    }
    lines += [
      "",
      "  /// Other modules would call the standard library's implementation through witness tables.",
      "  @inlinable package func contains(_ member: \(name)) -> Bool {",
      "    rawValue & member.rawValue == member.rawValue", "  }",
    ]
    return block(lines)
  }

  private func structure(
    _ name: String, conformances: String, documentation: String, fields: [Field], frame: Frame? = nil
  ) -> String {
    var lines = comment(documentation)
    lines.append("package struct \(name): \(conformances) {")
    if let frame {
      lines.append("  package static let kind = FrameKind.\(frame.word)")
      for (field, offset) in offsets(of: fields) where field.isPatched {
        lines.append("  /// Where the field \(field.name) is.")
        lines.append("  static let \(field.name)Offset = \(offset)")
      }
      lines.append("")
    }
    for field in fields {
      lines += comment(field.continuesLine ? "" : field.documentation, indent: "  ")
      lines.append("  package var \(escaped(storedName(of: field))): \(storedType(of: field))")
    }
    for field in fields {
      guard case .open(let type) = field.type else { continue }
      lines += [
        "", "  /// Nil if this version does not know the number.",
        "  package var \(field.name): \(type)? { \(type)(rawValue: \(storedName(of: field))) }",
      ]
    }
    lines += ["", "  package init(\(fields.map(parameter).joined(separator: ", "))) {"]
    lines += fields.map { "    self.\(storedName(of: $0)) = \(escaped(storedName(of: $0)))" }
    lines += ["  }", "", "  package init(from reader: inout FieldReader) throws(WireError) {"]
    if let frame, frame.canBeEmpty { lines += ["    self.init()", "    if reader.isAtEnd { return }"] }
    lines += reading(fields, in: frame)
    lines += ["  }", "", "  package func append(to buffer: ByteBuffer) {"]
    if let frame, frame.canBeEmpty { lines.append("    if self == \(name)() { return }") }
    lines += fields.flatMap(appending)
    lines.append("  }")
    return block(lines)
  }

  private func choice(_ alternatives: [Alternative], of frame: Frame) -> String {
    var lines = comment(frame.documentation)
    lines.append("package enum \(frame.name): FrameFields {")
    for one in alternatives {
      lines += comment(one.documentation, indent: "  ")
      lines.append("  case \(escaped(one.name))" + (one.type.map { "(\(swift($0)))" } ?? ""))
    }
    lines += [
      "", "  package static let kind = FrameKind.\(frame.word)", "", "  private enum Tag: UInt8 {",
    ]
    lines += alternatives.map { "    case \(escaped($0.name)) = \($0.value)" }
    lines += [
      "  }", "", "  package init(from reader: inout FieldReader) throws(WireError) {",
      "    switch try reader.value(Tag.self) {",
    ]
    lines += alternatives.map { one in
      "    case .\(one.name): self = .\(one.name)" + (one.type.map { "(try \(value(of: $0)))" } ?? "")
    }
    lines += ["    }", "  }", "", "  package func append(to buffer: ByteBuffer) {", "    switch self {"]
    for one in alternatives {
      lines.append("    case .\(one.name)" + (one.type == nil ? ":" : "(let content):"))
      lines.append("      buffer.append(Tag.\(one.name).rawValue)")
      if let type = one.type { lines += ["      \(appending("content", type))"] }
    }
    lines += ["    }", "  }"]
    return block(lines)
  }

  // MARK: Fields

  private func offsets(of fields: [Field]) -> [(Field, Int)] {
    var offset = 0
    var found: [(Field, Int)] = []
    for field in fields {
      guard let size = size(of: field.type) else { break }
      found.append((field, offset))
      offset += size
    }
    return found
  }

  /// The size in bytes; nil if it varies.
  private func size(of type: FieldType) -> Int? {
    switch type {
    case .integer(let type): return type.size
    case .bool: return 1
    case .named(let name), .open(let name):
      switch description.declaration(named: name) {
      case .id: return 8
      case .enumeration(let enumeration): return enumeration.type.size
      case .bits(let bits): return bits.type.size
      default: return nil
      }
    case .text, .bytes, .optional, .texts, .integers, .records: return nil
    }
  }

  private func storedName(of field: Field) -> String {
    guard case .open = field.type else { return field.name }
    return "raw" + field.name.prefix(1).uppercased() + field.name.dropFirst()
  }

  private func storedType(of field: Field) -> String {
    field.condition == nil ? swift(field.type) : swift(field.type) + "?"
  }

  private func parameter(_ field: Field) -> String {
    let parameter = "\(storedName(of: field)): \(storedType(of: field))"
    if field.isAbsentByDefault { return parameter + " = nil" }
    return field.defaultValue.map { "\(parameter) = \(literal($0, of: field.type))" } ?? parameter
  }

  private func reading(_ fields: [Field], in frame: Frame?) -> [String] {
    let isOneCall = fields.allSatisfy { field in
      if case .records = field.type { false } else { field.condition == nil }
    }
    guard isOneCall, fields.count > 1, frame?.canBeEmpty != true else {
      return fields.flatMap { reading($0, in: frame) }
    }
    let arguments = fields.map { "\(storedName(of: $0)): \(value(of: $0, in: frame))" }
    return ["    try self.init(\(arguments.joined(separator: ", ")))"]
  }

  private func reading(_ field: Field, in frame: Frame?) -> [String] {
    let name = escaped(storedName(of: field))
    if case .records(let type) = field.type {
      return [
        "    \(name) = []", "    for _ in 0..<(try reader.integer(UInt32.self)) {",
        "      var record = try reader.record()", "      \(name).append(try \(type)(from: &record))", "    }",
      ]
    }
    let read = value(of: field, in: frame)
    if let condition = field.condition {
      return ["    \(name) = try \(condition.field) == .\(condition.word) ? \(read) : nil"]
    }
    return ["    \(name) = try \(read)"]
  }

  /// An expression that reads the field, for use behind `try`.
  private func value(of field: Field, in frame: Frame?) -> String {
    switch field.type {
    case .texts, .integers:
      let limit = field.limit.map { "WireLimits.\($0)" } ?? "Int(UInt16.max)"
      let what = frame.map { "\(field.name) in one \($0.word)" } ?? field.name
      return "reader.\(field.type == .texts ? "texts" : "integers")(max: \(limit), \"\(what)\")"
    default: return value(of: field.type)
    }
  }

  private func value(of type: FieldType) -> String {
    switch type {
    case .integer, .open: "reader.integer()"
    case .bool: "reader.flag()"
    case .text: "reader.text()"
    case .bytes: "reader.byteArray()"
    case .optional(let name): "reader.flag() ? \(name)(from: &reader) : nil"
    case .named(let name):
      switch description.declaration(named: name) {
      case .id: "\(name)(rawValue: reader.integer())"
      case .enumeration: "reader.value()"
      case .bits(let bits):
        bits.isStrict ? "reader.options(\(name).all)" : "\(name)(rawValue: reader.integer())"
      default: "\(name)(from: &reader)"
      }
    case .texts, .integers, .records: preconditionFailure("these need more than their type")
    }
  }

  private func appending(_ field: Field) -> [String] {
    let name = escaped(storedName(of: field))
    if case .records = field.type {
      return [
        "    buffer.append(UInt32(\(name).count))",
        "    // A span lends its elements; an array would copy them.", "    let \(name) = \(name).span",
        "    for index in \(name).indices {",
        "      buffer.appendRecord { buffer in \(name)[index].append(to: buffer) }", "    }",
      ]
    }
    if case .optional = field.type {
      return ["    buffer.append(\(name) != nil)", "    \(name)?.append(to: buffer)"]
    }
    if field.condition != nil { return ["    \(name)?.append(to: buffer)"] }
    return ["    " + appending(name, field.type)]
  }

  private func appending(_ name: String, _ type: FieldType) -> String {
    switch type {
    case .integer, .open, .bool: return "buffer.append(\(name))"
    case .text: return "buffer.appendField(\(name))"
    case .bytes: return "buffer.appendBytesField(\(name))"
    case .texts, .integers: return "buffer.appendFields(\(name))"
    case .named(let type):
      switch description.declaration(named: type) {
      case .record, .frame: return "\(name).append(to: buffer)"
      default: return "buffer.append(\(name).rawValue)"
      }
    case .optional, .records: preconditionFailure("these are written in several statements")
    }
  }

  // MARK: Swift

  private func swift(_ type: IntegerType) -> String {
    type == .i32 ? "Int32" : "UInt" + type.rawValue.dropFirst()
  }

  private func swift(_ type: FieldType) -> String {
    switch type {
    case .integer(let type): swift(type)
    case .bool: "Bool"
    case .text: "String"
    case .bytes: "[UInt8]"
    case .named(let name): name
    case .open(let name):
      if case .enumeration(let enumeration) = description.declaration(named: name) {
        swift(enumeration.type)
      } else {
        name
      }
    case .optional(let name): name + "?"
    case .texts: "[String]"
    case .integers: "[UInt32]"
    case .records(let name): "[\(name)]"
    }
  }

  private func literal(_ text: String, of type: FieldType) -> String {
    if case .named(let name) = type, case .enumeration = description.declaration(named: name) {
      return ".\(text)"
    }
    return text
  }

  private func escaped(_ name: String) -> String {
    ["defer", "protocol", "extension"].contains(name) ? "`\(name)`" : name
  }

  private func grouped(_ number: Int) -> String {
    var digits = String(number)
    guard digits.count > 4 else { return digits }
    var position = digits.count - 3
    while position > 0 {
      digits.insert("_", at: digits.index(digits.startIndex, offsetBy: position))
      position -= 3
    }
    return digits
  }

  private func block(_ lines: [String]) -> String { (lines + ["}", ""]).joined(separator: "\n") }

  private func comment(_ text: String, indent: String = "") -> [String] {
    guard !text.isEmpty else { return [] }
    var sentence = text.prefix(1).uppercased() + text.dropFirst()
    if sentence.last != ".", sentence.last != "?" { sentence += "." }
    return wrapped(sentence, after: indent + "/// ", width: 120)
  }
}
