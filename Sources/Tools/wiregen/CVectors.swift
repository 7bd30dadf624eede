// SPDX-License-Identifier: Apache-2.0

/// Generates the C client's test of the golden vectors.
struct CVectors {
  private let codec: CCodec

  init(_ description: Description) { codec = CCodec(description) }

  private var description: Description { codec.description }

  var source: String {
    let head =
      cNotice("Prints fields as index.json of the wire's vectors has them, and writes them again.")
        + """

        #include "vectors.h"


        """
    var parts: [String] = []
    for declaration in codec.declarations {
      switch declaration {
      case .enumeration(let enumeration) where enumeration.name != "ErrorCode":
        parts.append(words(enumeration.name, enumeration.members))
      case .record(let record): parts.append(printing(record.name, record.fields))
      case .frame(let frame):
        switch frame.content {
        case .fields(let fields): parts.append(printing(frame.name, fields))
        case .choice(let alternatives): parts.append(printing(frame.name, alternatives))
        }
      default: break
      }
    }
    parts.append(kindWords)
    parts.append(
      perKind("bool vector_print_fields(FILE *out, uint8_t kind, struct wire_reader *reader)") {
        "print_\($0)(out, &value);"
      })
    parts.append(
      perKind("bool vector_copy_fields(uint8_t kind, struct wire_reader *reader, struct wire_writer *writer)")
      {
        "wire_write_\($0)(writer, &value);"
      })
    return head + parts.joined(separator: "\n")
  }

  private var kindWords: String {
    let cases = description.frames.map {
      "  case \(codec.constant("wire_kind", $0.word)):\n    return \"\($0.word)\";\n"
    }.joined()
    return """
      const char *vector_kind_word(uint8_t kind)
      {
        switch (kind) {
      \(cases)  default:
          return "";
        }
      }

      """
  }

  private func words(_ name: String, _ members: [Member]) -> String {
    let cases = members.map { member in
      "  case \(codec.constant(name.cName, member.name)):\n    fputs(\"\\\"\(member.name)\\\"\", out);\n    break;\n"
    }.joined()
    return
      "static void print_\(name.snakeCase)(FILE *out, enum \(name.cName) value)\n{\n  switch (value) {\n\(cases)  }\n}\n"
  }

  private func printing(_ name: String, _ fields: [Field]) -> String {
    var lines = fields.isEmpty ? ["  (void)value;"] : ["  const char *comma = \"\";"]
    lines.append("  fputc('{', out);")
    for field in fields.sorted(by: { $0.name < $1.name }) {
      let printing =
        ["fprintf(out, \"%s\\\"\(field.name)\\\":\", comma);", "comma = \",\";"]
        + self.printing(field.type, "value->\(field.cName)", field.cName)
      guard let condition = field.condition else {
        lines += printing.map { "  " + $0 }
        continue
      }
      // The index omits absent fields.
      lines.append(
        "  if (value->\(condition.field.snakeCase) == \(codec.constant("wire_list_subject", condition.word))) {"
      )
      lines += printing.map { "    " + $0 } + ["  }"]
    }
    if !fields.isEmpty { lines.append("  (void)comma;") }
    lines.append("  fputc('}', out);")
    return function(name, lines)
  }

  private func printing(_ name: String, _ alternatives: [Alternative]) -> String {
    var lines = ["  switch (value->what) {"]
    for one in alternatives {
      lines.append("  case \(codec.constant(name.cName + "_what", one.name)):")
      lines.append("    fputs(\"{\\\"\(one.name)\\\":\", out);")
      lines +=
        (one.type.map { printing($0, "value->\(one.name.snakeCase)", one.name.snakeCase) }
        ?? ["fputs(\"null\", out);"]).map { "    " + $0 }
      lines += ["    fputc('}', out);", "    break;"]
    }
    return function(name, lines + ["  }"])
  }

  private func function(_ name: String, _ lines: [String]) -> String {
    let signature = "static void print_\(name.snakeCase)(FILE *out, const struct \(name.cName) *value)"
    return "\(signature)\n{\n\(lines.joined(separator: "\n"))\n}\n"
  }

  private func printing(_ type: FieldType, _ place: String, _ name: String) -> [String] {
    switch type {
    case .integer(.i32): return ["fprintf(out, \"%\" PRId32, \(place));"]
    case .integer, .open: return ["fprintf(out, \"%\" PRIu64, (uint64_t)\(place));"]
    case .bool: return ["fputs(\(place) ? \"true\" : \"false\", out);"]
    case .text: return ["vector_print_text(out, \(place).data, \(place).length);"]
    case .bytes: return ["vector_print_hexadecimal(out, \(place).data, \(place).length);"]
    case .texts: return ["vector_print_texts(out, \(place));"]
    case .integers: return ["vector_print_integers(out, \(place));"]
    case .records(let record):
      return [
        "struct wire_elements rest = \(place);", "struct \(record.cName) record;", "fputc('[', out);",
        "for (const char *mark = \"\"; wire_next_\(record.snakeCase)(&rest, &record); mark = \",\") {",
        "  fputs(mark, out);", "  print_\(record.snakeCase)(out, &record);", "}", "fputc(']', out);",
      ]
    case .optional(let record):
      return [
        "if (value->has_\(name)) {", "  print_\(record.snakeCase)(out, &\(place));", "} else {",
        "  fputs(\"null\", out);", "}",
      ]
    case .named(let name):
      switch description.declaration(named: name) {
      case .record: return ["print_\(name.snakeCase)(out, &\(place));"]
      case .enumeration: return ["print_\(name.snakeCase)(out, \(place));"]
      default: return ["fprintf(out, \"%\" PRIu64, (uint64_t)\(place));"]
      }
    }
  }

  private func perKind(_ signature: String, _ statement: (String) -> String) -> String {
    var lines = ["  switch (kind) {"]
    for frame in description.frames {
      lines += [
        "  case \(codec.constant("wire_kind", frame.word)): {", "    struct \(frame.name.cName) value;",
        "    wire_read_\(frame.name.snakeCase)(reader, &value);", "    if (reader->failed) {",
        "      return false;", "    }", "    \(statement(frame.name.snakeCase))", "    return true;", "  }",
      ]
    }
    lines += ["  default:", "    return false;", "  }"]
    return "\(signature)\n{\n\(lines.joined(separator: "\n"))\n}\n"
  }
}
