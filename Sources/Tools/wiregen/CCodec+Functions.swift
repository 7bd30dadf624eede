// SPDX-License-Identifier: Apache-2.0

/// After a failure, a reader or writer in C ignores all further calls. Callers of the generated functions
/// therefore check for a failure only once, at the end.
extension CCodec {
  var source: String {
    let head =
      cNotice("Reads and writes the fields of frames. Every length is checked in fields.h before it is used.")
        + """

        #include "wire.h"


        """
    let parts = description.types.flatMap { declaration -> [String] in
      switch declaration {
      case .record(let record):
        functions(record.name, record.fields) + (isListed(record.name) ? [next(record.name)] : [])
      case .frame(let frame):
        switch frame.content {
        case .fields(let fields): functions(frame.name, fields, canBeEmpty: frame.canBeEmpty)
        case .choice(let alternatives): functions(frame.name, alternatives)
        }
      default: []
      }
    }
    return head + parts.joined(separator: "\n")
  }

  private func functions(_ name: String, _ fields: [Field], canBeEmpty: Bool = false) -> [String] {
    let nothing = ["  (void)value;"]
    var reading = fields.isEmpty ? ["  (void)reader;"] + nothing : ["  *value = (struct \(name.cName)){0};"]
    if canBeEmpty { reading += ["  if (wire_left(reader) == 0) {", "    return;", "  }"] }
    reading += fields.flatMap { field in
      guard let condition = condition(of: field) else { return read(field, "  ") }
      return ["  if (\(condition)) {"] + read(field, "    ") + ["  }"]
    }
    var writing = fields.isEmpty ? ["  (void)writer;"] + nothing : []
    if canBeEmpty {
      let unequal = fields.map { "value->\($0.cName) == 0" }.joined(separator: " && ")
      writing += ["  if (\(unequal)) {", "    return;", "  }"]
    }
    writing += fields.flatMap { field in
      guard let condition = condition(of: field) else { return write(field, "  ") }
      return ["  if (\(condition)) {"] + write(field, "    ") + ["  }"]
    }
    return [function("read", name, reading), function("write", name, writing)]
  }

  private func functions(_ name: String, _ alternatives: [Alternative]) -> [String] {
    let what = name.cName + "_what"
    var reading = [
      "  *value = (struct \(name.cName)){0};", "  uint8_t what = wire_read_u8(reader);", "  switch (what) {",
    ]
    var writing = [
      "  wire_write_u8(writer, (uint8_t)value->what);", "  switch (value->what) {",
    ]
    for one in alternatives {
      let label = "  case \(constant(what, one.name)):"
      reading.append(label)
      writing.append(label)
      if let type = one.type {
        let field = Field(name: one.name, type: type)
        reading += read(field, "    ")
        writing += write(field, "    ")
      }
      reading.append("    break;")
      writing.append("    break;")
    }
    reading += ["  default:", "    reader->failed = true;", "    return;", "  }"]
    reading.append("  value->what = (enum \(what))what;")
    writing.append("  }")
    return [function("read", name, reading), function("write", name, writing)]
  }

  private func function(_ verb: String, _ name: String, _ body: [String]) -> String {
    signature(verb, name) + "\n{\n" + body.joined(separator: "\n") + "\n}\n"
  }

  private func next(_ name: String) -> String {
    """
    \(nextSignature(name))
    {
      struct wire_reader record;
      if (!wire_next_record(list, &record)) {
        return false;
      }
      wire_read_\(name.snakeCase)(&record, value);
      return !record.failed;
    }

    """
  }

  private func condition(of field: Field) -> String? {
    field.condition.map {
      "value->\($0.field.snakeCase) == \(constant(conditionType(field).cName, $0.word))"
    }
  }

  private func conditionType(_ field: Field) -> String {
    for frame in description.frames
    where frame.fields.contains(where: { $0.condition != nil && $0.name == field.name }) {
      for other in frame.fields where other.name == field.condition?.field {
        if case .named(let name) = other.type { return name }
      }
    }
    preconditionFailure("a condition names an enumeration")
  }

  // MARK: One field

  private func read(_ field: Field, _ indent: String) -> [String] {
    let place = "value->\(field.cName)"
    switch field.type {
    case .integer(let type): return ["\(indent)\(place) = wire_read_\(type.rawValue)(reader);"]
    case .open: return ["\(indent)\(place) = wire_read_u16(reader);"]
    case .bool: return ["\(indent)\(place) = wire_read_u8(reader) != 0;"]
    case .text: return ["\(indent)\(place) = wire_read_text(reader);"]
    case .bytes: return ["\(indent)\(place) = wire_read_bytes(reader);"]
    case .texts: return ["\(indent)\(place) = wire_read_texts(reader);"]
    case .integers: return ["\(indent)\(place) = wire_read_integers(reader);"]
    case .records(let name):
      return [
        "\(indent)\(place) = wire_read_records(reader);",
        "\(indent)struct wire_elements rest = \(place);",
        "\(indent)struct \(name.cName) record;",
        "\(indent)while (rest.count > 0) {",
        "\(indent)  if (!wire_next_\(name.snakeCase)(&rest, &record)) {",
        "\(indent)    reader->failed = true;",
        "\(indent)    return;",
        "\(indent)  }",
        "\(indent)}",
      ]
    case .optional(let name):
      return [
        "\(indent)value->has_\(field.cName) = wire_read_u8(reader) != 0;",
        "\(indent)if (value->has_\(field.cName)) {",
        "\(indent)  wire_read_\(name.snakeCase)(reader, &\(place));",
        "\(indent)}",
      ]
    case .named(let name):
      switch description.declaration(named: name) {
      case .id: return ["\(indent)\(place) = wire_read_u64(reader);"]
      case .enumeration(let enumeration): return readEnumeration(enumeration, place, indent)
      case .bits(let bits):
        let mask = bits.members.reduce(0) { $0 | $1.value }
        let reading = "\(indent)\(place) = wire_read_\(bits.type.rawValue)(reader);"
        guard bits.isStrict else { return [reading] }
        return [
          reading, "\(indent)if ((\(place) & ~\(mask)) != 0) {", "\(indent)  reader->failed = true;",
          "\(indent)}",
        ]
      default: return ["\(indent)wire_read_\(name.snakeCase)(reader, &\(place));"]
      }
    }
  }

  /// The values of each enumeration, except the errors, are contiguous from 0. So the generated code checks
  /// only an upper bound.
  private func readEnumeration(_ enumeration: Enumeration, _ place: String, _ indent: String) -> [String] {
    precondition(
      enumeration.members.enumerated().allSatisfy { $0.offset == $0.element.value },
      "\(enumeration.name) has gaps")
    let last = constant(enumeration.name.cName, enumeration.members.last?.name ?? "")
    return [
      "\(indent)\(place) = (enum \(enumeration.name.cName))wire_read_enumeration(reader, \(last));"
    ]
  }

  private func write(_ field: Field, _ indent: String) -> [String] {
    let place = "value->\(field.cName)"
    switch field.type {
    case .integer(let type): return ["\(indent)wire_write_\(type.rawValue)(writer, \(place));"]
    case .open: return ["\(indent)wire_write_u16(writer, \(place));"]
    case .bool: return ["\(indent)wire_write_u8(writer, \(place));"]
    case .text: return ["\(indent)wire_write_text(writer, \(place));"]
    case .bytes: return ["\(indent)wire_write_bytes(writer, \(place));"]
    case .texts: return ["\(indent)wire_write_texts(writer, \(place));"]
    case .integers, .records: return ["\(indent)wire_write_elements(writer, \(place));"]
    case .optional(let name):
      return [
        "\(indent)wire_write_u8(writer, value->has_\(field.cName));",
        "\(indent)if (value->has_\(field.cName)) {",
        "\(indent)  wire_write_\(name.snakeCase)(writer, &\(place));",
        "\(indent)}",
      ]
    case .named(let name):
      switch description.declaration(named: name) {
      case .id: return ["\(indent)wire_write_u64(writer, \(place));"]
      case .enumeration: return ["\(indent)wire_write_u8(writer, (uint8_t)\(place));"]
      case .bits(let bits): return ["\(indent)wire_write_\(bits.type.rawValue)(writer, \(place));"]
      default: return ["\(indent)wire_write_\(name.snakeCase)(writer, &\(place));"]
      }
    }
  }
}
