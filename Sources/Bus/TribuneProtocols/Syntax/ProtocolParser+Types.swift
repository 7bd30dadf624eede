// SPDX-License-Identifier: Apache-2.0

extension ProtocolParser {
  /// - Parameter depth: the nesting level of the type; 1 for the outermost type.
  mutating func parseType(depth: Int = 1) throws(Misread) -> ValueType {
    if depth > ProtocolLimits.typeDepth {
      diagnose("types are nested more than \(ProtocolLimits.typeDepth) deep")
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

  /// Parses a struct or an enum. The token after the first word decides which.
  private mutating func parseParentheses(depth: Int) throws(Misread) -> ValueType {
    let start = following
    if start.kind == .rightParenthesis { return .structure(try parseFields(depth: depth)) }
    advance()
    if token.kind == .word, following.kind == .comma || following.kind == .rightParenthesis {
      return .enumeration(try parseList(of: "value", .enumValue) { _, name throws(Misread) in name })
    }
    return .structure(try parseFields(depth: depth, isOpen: true))
  }

  /// - Parameter isOpen: true if the parser has consumed the opening parenthesis.
  mutating func parseFields(depth: Int, isOpen: Bool = false) throws(Misread) -> [ValueType.Field] {
    if !isOpen { try take(.leftParenthesis, expected: "\"(\"") }
    if token.kind == .rightParenthesis {
      advance()
      return []
    }
    return try parseList(of: "field", .fieldName) { parser, name throws(Misread) in
      try parser.take(.colon, expected: "\":\" and the type of \"\(name)\"")
      return ValueType.Field(name: name, type: try parser.parseType(depth: depth + 1))
    }
  }

  private mutating func parseList<Item>(
    of thing: String, _ word: Word, _ parseRest: (inout ProtocolParser, String) throws(Misread) -> Item
  ) throws(Misread) -> [Item] {
    var items: [Item] = []
    var names: Set<String> = []
    while true {
      let location = location
      let name = try take(word)
      let item = try parseRest(&self, name)
      if names.contains(name) {
        diagnose("there is a \(thing) \"\(name)\" already", location)
      } else if items.count == ProtocolLimits.fieldsPerType {
        diagnose("a type has at most \(ProtocolLimits.fieldsPerType) \(thing)s", location)
        throw Misread()
      } else {
        names.insert(name)
        items.append(item)
      }
      if token.kind == .comma {
        advance()
      } else {
        try take(.rightParenthesis, expected: "\",\" or \")\"")
        return items
      }
    }
  }
}
