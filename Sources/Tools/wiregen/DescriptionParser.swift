// SPDX-License-Identifier: Apache-2.0

struct DescriptionError: Error, CustomStringConvertible {
  var line: Int
  var message: String

  var description: String { "\(line): \(message)" }
}

/// Parses docs/tribune.wire, whose head describes the syntax.
struct DescriptionParser {
  private struct Line {
    var number: Int
    var isIndented: Bool
    var text: String
    var documentation: String
  }

  private var description = Description()
  private var line = Line(number: 0, isIndented: false, text: "", documentation: "")

  static func parse(_ text: String) throws(DescriptionError) -> Description {
    var parser = DescriptionParser()
    for line in parser.lines(of: text) { try parser.take(line) }
    try parser.check()
    return parser.description
  }

  private func lines(of text: String) -> [Line] {
    var lines: [Line] = []
    for (index, whole) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let parts = whole.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
      let text = parts[0].trimmed
      let documentation = parts.count == 2 ? parts[1].trimmed : ""
      if !text.isEmpty {
        lines.append(
          Line(
            number: index + 1, isIndented: whole.first == " ", text: text, documentation: documentation))
      } else if whole.first == " ", !documentation.isEmpty, !lines.isEmpty {
        // This line continues the documentation of the preceding line.
        lines[lines.count - 1].documentation += " " + documentation
      }
    }
    return lines
  }

  private func error(_ message: String) -> DescriptionError {
    DescriptionError(line: line.number, message: message)
  }

  private mutating func take(_ line: Line) throws(DescriptionError) {
    self.line = line
    if line.isIndented { return try takePart() }
    var words = Words(line.text)
    switch words.next() {
    case "section": description.sections.append(Section(name: words.rest))
    case "limit": try takeLimit(&words)
    case "id": add(.id(name: words.rest, documentation: line.documentation))
    case "enum": try takeEnumeration(&words)
    case "bits": try takeBits(&words)
    case "record": add(.record(Record(name: words.rest, documentation: line.documentation)))
    case "frame": try takeFrame(&words)
    default: throw error("\"\(line.text)\" declares nothing")
    }
  }

  private mutating func add(_ declaration: Declaration) {
    if description.sections.isEmpty { description.sections.append(Section(name: "")) }
    description.sections[description.sections.count - 1].declarations.append(declaration)
  }

  // MARK: Declarations

  private mutating func takeLimit(_ words: inout Words) throws(DescriptionError) {
    let name = words.next()
    guard words.next() == "=", let value = Int(words.rest) else {
      throw error("limit NAME = NUMBER is expected")
    }
    description.limits.append(Limit(name: name, value: value, documentation: line.documentation))
  }

  private mutating func takeEnumeration(_ words: inout Words) throws(DescriptionError) {
    let (name, type) = try named(&words)
    guard words.isAtEnd else { throw error("enum NAME: TYPE is expected") }
    add(.enumeration(Enumeration(name: name, type: type, documentation: line.documentation)))
  }

  private mutating func takeBits(_ words: inout Words) throws(DescriptionError) {
    let (name, type) = try named(&words)
    let attribute = words.rest
    guard attribute.isEmpty || attribute == "strict" else { throw error("\"\(attribute)\" is unknown") }
    add(
      .bits(
        Bits(name: name, type: type, isStrict: attribute == "strict", documentation: line.documentation)))
  }

  /// Reads `NAME: TYPE` and an optional comma.
  private func named(_ words: inout Words) throws(DescriptionError) -> (String, IntegerType) {
    let name = words.next()
    let type = words.next()
    guard name.last == ":",
      let type = IntegerType(rawValue: type.last == "," ? String(type.dropLast()) : type)
    else {
      throw error("NAME: TYPE is expected")
    }
    return (String(name.dropLast()), type)
  }

  private mutating func takeFrame(_ words: inout Words) throws(DescriptionError) {
    let parts = words.rest.split(separator: ",").map(\.trimmed)
    var head = Words(parts[0])
    let name = head.next()
    guard head.next() == "=", let number = Int(head.next()), parts.count >= 2,
      let direction = Frame.Direction(rawValue: parts[1])
    else { throw error("frame NAME = NUMBER WORD, DIRECTION is expected") }
    let attributes = parts[2...]
    let classWords = Set(Classification.all.flatMap(\.words))
    if let word = attributes.first(where: { !classWords.union(["choice", "may be empty"]).contains($0) }) {
      throw error("\"\(word)\" is unknown")
    }
    let classes = attributes.filter(classWords.contains)
    for classification in Classification.all {
      let count = classes.count { classification.words.contains($0) }
      guard count != (direction == .fromBus ? 0 : 1) else { continue }
      let words = classification.words.map { "\"\($0)\"" }.joined(separator: ", ")
      throw error(
        direction == .fromBus
          ? "\(name) does not come from clients: write none of \(words)"
          : "\(name) must say \(classification.documentation): write one of \(words)")
    }
    add(
      .frame(
        Frame(
          name: name, number: number, word: head.rest, direction: direction,
          canBeEmpty: attributes.contains("may be empty"), classes: Array(classes),
          content: attributes.contains("choice") ? .choice([]) : .fields([]),
          documentation: line.documentation)))
  }

  // MARK: Parts

  private mutating func takePart() throws(DescriptionError) {
    guard let section = description.sections.indices.last,
      let last = description.sections[section].declarations.indices.last
    else { throw error("this is a part of nothing") }
    func with(_ declaration: Declaration) throws(DescriptionError) -> Declaration {
      switch declaration {
      case .id(let name, _): throw error("\(name) has no parts")
      case .enumeration(var enumeration):
        enumeration.members.append(try member())
        return .enumeration(enumeration)
      case .bits(var bits):
        bits.members.append(try member())
        return .bits(bits)
      case .record(var record):
        record.fields += try fields()
        return .record(record)
      case .frame(var frame):
        switch frame.content {
        case .fields(let fields): frame.content = .fields(fields + (try self.fields()))
        case .choice(let alternatives): frame.content = .choice(alternatives + [try alternative()])
        }
        return .frame(frame)
      }
    }
    let declarations = description.sections[section].declarations
    description.sections[section].declarations[last] = try with(declarations[last])
  }

  private func member() throws(DescriptionError) -> Member {
    let alternative = try alternative()
    guard alternative.type == nil else { throw error("WORD = NUMBER is expected") }
    return Member(
      name: alternative.name, value: alternative.value, documentation: alternative.documentation)
  }

  private func alternative() throws(DescriptionError) -> Alternative {
    var words = Words(line.text)
    let name = words.next()
    guard words.next() == "=", let value = number(words.next()) else {
      throw error("WORD = NUMBER is expected")
    }
    return Alternative(
      name: name, value: value, type: words.isAtEnd ? nil : try type(words.rest),
      documentation: line.documentation)
  }

  private func number(_ text: String) -> Int? {
    text.hasPrefix("0x") ? Int(text.dropFirst(2), radix: 16) : Int(text)
  }

  private func fields() throws(DescriptionError) -> [Field] {
    let parts = line.text.split(separator: ":", maxSplits: 1).map(\.trimmed)
    guard parts.count == 2 else { throw error("NAME: TYPE is expected") }
    var words = Words(parts[1])
    let first = words.next()
    var field = Field(name: "", type: try type(first == "open" ? "open " + words.next() : first))
    field.documentation = line.documentation
    while !words.isAtEnd {
      let word = words.next()
      switch word {
      case "=": field.defaultValue = words.next()
      case "up":
        guard words.next() == "to" else { throw error("\"up to LIMIT\" is expected") }
        field.limit = words.next()
      case "in":
        guard words.next() == "place" else { throw error("\"in place\" is expected") }
        field.isPatched = true
      case "if":
        let name = words.next()
        guard words.next() == "is" else { throw error("\"if FIELD is WORD\" is expected") }
        field.condition = Field.Condition(field: name, word: words.next())
      default:
        guard let unit = Field.Unit(rawValue: word) else { throw error("\"\(word)\" is unknown") }
        field.unit = unit
      }
    }
    return parts[0].split(separator: ",").map(\.trimmed).enumerated().map { index, name in
      var one = field
      one.name = name
      one.continuesLine = index > 0
      return one
    }
  }

  private func type(_ text: String) throws(DescriptionError) -> FieldType {
    if let integer = IntegerType(rawValue: text) { return .integer(integer) }
    switch text {
    case "bool": return .bool
    case "text": return .text
    case "bytes": return .bytes
    case "[text]": return .texts
    case "[u32]": return .integers
    default: break
    }
    if text.hasPrefix("open ") { return .open(String(text.dropFirst(5))) }
    if text.hasPrefix("["), text.hasSuffix("]") { return .records(String(text.dropFirst().dropLast())) }
    if text.hasSuffix("?") { return .optional(String(text.dropLast())) }
    return .named(text)
  }

  // MARK: Checks

  /// Checks that all references are declared, and that names and numbers are unique.
  private func check() throws(DescriptionError) {
    func checkOnce(_ names: [String], _ what: String) throws(DescriptionError) {
      var seen: Set<String> = []
      for name in names where !seen.insert(name).inserted {
        throw DescriptionError(line: 0, message: "\(what) \(name) is there twice")
      }
    }
    let types = description.types
    try checkOnce(types.map(\.name), "the declaration")
    try checkOnce(description.limits.map(\.name), "the limit")
    try checkOnce(description.frames.map { String($0.number) }, "the kind")
    let names = Set(types.map(\.name))
    let limits = Set(description.limits.map(\.name))
    for declaration in types {
      var fields: [Field] = []
      var used: [FieldType?] = []
      switch declaration {
      case .id: break
      case .enumeration(let enumeration):
        try checkOnce(enumeration.members.map { String($0.value) }, "in \(enumeration.name), the number")
      case .bits(let bits): try checkOnce(bits.members.map { String($0.value) }, "in \(bits.name), the bit")
      case .record(let record): fields = record.fields
      case .frame(let frame):
        fields = frame.fields
        if case .choice(let alternatives) = frame.content { used = alternatives.map(\.type) }
      }
      try checkOnce(fields.map(\.name), "in \(declaration.name), the field")
      for field in fields {
        used.append(field.type)
        if let limit = field.limit, !limits.contains(limit) {
          throw DescriptionError(line: 0, message: "in \(declaration.name), the limit \(limit) is unknown")
        }
      }
      for case .some(let type) in used {
        if let name = type.name, !names.contains(name) {
          throw DescriptionError(line: 0, message: "in \(declaration.name), the type \(name) is unknown")
        }
      }
    }
  }
}

extension FieldType {
  fileprivate var name: String? {
    switch self {
    case .named(let name), .open(let name), .optional(let name), .records(let name): name
    case .integer, .bool, .text, .bytes, .texts, .integers: nil
    }
  }
}

private struct Words {
  private var words: ArraySlice<Substring>

  init(_ text: String) { words = text.split(separator: " ")[...] }

  var isAtEnd: Bool { words.isEmpty }
  var rest: String { words.joined(separator: " ") }

  /// The next word; empty at the end.
  mutating func next() -> String { words.popFirst().map(String.init) ?? "" }
}

extension StringProtocol {
  fileprivate var trimmed: String {
    guard let first = firstIndex(where: { $0 != " " }), let last = lastIndex(where: { $0 != " " }) else {
      return ""
    }
    return String(self[first...last])
  }
}
