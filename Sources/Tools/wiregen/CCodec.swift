// SPDX-License-Identifier: Apache-2.0

/// Generates the frames of the C client.
struct CCodec {
  let description: Description

  init(_ description: Description) { self.description = description }

  // MARK: The header

  var header: String {
    var parts = [
      cNotice("The frames of the protocol: docs/PROTOCOL.md says what they mean.")
        + """

        #ifndef TRIBUNE_WIRE_H
        #define TRIBUNE_WIRE_H

        #include "fields.h"

        """,
      limits,
      enumerationText(
        "wire_kind",
        description.frames.map { Member(name: $0.word, value: $0.number, documentation: $0.documentation) },
        "The kinds of frames."),
    ]
    for declaration in declarations {
      switch declaration {
      case .id: break
      case .enumeration(let enumeration):
        parts.append(
          enumerationText(enumeration.name.cName, enumeration.members, enumeration.documentation))
      case .bits(let bits):
        parts.append(enumerationText(bits.name.cName, bits.members, bits.documentation))
      case .record(let record):
        parts.append(structure(record.name, record.fields, record.documentation))
        if isListed(record.name) { parts.append(nextDeclaration(record.name)) }
      case .frame(let frame):
        switch frame.content {
        case .fields(let fields): parts.append(structure(frame.name, fields, frame.documentation))
        case .choice(let alternatives): parts.append(choice(alternatives, of: frame))
        }
      }
    }
    return parts.joined(separator: "\n") + "\n#endif\n"
  }

  private var limits: String {
    description.limits.map { limit in
      comment(limit.documentation, indent: "")
        + "#define WIRE_\(limit.name.snakeCase.uppercased()) \(limit.value)u\n"
    }.joined()
  }

  private func enumerationText(_ name: String, _ members: [Member], _ documentation: String) -> String {
    comment(documentation, indent: "") + "enum \(name) {\n"
      + members.map { member in
        comment(member.documentation, indent: "  ")
          + "  \(constant(name, member.name)) = \(member.value),\n"
      }.joined() + "};\n"
  }

  private func structure(_ name: String, _ fields: [Field], _ documentation: String) -> String {
    var text = comment(documentation, indent: "") + "struct \(name.cName) {\n"
    for field in fields {
      if !field.continuesLine { text += comment(field.documentation, indent: "  ") }
      if case .optional = field.type { text += "  bool has_\(field.cName);\n" }
      text += "  \(typeText(field.type))\(field.cName);\n"
    }
    // C has no empty structures, so an empty one gets a member.
    if fields.isEmpty { text += "  char nothing;\n" }
    return text + "};\n" + functionDeclarations(name)
  }

  private func choice(_ alternatives: [Alternative], of frame: Frame) -> String {
    let what = frame.name.cName + "_what"
    var text = enumerationText(
      what, alternatives.map { Member(name: $0.name, value: $0.value, documentation: $0.documentation) },
      "What the fields of `\(frame.word)` are.")
    text += comment(frame.documentation, indent: "") + "struct \(frame.name.cName) {\n"
    text += "  enum \(what) what;\n  union {\n"
    for one in alternatives {
      if let type = one.type { text += "    \(typeText(type))\(one.name.snakeCase);\n" }
    }
    return text + "  };\n};\n" + functionDeclarations(frame.name)
  }

  private func functionDeclarations(_ name: String) -> String {
    signature("read", name) + ";\n" + signature("write", name) + ";\n"
  }

  private func nextDeclaration(_ name: String) -> String {
    "/* Takes the first off a list that was read. False if there is none. */\n" + nextSignature(name) + ";\n"
  }

  // MARK: Common parts

  /// Choices come behind all other declarations, because C needs the types of the alternatives first.
  var declarations: [Declaration] {
    let isChoice = { (declaration: Declaration) in
      if case .frame(let frame) = declaration, case .choice = frame.content { true } else { false }
    }
    return description.types.filter { !isChoice($0) } + description.types.filter(isChoice)
  }

  func signature(_ verb: String, _ name: String) -> String {
    let value = verb == "read" ? "struct \(name.cName) *value" : "const struct \(name.cName) *value"
    let other = verb == "read" ? "struct wire_reader *reader" : "struct wire_writer *writer"
    return "void wire_\(verb)_\(name.snakeCase)(\(other), \(value))"
  }

  func nextSignature(_ name: String) -> String {
    "bool wire_next_\(name.snakeCase)(struct wire_elements *list, struct \(name.cName) *value)"
  }

  func constant(_ type: String, _ member: String) -> String {
    "\(type.uppercased())_\(member.snakeCase.uppercased())"
  }

  func isListed(_ name: String) -> Bool {
    description.types.contains { declaration in
      switch declaration {
      case .record(let record): record.fields.contains { $0.type == .records(name) }
      case .frame(let frame): frame.fields.contains { $0.type == .records(name) }
      default: false
      }
    }
  }

  /// The C type, with a trailing space.
  private func typeText(_ type: FieldType) -> String {
    switch type {
    case .integer(.i32): "int32_t "
    case .integer(let type): "uint\(type.size * 8)_t "
    case .open: "uint16_t "
    case .bool: "bool "
    case .text: "struct wire_text "
    case .bytes: "struct wire_bytes "
    case .texts, .integers, .records: "struct wire_elements "
    case .optional(let name): "struct \(name.cName) "
    case .named(let name):
      switch description.declaration(named: name) {
      case .id: "uint64_t "
      case .enumeration: "enum \(name.cName) "
      case .bits(let bits): "uint\(bits.type.size * 8)_t "
      default: "struct \(name.cName) "
      }
    }
  }

  private func comment(_ text: String, indent: String) -> String {
    guard !text.isEmpty else { return "" }
    let lines = wrapped(text, after: "\(indent)/* ", width: 107)
    let rest = lines.dropFirst().map { "\(indent)   " + $0.dropFirst(indent.count + 3) }
    return ([lines[0]] + rest).joined(separator: "\n") + " */\n"
  }
}

func cNotice(_ text: String) -> String {
  """
  /* SPDX-License-Identifier: Apache-2.0
   *
   * Made by "make wire" from docs/tribune.wire. Change that instead.
   *
   * \(text) */

  """
}

extension String {
  var cName: String { "wire_" + snakeCase }
}

extension Field {
  var cName: String { name.snakeCase }
}
