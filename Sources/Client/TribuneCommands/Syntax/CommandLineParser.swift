// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Parses a command line by the table of options.
///
/// Options may stand anywhere before `--` or `--exec`, even before the verb. An option with one value may be
/// given only once, because the parser must not ignore a value silently.
struct CommandLineParser {
  enum Request: Equatable, Sendable {
    case run(Invocation)
    case help(VerbName?)
    case version
  }

  struct UsageError: Error, Equatable, Sendable {
    var message: String
    var verb: VerbName?
  }

  private let arguments: [[UInt8]]
  private var position = 0

  private var given: [(row: OptionSyntax, value: Invocation.Value)] = []
  private var words: [String] = []
  private var syntax: VerbSyntax?
  private var command: [[UInt8]]?

  static func parse(_ arguments: [[UInt8]]) throws(UsageError) -> Request {
    var parser = CommandLineParser(arguments: arguments)
    try parser.scan()
    return try parser.request()
  }

  private init(arguments: [[UInt8]]) { self.arguments = arguments }

  private var verb: VerbName? { syntax?.verb }

  private func error(_ message: String) -> UsageError { UsageError(message: message, verb: verb) }

  // MARK: Scanning words and options

  private mutating func scan() throws(UsageError) {
    while position < arguments.count {
      let word = try takeWord()
      if word == "--" {
        try scanBehindDashes()
      } else if word.hasPrefix("--") {
        try scanLong(word)
      } else if word.hasPrefix("-"), word != "-" {
        try scanLetters(word)
      } else {
        add(word)
      }
    }
  }

  private mutating func add(_ word: String) {
    if words.isEmpty { syntax = VerbName(rawValue: word).map { VerbSyntax($0) } }
    words.append(word)
  }

  /// Finds an option of the verb, or else of any verb. `request()` refuses an option that the verb lacks.
  private func option(where matches: (OptionSyntax) -> Bool) -> OptionSyntax? {
    syntax?.options.first(where: matches) ?? CommandTable.anyOption(where: matches)
  }

  /// Takes the verb's command. If the verb takes no command, the remaining words are operands, even `-x`.
  private mutating func scanBehindDashes() throws(UsageError) {
    if syntax?.takesCommand == true {
      try takeCommand(behind: "--")
    } else {
      while position < arguments.count { add(try takeWord()) }
    }
  }

  private mutating func scanLong(_ word: String) throws(UsageError) {
    let body = word.dropFirst(2)
    let equals = body.firstIndex(of: "=")
    let name = String(body[..<(equals ?? body.endIndex)])
    guard let row = option(where: { $0.name == name }) else {
      let known = syntax?.allOptions ?? CommandTable.distinctOptions
      throw error("unknown option --\(name.escaped)\(Self.hint(for: name, among: known))")
    }
    try take(row, attached: equals.map { String(body[body.index(after: $0)...]) })
  }

  private static func hint(for name: String, among options: [OptionSyntax]) -> String {
    Spelling.hint(for: name, among: options.compactMap(\.name)) { "--\($0)" }
  }

  private mutating func scanLetters(_ word: String) throws(UsageError) {
    var letters = word.dropFirst()
    while let letter = letters.popFirst() {
      guard let row = option(where: { $0.letter == letter }) else {
        throw error("unknown option -\(String(letter).escaped)")
      }
      if row.argument == .none {
        try take(row, attached: nil)
      } else {
        try take(row, attached: letters.isEmpty ? nil : String(letters))
        letters = ""
      }
    }
  }

  private mutating func take(_ row: OptionSyntax, attached: String?) throws(UsageError) {
    switch row.argument {
    case .none:
      if attached != nil {
        let hint = row.option == .user ? ": it chooses the bus" : ""
        throw error(
          "\(row.spelling) takes no value\(hint)\(verb == .policy ? "; --as=USER names a user" : "")")
      }
      given.append((row, .flag))
    case .command:
      if attached != nil { throw error("\(row.spelling) takes the rest of the line: write it without =") }
      given.append((row, .flag))
      if position < arguments.count, arguments[position] == Array("--".utf8) { position += 1 }
      try takeCommand(behind: row.spelling)
    case .optionalSpan where attached == nil:
      try refuseSpan(behind: row)
      given.append((row, .flag))
    default:
      let text = if let attached { attached } else { try takeValue(of: row) }
      given.append((row, try value(text, of: row)))
    }
  }

  /// Refuses a value that looks like an option. Otherwise, `--override --dry-run` would override with the
  /// reason "--dry-run".
  private mutating func takeValue(of row: OptionSyntax) throws(UsageError) -> String {
    guard position < arguments.count else { throw error("\(row.spelling) needs a value: \(row.usage)") }
    let word = try takeWord()
    if word.hasPrefix("-"), let second = word.dropFirst().first, !second.isNumber {
      throw error("\(row.spelling) needs a value: \(row.usage), also for one that begins with a dash")
    }
    return word
  }

  /// Refuses a time span as the word behind an option like `--wait`, whose value follows `=`. Otherwise,
  /// `post a.b --wait 5` would post the JSON 5.
  private func refuseSpan(behind row: OptionSyntax) throws(UsageError) {
    guard position < arguments.count, let next = String(validating: arguments[position], as: UTF8.self) else {
      return
    }
    do throws(TimeSpan.SyntaxError) {
      _ = try TimeSpan(next)
    } catch {
      return
    }
    throw error("the value of \(row.spelling) follows =: \(row.spelling)=\(next.escaped)")
  }

  private func value(_ text: String, of row: OptionSyntax) throws(UsageError) -> Invocation.Value {
    switch row.argument {
    case .none, .command: return .flag
    // `request()` checks choices, because they depend on the verb, which may still be unknown here.
    case .text, .choice: return row.isRepeatable ? .words([text]) : .text(text)
    case .list(let known):
      let words = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
      for word in words where !known.contains(word) {
        throw error(
          "\(row.spelling) takes a list of \(known.joined(separator: " and ")), not \"\(word.escaped)\""
            + Spelling.hint(for: word, among: known) { $0 })
      }
      return .words(words)
    case .number(let range):
      guard let number = Int64(text) else {
        throw error("\(row.spelling) needs a number, not \"\(text.escaped)\"")
      }
      guard range.contains(number) else {
        throw error("\(row.spelling) must be \(range.formatted), not \(number)")
      }
      return .number(number)
    case .spanOrInfinity where text == "infinity" || text == "forever": return .flag
    case .span, .optionalSpan, .spanOrInfinity:
      do {
        return .span(try TimeSpan(text))
      } catch {
        throw self.error("\(row.spelling): \(error)")
      }
    }
  }

  /// Takes the command. Refuses a command that begins with a dash: it is an option in the wrong place.
  private mutating func takeCommand(behind mark: String) throws(UsageError) {
    command = Array(arguments[position...])
    position = arguments.count
    guard let word = command?.first, word.first == UInt8(ascii: "-") else { return }
    let order = ["tribunectl", verb?.rawValue ?? "VERB", "[OPTION…]", syntax?.operands ?? "", mark, "CMD…"]
    throw error(
      "\(String(decoding: word, as: UTF8.self).escaped) follows \(mark), where the command begins. "
        + "Options come first: \(order.filter { !$0.isEmpty }.joined(separator: " "))")
  }

  private mutating func takeWord() throws(UsageError) -> String {
    guard let word = String(validating: arguments[position], as: UTF8.self) else {
      throw error(
        "argument \(position + 1) is not UTF-8: \(String(decoding: arguments[position], as: UTF8.self).escaped)"
      )
    }
    position += 1
    return word
  }

  // MARK: Building the request

  private func request() throws(UsageError) -> Request {
    let options = Set(given.map(\.row.option))
    guard let word = words.first else {
      if options.contains(.help) { return .help(nil) }
      if options.contains(.version) { return .version }
      throw error("a verb is missing")
    }
    guard let verb, let syntax else {
      throw error("unknown verb \"\(word.escaped)\"\(VerbName.hint(for: word))")
    }
    var invocation = Invocation(verb: verb, operands: Array(words.dropFirst()), command: command ?? [])
    let allowed = syntax.allOptions
    for (row, value) in given {
      guard let own = allowed.first(where: { $0.option == row.option }) else {
        let hint = row.name.map { Self.hint(for: $0, among: allowed) } ?? ""
        throw error("\(verb.rawValue) has no option \(row.spelling)\(hint)")
      }
      if row.isRepeatable, case .words(let words) = value {
        invocation.values[row.option] = .words(invocation.words(row.option) + words)
        continue
      }
      guard invocation.values[row.option] == nil || row.argument == .none else {
        throw error("\(row.spelling) is given twice")
      }
      if case (.choice(let words), .text(let text)) = (own.argument, value), !words.contains(text) {
        throw error(
          "\(row.spelling) is one of \(words.joined(separator: ", ")), not \"\(text.escaped)\""
            + Spelling.hint(for: text, among: words) { $0 })
      }
      invocation.values[row.option] = value
    }
    if options.contains(.help) { return .help(verb) }
    if options.contains(.version) { return .version }
    try check(invocation, by: syntax)
    return .run(invocation)
  }

  private func check(_ invocation: Invocation, by syntax: VerbSyntax) throws(UsageError) {
    let verb = syntax.verb.rawValue
    guard invocation.operands.count >= syntax.operandCount.lowerBound else {
      throw error("\(verb) needs \(syntax.operands)")
    }
    guard invocation.operands.count <= syntax.operandCount.upperBound else {
      let first = invocation.operands[syntax.operandCount.upperBound]
      if syntax.takesCommand, command == nil {
        throw error("\"\(first.escaped)\" is unexpected: the command follows --")
      }
      throw error("\"\(first.escaped)\" is unexpected: \(verb) takes \(syntax.operandsText)")
    }
    if syntax.needsCommand || command != nil || invocation.has(.exec), invocation.command.isEmpty {
      throw error(syntax.takesCommand ? "\(verb) needs a command after --" : "--exec needs a command")
    }
  }
}

extension VerbSyntax {
  fileprivate var operandsText: String { operands.isEmpty ? "no operands" : operands }
}

extension ClosedRange<Int64> {
  fileprivate var formatted: String {
    upperBound == .max ? "at least \(lowerBound)" : "\(lowerBound) to \(upperBound)"
  }
}

struct Invocation: Equatable, Sendable {
  enum Value: Equatable, Sendable {
    case flag
    case text(String)
    case span(TimeSpan)
    case number(Int64)
    case words([String])
  }

  var verb: VerbName
  var operands: [String] = []
  var command: [[UInt8]] = []
  var values: [Option: Value] = [:]
  /// The userInfo that was read from standard input.
  var input: [UInt8]?

  func has(_ option: Option) -> Bool { values[option] != nil }

  func text(_ option: Option) -> String? {
    guard case .text(let text) = values[option] else { return nil }
    return text
  }

  /// True if the value has only blanks, as in `--why="$REASON"` with an unset variable.
  func isBlank(_ option: Option) -> Bool { text(option)?.allSatisfy(\.isWhitespace) == true }

  func words(_ option: Option) -> [String] {
    guard case .words(let words) = values[option] else { return [] }
    return words
  }

  func span(_ option: Option) -> TimeSpan? {
    guard case .span(let span) = values[option] else { return nil }
    return span
  }

  func number(_ option: Option) -> Int64? {
    guard case .number(let number) = values[option] else { return nil }
    return number
  }
}
