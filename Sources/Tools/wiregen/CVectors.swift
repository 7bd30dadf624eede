// SPDX-License-Identifier: Apache-2.0

/// Generates the C client's test of the golden vectors (Tests/Unit/TribuneWireTests/Vectors).
struct CVectors {
  private let codec: CCodec

  init(_ description: Description) { codec = CCodec(description) }

  private var description: Description { codec.description }

  var source: String {
    let head =
      cNotice("Prints fields as index.json of the wire's vectors has them, and writes them again.")
        + """

        #include "vectors.h"

        #define PRINT_RECORDS(before, list, type) \\
          do { \\
            struct wire_elements rest = list; \\
            struct wire_##type record; \\
            fputs(before, out); \\
            for (const char *mark = "["; wire_next_##type(&rest, &record); mark = ",") { \\
              print_##type(out, mark, &record); \\
            } \\
            fputs((list).count == 0 ? "[]" : "]", out); \\
          } while (0)

        #define HANDLE_FIELDS(number, type) \\
          case WIRE_KIND_##number: { \\
            struct wire_##type value; \\
            wire_read_##type(reader, &value); \\
            if (reader->failed) { \\
              return false; \\
            } \\
            if (out != NULL) { \\
              print_##type(out, "", &value); \\
            } \\
            if (writer != NULL) { \\
              wire_write_##type(writer, &value); \\
            } \\
            return true; \\
          }


        """
    var parts: [String] = []
    for declaration in codec.declarations {
      switch declaration {
      case .enumeration(let enumeration) where enumeration.name != "ErrorCode":
        parts.append(
          words(enumeration.name.snakeCase + "_words", enumeration.members.map { ($0.value, $0.name) }))
      case .record(let record): parts.append(printing(record.name, record.fields))
      case .frame(let frame):
        switch frame.content {
        case .fields(let fields): parts.append(printing(frame.name, fields))
        case .choice(let alternatives): parts.append(printing(frame.name, alternatives))
        }
      default: break
      }
    }
    parts.append(words("vector_kind_words", description.frames.map { ($0.number, $0.word) }, isShared: true))
    parts.append(handling)
    return head + parts.joined(separator: "\n")
  }

  private func words(_ name: String, _ members: [(Int, String)], isShared: Bool = false) -> String {
    let list = members.map { "[\($0)] = \"\($1)\"," }.joined(separator: " ").replacing("] = ", with: "]=")
    let lines = wrapped(list, after: "  ", width: 120).map { $0.replacing("]=", with: "] = ") }
    let size = isShared ? "256" : ""
    return "\(isShared ? "" : "static ")const char *const \(name)[\(size)] = {\n"
      + lines.joined(separator: "\n") + "\n};\n"
  }

  private func printing(_ name: String, _ fields: [Field]) -> String {
    let fields = fields.sorted { $0.name < $1.name }
    var lines = fields.isEmpty ? ["  (void)value;", "  fputc('{', out);"] : []
    for (place, field) in fields.enumerated() {
      let before = "\(place == 0 ? "{" : ",")\\\"\(field.name)\\\":"
      let printing = printing(field.type, before, "value->\(field.cName)", field.cName)
      guard let condition = field.condition else {
        lines += printing.map { "  " + $0 }
        continue
      }
      precondition(place > 0, "the first field in the alphabet is always there")
      // The index omits absent fields, so the generated code prints only fields that are present.
      lines.append(
        "  if (value->\(condition.field.snakeCase) == \(codec.constant("wire_list_subject", condition.word))) {"
      )
      lines += printing.map { "    " + $0 } + ["  }"]
    }
    return function(name, lines + ["  fputc('}', out);"])
  }

  private func printing(_ name: String, _ alternatives: [Alternative]) -> String {
    var lines = ["  switch (value->what) {"]
    for one in alternatives {
      lines.append("  case \(codec.constant(name.cName + "_what", one.name)):")
      let before = "{\\\"\(one.name)\\\":"
      lines +=
        (one.type.map { printing($0, before, "value->\(one.name.snakeCase)", one.name.snakeCase) }
        ?? ["fputs(\"\(before)null\", out);"]).map { "    " + $0 }
      lines.append("    break;")
    }
    return function(name, lines + ["  }", "  fputc('}', out);"])
  }

  /// The generated function prints `before`, the text in front of the value, and then the value.
  private func function(_ name: String, _ lines: [String]) -> String {
    let value = "const struct \(name.cName) *value"
    return "static void print_\(name.snakeCase)(FILE *out, const char *before, \(value))\n{\n"
      + "  fputs(before, out);\n"
      + "\(lines.joined(separator: "\n"))\n}\n"
  }

  private func printing(_ type: FieldType, _ before: String, _ place: String, _ name: String) -> [String] {
    let arguments = "(out, \"\(before)\", \(place));"
    switch type {
    case .integer(.i32): return ["fprintf(out, \"\(before)%\" PRId32, \(place));"]
    case .integer, .open: return ["vector_print_number" + arguments]
    case .bool: return ["fprintf(out, \"\(before)%s\", \(place) ? \"true\" : \"false\");"]
    case .text: return ["vector_print_text" + arguments]
    case .bytes: return ["vector_print_bytes" + arguments]
    case .texts: return ["vector_print_texts" + arguments]
    case .integers: return ["vector_print_integers" + arguments]
    case .records(let record): return ["PRINT_RECORDS(\"\(before)\", \(place), \(record.snakeCase));"]
    case .optional(let record):
      return [
        "if (value->has_\(name)) {", "  print_\(record.snakeCase)(out, \"\(before)\", &\(place));",
        "} else {",
        "  fputs(\"\(before)null\", out);", "}",
      ]
    case .named(let name):
      switch description.declaration(named: name) {
      case .record: return ["print_\(name.snakeCase)(out, \"\(before)\", &\(place));"]
      case .enumeration: return ["fprintf(out, \"\(before)\\\"%s\\\"\", \(name.snakeCase)_words[\(place)]);"]
      default: return ["vector_print_number" + arguments]
      }
    }
  }

  private var handling: String {
    let signature =
      "bool vector_handle_fields(uint8_t kind, struct wire_reader *reader, FILE *out, struct wire_writer *writer)"
    let cases = description.frames.map {
      "  HANDLE_FIELDS(\($0.word.snakeCase.uppercased()), \($0.name.snakeCase))"
    }
    return
      (["\(signature)", "{", "  switch (kind) {"] + cases + [
        "  default:", "    return false;", "  }", "}", "",
      ])
      .joined(separator: "\n")
  }
}
