// SPDX-License-Identifier: Apache-2.0

/// Generates the frames of the Python client.
struct PythonCodec {
  private let description: Description

  init(_ description: Description) { self.description = description }

  var text: String {
    let head =
      generatedNotice("#") + """
        \"""The frames of the protocol: docs/PROTOCOL.md says what they mean.\"""

        from __future__ import annotations

        import enum
        from dataclasses import dataclass, field
        from typing import ClassVar, Final

        from ._fields import FieldError, Reader, Writer


        """
    var parts = [limits, kinds]
    for declaration in description.types {
      switch declaration {
      case .id: break
      case .enumeration(let enumeration):
        parts.append(
          enumerationText(enumeration.name, "IntEnum", enumeration.members, enumeration.documentation))
      case .bits(let bits):
        parts.append(enumerationText(bits.name, "IntFlag", bits.members, bits.documentation))
      case .record(let record): parts.append(structure(record.name, record.fields, record.documentation))
      case .frame(let frame):
        switch frame.content {
        case .fields(let fields): parts.append(structure(frame.name, fields, frame.documentation, frame))
        case .choice(let alternatives): parts.append(choice(alternatives, of: frame))
        }
      }
    }
    return head + parts.joined(separator: "\n\n")
  }

  private var limits: String {
    description.limits.map { limit in
      "# \(limit.documentation)\n\(limit.name.snakeCase.uppercased()): Final = \(limit.value)\n"
    }.joined()
  }

  private var kinds: String {
    enumerationText(
      "FrameKind", "IntEnum",
      description.frames.map { Member(name: $0.word, value: $0.number, documentation: $0.documentation) },
      "The kinds of frames.")
  }

  private func enumerationText(_ name: String, _ base: String, _ members: [Member], _ documentation: String)
    -> String
  {
    var lines = ["class \(name)(enum.\(base)):"] + docstring(documentation) + [""]
    for member in members {
      lines += wrapped(member.documentation, after: "    # ", width: 100, unlessEmpty: true)
      lines.append("    \(member.name.snakeCase.uppercased()) = \(member.value)")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  // MARK: Records and frames

  private func structure(
    _ name: String, _ fields: [Field], _ documentation: String, _ frame: Frame? = nil
  ) -> String {
    var lines = ["@dataclass(slots=True, kw_only=True)", "class \(name):"] + docstring(documentation) + [""]
    if let frame {
      lines += ["    KIND: ClassVar[FrameKind] = FrameKind.\(frame.word.snakeCase.uppercased())", ""]
    }
    for field in fields {
      if !field.continuesLine {
        lines += wrapped(field.documentation, after: "    # ", width: 100, unlessEmpty: true)
      }
      lines.append("    \(field.pythonName): \(annotation(field))\(defaultText(field))")
    }
    if !fields.isEmpty { lines.append("") }
    lines += ["    @classmethod", "    def read(cls, reader: Reader) -> \(name):"]
    if frame?.canBeEmpty == true { lines += ["        if not reader.left:", "            return cls()"] }
    // If a condition refers to a field, the generated code first reads that field into a variable.
    let named = Set(fields.compactMap(\.condition?.field))
    lines += fields.filter { named.contains($0.name) }.map { "        \($0.pythonName) = \(reading($0))" }
    lines += call(
      "return cls",
      fields.map { "\($0.pythonName)=\(named.contains($0.name) ? $0.pythonName : reading($0))" })
    lines += ["", "    def write(self, writer: Writer) -> None:"]
    if frame?.canBeEmpty == true {
      lines += ["        if self == \(name)():", "            return"]
    }
    let statements = fields.flatMap { writing($0) }
    lines += statements.isEmpty ? ["        return"] : statements
    return lines.joined(separator: "\n") + "\n"
  }

  private func choice(_ alternatives: [Alternative], of frame: Frame) -> String {
    var lines = ["@dataclass(slots=True)", "class \(frame.name):"] + docstring(frame.documentation)
    let words = alternatives.map { "\"\($0.name)\"" }.joined(separator: ", ")
    let types = alternatives.map { $0.type.map(annotation) ?? "None" }.uniqued.joined(separator: " | ")
    lines += [
      "", "    KIND: ClassVar[FrameKind] = FrameKind.\(frame.word.snakeCase.uppercased())",
    ]
    lines += wrapped("What it is, one of \(words.replacing("\"", with: "`")).", after: "    # ", width: 100)
    lines +=
      ["    what: str"] + call("    content: (", types.split(separator: "|").map(String.init), isUnion: true)
    lines += [
      "", "    @classmethod", "    def read(cls, reader: Reader) -> \(frame.name):",
      "        match reader.u8():",
    ]
    for one in alternatives {
      lines.append("            case \(one.value):")
      lines.append("                return cls(\"\(one.name)\", \(one.type.map { value(of: $0) } ?? "None"))")
    }
    lines += [
      "            case other:",
      "                raise FieldError(f\"{cls.__name__} has no alternative {other}\")", "",
      "    def write(self, writer: Writer) -> None:",
      "        match self.what:",
    ]
    for one in alternatives {
      lines += ["            case \"\(one.name)\":", "                writer.u8(\(one.value))"]
    }
    // Only needed branches are generated, because a type checker reports unreachable ones.
    let (hasText, hasNothing) = (types.contains("str"), types.contains("None"))
    if hasText {
      lines += ["        if isinstance(self.content, str):", "            writer.text(self.content)"]
    }
    if hasText || hasNothing {
      lines += [
        "        \(hasText ? "el" : "")if self.content is not None:",
        "            self.content.write(writer)",
      ]
    } else {
      lines.append("        self.content.write(writer)")
    }
    lines.append("")
    return lines.joined(separator: "\n")
  }

  private func call(_ opening: String, _ arguments: [String], isUnion: Bool = false) -> [String] {
    if isUnion {
      let parts = arguments.map { $0.filter { $0 != " " } }
      let line = String(opening.dropLast()) + parts.joined(separator: " | ")
      if line.count <= 100 { return [line] }
      return ["\(opening)"] + parts.enumerated().map { "        \($0 == 0 ? "" : "| ")\($1)" } + ["    )"]
    }
    let line = "        \(opening)(\(arguments.joined(separator: ", ")))"
    if line.count <= 100 { return [line] }
    return ["        \(opening)("] + arguments.map { "            \($0)," } + ["        )"]
  }

  // MARK: Fields

  private func annotation(_ field: Field) -> String {
    field.condition == nil ? annotation(field.type) : annotation(field.type) + " | None"
  }

  private func annotation(_ type: FieldType) -> String {
    switch type {
    case .integer, .open: "int"
    case .bool: "bool"
    case .text: "str"
    case .bytes: "bytes"
    case .optional(let name): name + " | None"
    case .texts: "list[str]"
    case .integers: "list[int]"
    case .records(let name): "list[\(name)]"
    case .named(let name):
      switch description.declaration(named: name) {
      case .id: "int"
      default: name
      }
    }
  }

  private func defaultText(_ field: Field) -> String {
    if field.isAbsentByDefault { return " = None" }
    guard let text = field.defaultValue else { return "" }
    switch field.type {
    case .texts, .integers, .records: return " = field(default_factory=list)"
    case .bytes: return " = b\"\""
    case .bool: return text == "true" ? " = True" : " = False"
    case .named(let name):
      switch description.declaration(named: name) {
      case .enumeration: return " = \(name).\(text.snakeCase.uppercased())"
      case .bits: return " = \(name)(0)"
      default: return " = \(text)"
      }
    default: return " = \(text)"
    }
  }

  private func reading(_ field: Field) -> String {
    let read = value(of: field.type)
    if let condition = field.condition, case .named(let type) = conditionType(field) {
      return
        "\(read) if \(condition.field.snakeCase) is \(type).\(condition.word.snakeCase.uppercased()) else None"
    }
    return read
  }

  private func conditionType(_ field: Field) -> FieldType {
    let owner = description.frames.first {
      $0.fields.contains { $0.condition?.field == field.condition?.field }
    }
    return owner?.fields.first { $0.name == field.condition?.field }?.type ?? .bool
  }

  private func value(of type: FieldType) -> String {
    switch type {
    case .integer(let type): "reader.\(type.rawValue)()"
    case .open: "reader.u16()"
    case .bool: "reader.flag()"
    case .text: "reader.text()"
    case .bytes: "reader.blob()"
    case .optional(let name): "\(name).read(reader) if reader.flag() else None"
    case .texts: "reader.texts()"
    case .integers: "reader.integers()"
    case .records(let name): "[\(name).read(record) for record in reader.records()]"
    case .named(let name):
      switch description.declaration(named: name) {
      case .id: "reader.u64()"
      case .enumeration(let enumeration): "\(name)(reader.\(enumeration.type.rawValue)())"
      case .bits(let bits): "\(name)(reader.\(bits.type.rawValue)())"
      default: "\(name).read(reader)"
      }
    }
  }

  private func writing(_ field: Field) -> [String] {
    let name = "self.\(field.pythonName)"
    let indent = "        "
    if field.condition != nil {
      return ["\(indent)if \(name) is not None:", "\(indent)    \(name).write(writer)"]
    }
    switch field.type {
    case .integer(let type): return ["\(indent)writer.\(type.rawValue)(\(name))"]
    case .open: return ["\(indent)writer.u16(\(name))"]
    case .bool: return ["\(indent)writer.flag(\(name))"]
    case .text: return ["\(indent)writer.text(\(name))"]
    case .bytes: return ["\(indent)writer.blob(\(name))"]
    case .optional:
      return [
        "\(indent)writer.flag(\(name) is not None)", "\(indent)if \(name) is not None:",
        "\(indent)    \(name).write(writer)",
      ]
    case .texts: return ["\(indent)writer.texts(\(name))"]
    case .integers: return ["\(indent)writer.integers(\(name))"]
    case .records: return ["\(indent)writer.records(\(name))"]
    case .named(let type):
      switch description.declaration(named: type) {
      case .id: return ["\(indent)writer.u64(\(name))"]
      case .enumeration(let enumeration): return ["\(indent)writer.\(enumeration.type.rawValue)(\(name))"]
      case .bits(let bits): return ["\(indent)writer.\(bits.type.rawValue)(\(name))"]
      default: return ["\(indent)\(name).write(writer)"]
      }
    }
  }

  private func docstring(_ text: String) -> [String] {
    var sentence = text.prefix(1).uppercased() + text.dropFirst()
    if sentence.last != ".", sentence.last != "?" { sentence += "." }
    let lines = wrapped(sentence, after: "    ", width: 96)
    guard lines.count > 1 else { return ["    \"\"\"\(sentence)\"\"\""] }
    return ["    \"\"\"" + lines[0].dropFirst(4)] + lines.dropFirst() + ["    \"\"\""]
  }

  private func wrapped(_ text: String, after prefix: String, width: Int, unlessEmpty: Bool = false)
    -> [String]
  {
    text.isEmpty && unlessEmpty ? [] : wiregen.wrapped(text, after: prefix, width: width)
  }
}

extension Field {
  /// The field's name in Python, where `from` is a keyword.
  fileprivate var pythonName: String { name == "from" ? "from_" : name.snakeCase }
}

extension Array where Element: Hashable {
  fileprivate var uniqued: [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}
