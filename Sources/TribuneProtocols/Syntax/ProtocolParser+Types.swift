// SPDX-License-Identifier: Apache-2.0

extension ProtocolParser {
  /// - Parameter depth: how many types enclose this one.
  mutating func parseType(depth: Int = 1) throws(Misread) -> ValueType {
    if depth > ProtocolLimits.typeDepth {
      report("types lie in each other at most \(ProtocolLimits.typeDepth) deep")
      throw Misread()
    }
    switch token.kind {
    case .question:
      advance()
      if token.kind == .question { throw unexpected("a type, nullable once") }
      return .nullable(try parseType(depth: depth + 1))
    case .leftBracket:
      return try parseCollection(depth: depth)
    case .leftParenthesis:
      return try parseParentheses(depth: depth)
    case .word:
      return try parseTypeName()
    default:
      throw unexpected("a type")
    }
  }

  private mutating func parseTypeName() throws(Misread) -> ValueType {
    let location = location
    let type: ValueType
    switch text {
    case "bool": type = .bool
    case "int": type = .int
    case "float": type = .float
    case "string": type = .string
    case "object": type = .object
    default:
      guard Word.typeName.fits(text) else { throw unexpected("a type") }
      current.references.append(ProtocolDeclaration.Reference(name: text, location: location))
      type = .named(text)
    }
    advance()
    return type
  }

  private mutating func parseCollection(depth: Int) throws(Misread) -> ValueType {
    advance()
    if token.kind == .rightBracket {
      advance()
      return .array(try parseType(depth: depth + 1))
    }
    guard text == "string" else { throw unexpected("\"]\" or \"string\"") }
    advance()
    try take(.rightBracket, expected: "\"]\"")
    return .map(try parseType(depth: depth + 1))
  }

  /// The token after the first word tells a struct from an enum.
  private mutating func parseParentheses(depth: Int) throws(Misread) -> ValueType {
    let start = following
    if start.kind == .rightParenthesis { return .structure(try parseFields(depth: depth)) }
    advance()
    if token.kind == .word, following.kind == .comma || following.kind == .rightParenthesis {
      return .enumeration(try parseValues())
    }
    return .structure(try parseFields(depth: depth, isOpen: true))
  }

  /// Parses the fields of a struct.
  ///
  /// - Parameter isOpen: whether the opening parenthesis has been consumed.
  mutating func parseFields(depth: Int, isOpen: Bool = false) throws(Misread) -> [ValueType.Field] {
    if !isOpen { try take(.leftParenthesis, expected: "\"(\"") }
    var fields: [ValueType.Field] = []
    if token.kind == .rightParenthesis {
      advance()
      return fields
    }
    while true {
      let location = location
      let name = try take(Word.fieldName)
      try take(.colon, expected: "\":\" and the type of \"\(name)\"")
      let type = try parseType(depth: depth + 1)
      if fields.contains(where: { $0.name == name }) {
        report("there is a field \"\(name)\" already", location)
      } else if fields.count == ProtocolLimits.fieldsPerType {
        report("a type has at most \(ProtocolLimits.fieldsPerType) fields", location)
        throw Misread()
      } else {
        fields.append(ValueType.Field(name: name, type: type))
      }
      if token.kind == .comma {
        advance()
      } else {
        try take(.rightParenthesis, expected: "\",\" or \")\"")
        return fields
      }
    }
  }

  /// Parses the values of an enum, after the opening parenthesis.
  private mutating func parseValues() throws(Misread) -> [String] {
    var values: [String] = []
    while true {
      let location = location
      let value = try take(Word.enumValue)
      if values.contains(value) {
        report("there is a value \"\(value)\" already", location)
      } else if values.count == ProtocolLimits.fieldsPerType {
        report("a type has at most \(ProtocolLimits.fieldsPerType) values", location)
        throw Misread()
      } else {
        values.append(value)
      }
      if token.kind == .comma {
        advance()
      } else {
        try take(.rightParenthesis, expected: "\",\" or \")\"")
        return values
      }
    }
  }
}
