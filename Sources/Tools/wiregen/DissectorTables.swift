// SPDX-License-Identifier: Apache-2.0

/// Generates tools/tribune-frames.lua: the tables from which Wireshark's dissector (tools/tribune.lua) knows
/// the frames. In a display filter, a field is called `tribune.NAME`, such as `tribune.query`. If fields of
/// this name differ in type, or the header has this name, the field is called `tribune.OF.NAME`, such as
/// `tribune.post.options`.
struct DissectorTables {
  private static let headerNames: Set = [
    "kind", "flags", "length", "sender", "serial", "name", "object", "payload", "newer",
  ]

  private let description: Description
  private let ambiguous: Set<String>

  init(_ description: Description) {
    self.description = description
    var types: [String: Set<String>] = [:]
    for declaration in description.types {
      let fields: [Field] =
        switch declaration {
        case .record(let record): record.fields
        case .frame(let frame): frame.fields
        case .id, .enumeration, .bits: []
        }
      for field in fields {
        types[field.name, default: []].insert("\(field.type) \(field.unit.map { "\($0)" } ?? "")")
      }
    }
    ambiguous = Self.headerNames.union(types.filter { $0.value.count > 1 }.keys)
  }

  var text: String {
    var parts = [generatedNotice("--") + "-- The tables that tribune.lua reads frames with.\n"]
    for declaration in description.types {
      switch declaration {
      case .id, .frame: break
      case .enumeration(let enumeration): parts.append(table(enumeration.name, of: enumeration.members))
      case .bits(let bits): parts.append(table(bits.name, of: bits.members))
      case .record(let record):
        parts.append(
          "local \(record.name.snakeCase) = {\n" + rows(record.fields, of: record.name, "  ") + "}\n")
      }
    }
    parts.append("local kinds = {\n" + words(description.frames.map { ($0.number, $0.word) }) + "}\n")
    parts.append("local frames = {\n" + description.frames.map(entry).joined() + "}\n")
    parts.append("return { kinds = kinds, frames = frames, flags = frame_flags, errors = error_code }\n")
    return parts.joined(separator: "\n")
  }

  private func table(_ name: String, of members: [Member]) -> String {
    "local \(name.snakeCase) = {\n" + words(members.map { ($0.value, $0.name) }) + "}\n"
  }

  private func words(_ words: [(Int, String)]) -> String {
    words.map { "  [\($0)] = \"\($1)\",\n" }.joined()
  }

  private func entry(_ frame: Frame) -> String {
    let head = "  [\(frame.number)] = {\n"
    switch frame.content {
    case .fields(let fields):
      let optional = frame.canBeEmpty ? "    optional = true,\n" : ""
      return head + optional + rows(fields, of: frame.word, "    ") + "  },\n"
    case .choice(let alternatives):
      let names = alternatives.map { "[\($0.value)] = \"\($0.name)\"" }.joined(separator: ", ")
      let contents = alternatives.map { "        [\($0.value)] = \(content(of: $0, in: frame)),\n" }.joined()
      return head
        + "    of = \"\(frame.word)\",\n    {\n      \"what\", \"choice\",\n      { \(names) },\n      {\n"
        + contents + "      },\n      own = true,\n    },\n  },\n"
    }
  }

  private func content(of alternative: Alternative, in frame: Frame) -> String {
    switch alternative.type {
    case .named(let record): record.snakeCase
    case .some(let type):
      "{ of = \"\(frame.word)\", { \"\(alternative.name.snakeCase)\", \(kind(of: type)) } }"
    case nil: "{ of = \"\(frame.word)\" }"
    }
  }

  private func rows(_ fields: [Field], of owner: String, _ indent: String) -> String {
    "\(indent)of = \"\(owner.snakeCase)\",\n" + fields.map { row($0, indent) }.joined()
  }

  private func row(_ field: Field, _ indent: String) -> String {
    let name = field.name.snakeCase
    var rest = ambiguous.contains(field.name) ? ", own = true" : ""
    if let unit = field.unit, unit != .time { rest += ", unit = \"\(unit.rawValue)\"" }
    if let condition = field.condition {
      rest += ", when = { \"\(condition.field.snakeCase)\", \"\(condition.word)\" }"
    }
    if case .optional(let record) = field.type {
      return "\(indent){ \"has_\(name)\", \"bool\"\(rest) },\n"
        + "\(indent){ \"\(name)\", \"group\", \(record.snakeCase), when = { \"has_\(name)\", true } },\n"
    }
    let kind = field.unit == .time ? "\"time\"" : kind(of: field.type)
    return "\(indent){ \"\(name)\", \(kind)\(rest) },\n"
  }

  private func kind(of type: FieldType) -> String {
    switch type {
    case .integer(let type): "\"\(type.rawValue)\""
    case .bool: "\"bool\""
    case .text: "\"text\""
    case .bytes: "\"blob\""
    case .open(let name): "\"u16\", \(name.snakeCase)"
    case .texts: "\"texts\""
    case .integers: "\"numbers\""
    case .records(let name): "\"records\", \(name.snakeCase)"
    case .named(let name):
      switch description.declaration(named: name) {
      case .id: name == "ConnectionID" ? "\"id\"" : "\"u64\""
      case .enumeration: "\"enum\", \(name.snakeCase)"
      case .bits: "\"bits\", \(name.snakeCase)"
      default: "\"group\", \(name.snakeCase)"
      }
    case .optional: preconditionFailure("these are two rows")
    }
  }
}
