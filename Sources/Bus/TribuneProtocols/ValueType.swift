// SPDX-License-Identifier: Apache-2.0

package indirect enum ValueType: Hashable, Sendable, CustomStringConvertible {
  case bool
  /// A signed 64-bit integer.
  case int
  case float
  case string
  case object
  case array(ValueType)
  /// A JSON object whose members all have this type.
  case map(ValueType)
  /// A value or null. A field of this type can be omitted.
  case nullable(ValueType)
  case structure([Field])
  case enumeration([String])
  case named(String)

  package struct Field: Hashable, Sendable {
    package var name: String
    package var type: ValueType

    package var isNullable: Bool {
      if case .nullable = type { true } else { false }
    }
  }

  /// The type as text, which parses to the same type.
  package var description: String {
    switch self {
    case .bool: "bool"
    case .int: "int"
    case .float: "float"
    case .string: "string"
    case .object: "object"
    case .array(let element): "[]\(element)"
    case .map(let value): "[string]\(value)"
    case .nullable(let type): "?\(type)"
    case .structure(let fields): fields.text
    case .enumeration(let values): "(\(values.joined(separator: ", ")))"
    case .named(let name): name
    }
  }
}

extension [ValueType.Field] {
  package var text: String { "(\(map { "\($0.name): \($0.type)" }.joined(separator: ", ")))" }
}
