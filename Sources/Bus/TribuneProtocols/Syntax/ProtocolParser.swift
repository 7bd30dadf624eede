// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Reads the protocols of one source, by recursive descent.
///
///     file     = { protocol }
///     protocol = "protocol" NAME [ ":" NAME { "," NAME } ] "{" { type | method } "}"
///     type     = "type" NAME ( struct | enum )
///     method   = ( "optional" | "required" ) ( "should" | "will" | "did" | "value" ) NAME struct [ "->" struct ]
///     struct   = "(" [ NAME ":" value { "," NAME ":" value } ] ")"
///     enum     = "(" NAME { "," NAME } ")"
///     value    = "bool" | "int" | "float" | "string" | "object" | NAME | struct | enum
///              | "[" "]" value | "[" "string" "]" value | "?" value
///
/// After an error, the parser continues with the next member or protocol, to report all errors of a source.
/// Keywords are not reserved: a field can have the name `type`.
struct ProtocolParser {
  /// Thrown after the parser has reported an error. The parser then looks for a place to continue.
  struct Misread: Error {}

  let file: String
  var lexer: Lexer
  var token: Token
  /// The token after `token`. By this token, the parser distinguishes keywords from names.
  var following: Token
  private var list = DiagnosticList()
  private var declarations: [ProtocolDeclaration] = []
  var current: ProtocolDeclaration

  static func parse(_ source: ProtocolSource) -> ([ProtocolDeclaration], [ProtocolDiagnostic]) {
    var parser = ProtocolParser(source)
    parser.parseFile()
    return (parser.declarations, parser.list.diagnostics)
  }

  private init(_ source: ProtocolSource) {
    file = source.file
    lexer = Lexer(source.text)
    token = lexer.next()
    following = lexer.next()
    current = ProtocolDeclaration(
      name: "", documentation: "", location: SourceLocation(file: source.file, line: 1, column: 1))
  }

  private mutating func parseFile() {
    while token.kind != .end {
      if text != "protocol" {
        diagnoseUnexpected("\"protocol\"")
        skip { !$0.startsProtocol }
      } else if declarations.count < ProtocolLimits.protocolsPerSource {
        parseProtocol()
      } else {
        diagnose("there are more than \(ProtocolLimits.protocolsPerSource) protocols in one source")
        skip { _ in true }
      }
    }
    if let place = lexer.malformedComment {
      diagnose("the comment is not UTF-8", SourceLocation(file: file, line: place.line, column: place.column))
    }
  }

  // MARK: Protocols

  private mutating func parseProtocol() {
    let mistakes = list.count
    let documentation = takeDocumentation()
    advance()
    current = ProtocolDeclaration(name: "", documentation: documentation, location: location)
    if parseHead() { parseBody() }
    current.isBroken = list.count > mistakes
    // Drop a protocol without a name, because other protocols cannot inherit from it.
    if !current.name.isEmpty { declarations.append(current) }
  }

  private mutating func parseHead() -> Bool {
    do throws(Misread) {
      current.name = try take(Word.protocolName)
      if token.kind == .colon {
        repeat {
          advance()
          try parseParent()
        } while token.kind == .comma
      }
      try take(.leftBrace, expected: current.parents.isEmpty ? "\":\" or \"{\"" : "\",\" or \"{\"")
      return true
    } catch {
      skip {
        $0.token.kind != .leftBrace && $0.token.kind != .rightBrace && !$0.startsMember && !$0.startsProtocol
      }
      let membersFollow = startsMember || token.kind == .leftBrace
      if token.kind == .leftBrace || token.kind == .rightBrace { advance() }
      return membersFollow
    }
  }

  private mutating func parseParent() throws(Misread) {
    let location = location
    let name = try take(Word.protocolName)
    if current.parents.contains(where: { $0.name == name }) {
      diagnose("\"\(name)\" is named as a parent twice", location)
    } else if current.parents.count == ProtocolLimits.parentsPerProtocol {
      diagnose("a protocol has at most \(ProtocolLimits.parentsPerProtocol) parents", location)
      throw Misread()
    } else {
      current.parents.append(ProtocolDeclaration.Reference(name: name, location: location))
    }
  }

  private mutating func parseBody() {
    while token.kind != .rightBrace {
      if token.kind == .end || startsProtocol {
        diagnoseUnexpected("a method, a type or \"}\"")
        return
      }
      do throws(Misread) {
        try parseMember()
      } catch {
        skip { $0.token.kind != .rightBrace && !$0.startsMember && !$0.startsProtocol }
      }
    }
    advance()
  }

  // MARK: Members

  private mutating func parseMember() throws(Misread) {
    let documentation = takeDocumentation()
    switch text {
    case "type":
      advance()
      try parseTypeDefinition(documentation)
    case "optional", "required":
      let isRequired = text == "required"
      advance()
      try parseMethod(isRequired: isRequired, documentation)
    default:
      throw unexpected("\"optional\", \"required\", \"type\" or \"}\"")
    }
  }

  private mutating func parseTypeDefinition(_ documentation: String) throws(Misread) {
    let location = location
    let name = try take(Word.typeName)
    guard token.kind == .leftParenthesis else { throw unexpected("\"(\"") }
    let type = try parseType()
    if let first = current.types.first(where: { $0.name == name }) {
      diagnose("type \"\(name)\" is defined already at \(first.location)", location)
    } else if current.types.count == ProtocolLimits.typesPerProtocol {
      diagnose("a protocol has at most \(ProtocolLimits.typesPerProtocol) types", location)
    } else {
      current.types.append(
        ProtocolDeclaration.TypeDefinition(
          name: name, type: type, documentation: documentation, location: location))
    }
  }

  private mutating func parseMethod(isRequired: Bool, _ documentation: String) throws(Misread) {
    let kind = try parseKind()
    let location = location
    let name = try take(Word.methodName)
    check(name, of: kind, location)
    let parameters = try parseSignature()
    var result: [ValueType.Field]?
    if token.kind == .arrow {
      if kind != .value {
        diagnose("found \"->\", but only a value method has a result, and \"\(name)\" is a \(kind) method")
      }
      advance()
      result = try parseSignature()
    } else if kind == .value {
      throw unexpected("\"->\" and the result of \"\(name)\"")
    }
    if let first = current.methods.first(where: { $0.name == name }) {
      diagnose("method \"\(name)\" is declared already at \(first.location)", location)
    } else if current.methods.count == ProtocolLimits.methodsPerProtocol {
      diagnose("a protocol has at most \(ProtocolLimits.methodsPerProtocol) methods", location)
    } else {
      current.methods.append(
        MethodDeclaration(
          name: name, kind: kind, isRequired: isRequired, parameters: parameters, result: result,
          documentation: documentation, location: location))
    }
  }

  private mutating func parseKind() throws(Misread) -> MethodKind {
    let text = text
    guard let kind = MethodKind.allCases.first(where: { String(describing: $0) == text }) else {
      throw unexpected("\"should\", \"will\", \"did\" or \"value\"")
    }
    advance()
    return kind
  }

  private mutating func parseSignature() throws(Misread) -> [ValueType.Field] {
    let location = location
    let fields = try parseFields(depth: 0)
    if fields.text.utf8.count > ProtocolLimits.signatureLength {
      diagnose("the signature is longer than \(ProtocolLimits.signatureLength) bytes", location)
    }
    return fields
  }

  /// The bus recognizes questions, and the notifications for delegates, by the form of their names. So a
  /// method's name must have the form of its kind, and a value method's name must not look like a question.
  private mutating func check(_ name: String, of kind: MethodKind, _ location: SourceLocation) {
    if NameSyntax.isReserved(name.utf8Bytes) {
      diagnose(
        "\"\(name)\" is under \"\(NameSyntax.reservedPrefix)\", which is reserved for the bus", location)
    }
    if let space = WellKnownQuestions.space(ofTheHost: name) {
      diagnose(
        "\"\(name)\" is under \"\(space).\", where a protocol would keep out delegates of any object",
        location)
    }
    switch kind {
    case .should, .will, .did:
      if NameSyntax.hasVerb(behind: String(describing: kind), in: name.utf8Bytes) { return }
      diagnose(
        "\"\(name)\" is a \(kind) method, but its last part does not begin with \"\(kind)\" and an upper case letter",
        location)
    case .value:
      guard NameSyntax.hasVerb(behind: "should", in: name.utf8Bytes) else { return }
      diagnose("\"\(name)\" is a value method, but has the name of a question", location)
    }
  }

  // MARK: Tokens

  var location: SourceLocation { SourceLocation(file: file, line: token.line, column: token.column) }

  /// The text of the current token. Empty if the token is not a word.
  var text: String { token.kind == .word ? lexer.text(of: token) : "" }

  private var startsProtocol: Bool { text == "protocol" && following.kind == .word }

  private var startsMember: Bool {
    guard following.kind == .word else { return false }
    return switch text {
    case "optional", "required", "type": true
    default: false
    }
  }

  mutating func advance() {
    token = following
    if token.kind != .end { following = lexer.next() }
  }

  private mutating func skip(while isSkipped: (borrowing ProtocolParser) -> Bool) {
    while token.kind != .end, isSkipped(self) { advance() }
  }

  mutating func take(_ kind: Token.Kind, expected: String) throws(Misread) {
    guard token.kind == kind else { throw unexpected(expected) }
    advance()
  }

  mutating func take(_ word: Word) throws(Misread) -> String {
    let text = text
    guard word.fits(text) else { throw unexpected(word.expected) }
    advance()
    return text
  }

  private mutating func takeDocumentation() -> String {
    guard let comment = token.comment else { return "" }
    let documentation = lexer.documentation(in: comment)
    if documentation.utf8.count > ProtocolLimits.documentationLength {
      diagnose("the comment above is longer than \(ProtocolLimits.documentationLength) bytes")
      return ""
    }
    return documentation
  }

  // MARK: Errors

  mutating func diagnose(_ message: String, _ place: SourceLocation? = nil) {
    list.append(ProtocolDiagnostic(place ?? location, message))
  }

  mutating func diagnoseUnexpected(_ expected: String) { diagnose("found \(found), expected \(expected)") }

  mutating func unexpected(_ expected: String) -> Misread {
    diagnoseUnexpected(expected)
    return Misread()
  }

  private var found: String {
    if token.kind == .end { return "the end" }
    let bytes = lexer.bytes[token.range]
    guard let text = String(validating: bytes.prefix(160), as: UTF8.self) ?? (bytes.count > 160 ? "" : nil)
    else { return "bytes that are not UTF-8" }
    let shown = bytes.count > 40 ? text.prefix(40) + "…" : text[...]
    return "\"\(String(shown).escaped)\""
  }
}
