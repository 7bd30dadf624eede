// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Looks up the ids of users and groups. `user` and `group` return nil if the host does not have the name.
package struct NameLookup: Sendable {
  package static let none = NameLookup(user: { _ in nil }, group: { _ in nil })

  package typealias Find = @Sendable (String) throws -> UInt32?

  let user: Find
  let group: Find

  package init(user: @escaping Find, group: @escaping Find) {
    (self.user, self.group) = (user, group)
  }
}

/// A parser for policy files and expectations. After a mistake, the parser continues with the next line, so
/// it reports every wrong line, but only one mistake for each.
package struct PolicyParser {
  private static let usage = "a line is: allow|deny ACTION[,ACTION…] NAME… [object:OBJECT] [max=SPAN] WHO"
  private static let testUsage = "a line is: expect allow|deny ACTION NAME [object:OBJECT] WHO"
  private static let linesMax = 100_000

  private let lookup: NameLookup
  /// The results of finished lookups. They save time, because even a long policy names only few users.
  private var known: [ExactText: Condition] = [:]
  package private(set) var lines: [PolicyLine] = []
  package private(set) var tests: [PolicyTest] = []
  package private(set) var diagnostics: [PolicyDiagnostic] = []

  package init(_ lookup: NameLookup) { self.lookup = lookup }

  package mutating func read(_ text: [UInt8], file: String, from first: Int = 1) {
    forEachLine(of: text, file, from: first) { (parser, words, reader) throws(Mistake) in
      guard parser.lines.count < Self.linesMax else {
        throw Mistake(1, "a policy has at most \(Self.linesMax) lines")
      }
      parser.lines.append(try parser.line(words, reader))
    }
  }

  package mutating func read(tests text: [UInt8], file: String) {
    forEachLine(of: text, file) { (parser, words, reader) throws(Mistake) in
      parser.tests.append(try parser.test(words, reader))
    }
  }

  // MARK: Lines

  private struct Word {
    let text: String
    let column: Int
  }

  private struct Mistake: Error {
    let column: Int
    let message: String

    init(_ column: Int, _ message: String) { (self.column, self.message) = (column, message) }
  }

  private struct LineReader {
    let file: String
    let number: Int
    let text: String
  }

  private mutating func forEachLine(
    of bytes: [UInt8], _ file: String, from first: Int = 1,
    _ body: (inout PolicyParser, [Word], LineReader) throws(Mistake) -> Void
  ) {
    var bytes = bytes[...]
    // Some editors write a byte order mark at the start of a file.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (number, line) in zip(first..., lines) {
      do throws(Mistake) {
        guard let text = String(validating: line, as: UTF8.self) else { throw Mistake(1, "it is not UTF-8") }
        if line.dropLast().contains(UInt8(ascii: "\r")) {
          throw Mistake(1, "it contains a carriage return: lines must end in line feeds")
        }
        let words = Self.words(in: text)
        guard let first = words.first, let last = words.last else { continue }
        let start = text.utf8.index(text.startIndex, offsetBy: first.column - 1)
        let end = text.utf8.index(text.startIndex, offsetBy: last.column - 1 + last.text.utf8.count)
        try body(&self, words, LineReader(file: file, number: number, text: String(text[start..<end])))
      } catch {
        diagnostics.append(
          PolicyDiagnostic(
            isWarning: false, file: file, line: number, column: error.column, message: error.message.escaped))
      }
    }
  }

  /// Splits a line into words. A word that begins with `#` begins a comment.
  private static func words(in line: String) -> [Word] {
    var words: [Word] = []
    for word in line.utf8.split(whereSeparator: { [0x20, 0x09, 0x0D].contains($0) }) {
      if word.first == UInt8(ascii: "#") { break }
      let column = line.utf8.distance(from: line.startIndex, to: word.startIndex) + 1
      words.append(Word(text: String(Substring(word)), column: column))
    }
    return words
  }

  private mutating func line(_ words: [Word], _ reader: LineReader) throws(Mistake) -> PolicyLine {
    let effect: PolicyLine.Effect
    switch words[0].text {
    case "allow": effect = .allow
    case "deny": effect = .deny
    default: throw Mistake(words[0].column, "\"\(words[0].text)\" is neither allow nor deny; \(Self.usage)")
    }
    guard words.count >= 4 else { throw Mistake(words[0].column, Self.usage) }
    let actions = try Self.actions(words[1])
    var names: [NameTemplate] = []
    var object: ObjectTemplate?
    var objectColumn = 0
    var holdMax: TimeSpan?
    for word in words[2..<words.count - 1] {
      if let text = word.text.value(after: "max=") {
        guard holdMax == nil else { throw Mistake(word.column, "a line has one max= at most") }
        guard effect == .allow, actions == ActionSet(.hold) else {
          throw Mistake(word.column, "max= is for lines that allow hold, and no other action")
        }
        holdMax = try Self.holdMax(text, word)
        continue
      }
      if let text = word.text.value(after: "object:") {
        guard object == nil else { throw Mistake(word.column, "a line has one object: at most") }
        object = try Self.object(text, word)
        objectColumn = word.column
        continue
      }
      guard !Self.isCondition(word.text) else {
        throw Mistake(word.column, "who it is for comes last, in one word: user:ann,group:operators")
      }
      guard object == nil, holdMax == nil else {
        throw Mistake(word.column, "\(object == nil ? "max=" : "object:") comes after the names")
      }
      do throws(WireError) {
        names.append(try NameTemplate(word.text))
      } catch {
        throw Mistake(
          word.column,
          "\"\(word.text)\" is not a pattern: a name, with * for a token and a last ** for one or more, and %U for the user's id"
        )
      }
    }
    guard !names.isEmpty else { throw Mistake(words[2].column, "the names are missing; \(Self.usage)") }
    try requireAskable(words[2...].prefix(names.count), for: actions, effect, reader)
    if let object, !actions.isDisjoint(with: .aboutQuestions) {
      for name in names {
        try require(object.text, at: objectColumn, toBeOf: name.text, effect, reader)
      }
    }
    let (conditions, texts) = try who(words[words.count - 1], effect, reader)
    return PolicyLine(
      effect: effect, actions: actions, names: names, object: object, holdMax: holdMax, who: conditions,
      whoTexts: texts,
      origin: PolicyLine.Origin(file: reader.file, number: reader.number), text: reader.text)
  }

  /// Checks for names that are never asked, such as misspelt questions. Warns about them in an allow line.
  /// Throws in an expectation, and in a deny line, because a denial of such a name would have no effect.
  ///
  /// - Parameter effect: the effect of the line, or nil for an expectation.
  private mutating func requireAskable(
    _ names: ArraySlice<Word>, for actions: ActionSet, _ effect: PolicyLine.Effect?, _ reader: LineReader
  ) throws(Mistake) {
    for name in names {
      let isMisspelt = WellKnownQuestions.meant(by: name.text) != nil
      // If `isQuestion` and `isHeld` are false, the name can belong to a notification or a value query.
      let isQuestion =
        NameSyntax.split(name.text).last.lowercased().hasPrefix("should")
        || (name.text.hasSuffix("*")
          ? !actions.isDisjoint(with: .aboutQuestions) : actions.isSubset(of: .aboutQuestions))
      let isHeld = actions != .all && !actions.isDisjoint(with: .onlyAboutQuestions)
      guard isHeld ? !WellKnownQuestions.canBeAsked(name.text) : isQuestion && isMisspelt else { continue }
      let doubt = "\"\(name.text)\" is never asked: \(WellKnownQuestions.hint(for: name.text))"
      guard effect == .allow else { throw Mistake(name.column, doubt) }
      warn(doubt, at: name.column, reader)
    }
  }

  private mutating func require(
    _ object: String, at column: Int, toBeOf name: String, _ effect: PolicyLine.Effect?, _ reader: LineReader
  ) throws(Mistake) {
    guard let meant = WellKnownQuestions.object(meantBy: object, for: name) else { return }
    let doubt = "\"\(object)\" is no object of \(name): did you mean \(meant)?"
    guard effect == .allow else { throw Mistake(column, doubt) }
    warn(doubt, at: column, reader)
  }

  private mutating func warn(_ doubt: String, at column: Int, _ reader: LineReader) {
    diagnostics.append(
      PolicyDiagnostic(
        isWarning: true, file: reader.file, line: reader.number, column: column, message: doubt.escaped))
  }

  private static func actions(_ word: Word) throws(Mistake) -> ActionSet {
    if word.text == "*" { return .all }
    var actions: ActionSet = []
    for (name, column) in parts(of: word) { actions.insert(ActionSet(try action(name, at: column))) }
    return actions
  }

  private static func action(_ name: String, at column: Int) throws(Mistake) -> Action {
    if let action = Action(name: name) { return action }
    throw Mistake(
      column, "\"\(name)\" is no action; there are \(Action.names.joined(separator: ", "))")
  }

  private static func object(_ text: String, _ word: Word) throws(Mistake) -> ObjectTemplate {
    guard let object = ObjectTemplate(text) else {
      throw Mistake(
        word.column,
        "\"\(text)\" is not a pattern of objects: an object, with * for a part between slashes and a last ** for the rest"
      )
    }
    return object
  }

  private static func holdMax(_ text: String, _ word: Word) throws(Mistake) -> TimeSpan {
    let span: TimeSpan
    do throws(TimeSpan.SyntaxError) {
      span = try TimeSpan(text)
    } catch {
      throw Mistake(word.column, "max=: \(error)")
    }
    guard span.duration >= .seconds(1) else { throw Mistake(word.column, "max= is at least 1s") }
    return span
  }

  // MARK: Who

  private static let conditionPrefixes = ["user:", "group:", "unit:"]

  private static func isCondition(_ text: String) -> Bool {
    conditionPrefixes.contains { text.value(after: $0) != nil }
  }

  private static func parts(of word: Word) -> [(text: String, column: Int)] {
    word.text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { part in
      (
        String(Substring(part)),
        word.column + word.text.utf8.distance(from: word.text.startIndex, to: part.startIndex)
      )
    }
  }

  /// Parses the conditions of a line. A line whose conditions exclude all processes has no effect. Such
  /// conditions are a mistake in a deny line or an expectation, and only cause a warning in an allow line.
  ///
  /// - Parameter effect: the effect of the line. It is nil for an expectation, whose conditions describe one
  ///   process.
  private mutating func who(
    _ word: Word, _ effect: PolicyLine.Effect?, _ reader: LineReader
  ) throws(Mistake) -> (conditions: [Condition], texts: [String]) {
    let parts = Self.parts(of: word)
    var conditions: [Condition] = []
    for (text, column) in parts {
      let condition = try condition(text, at: column)
      let doubt: String?
      switch condition {
      case .unknown:
        let lookup = effect == .deny ? "; an id needs no lookup" : ""
        doubt = "this host has no \(text)" + (effect == nil ? "" : ", so the line matches nobody\(lookup)")
      case .unit(let glob) where effect == nil && Condition.hasWildcard(glob):
        doubt = "an expectation is about one unit, and \"\(glob)\" has a wildcard"
      default: doubt = condition.doubt(after: conditions)
      }
      if let doubt {
        guard effect == .allow else { throw Mistake(column, doubt) }
        warn(doubt, at: column, reader)
      }
      conditions.append(condition)
    }
    return (conditions, parts.map(\.text))
  }

  private mutating func condition(_ text: String, at column: Int) throws(Mistake) -> Condition {
    if let unit = text.value(after: "unit:") {
      guard !unit.isEmpty, !unit.utf8.contains(UInt8(ascii: "[")) else {
        throw Mistake(
          column, "\"\(unit)\" is not a unit, in which * can stand for any text and ? for a character")
      }
      guard !unit.utf8.contains(UInt8(ascii: "/")) else {
        throw Mistake(
          column, "\"\(unit)\" has a slash: a line can name the system's units, not those of a user's manager"
        )
      }
      return .unit(unit)
    }
    if text == "user:*" { return .anyUser }
    if let known = known[ExactText(text)] { return known }
    let condition: Condition
    if let name = text.value(after: "user:") {
      condition = try id(of: name, "user", at: column, lookup.user).map { .user($0) } ?? .unknown
    } else if let name = text.value(after: "group:") {
      condition = try id(of: name, "group", at: column, lookup.group).map { .group($0) } ?? .unknown
    } else {
      throw Mistake(column, "\"\(text)\" does not say who: write user:NAME, group:NAME or unit:NAME")
    }
    known[ExactText(text)] = condition
    return condition
  }

  private func id(
    of name: String, _ what: String, at column: Int, _ find: (String) throws -> UInt32?
  ) throws(Mistake) -> UInt32? {
    guard !name.isEmpty else { throw Mistake(column, "the name of the \(what) is missing") }
    if name.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
      // The id -1 never belongs to a user or group: chown(2) and similar calls interpret it as "no change".
      guard let id = UInt32(name), id != .max else {
        throw Mistake(column, "\"\(name)\" is not the id of a \(what)")
      }
      return id
    }
    guard !name.utf8.contains(UInt8(ascii: "*")) else {
      throw Mistake(column, "the \(what) \"\(name)\" has a *, which only user:* and unit: can have")
    }
    do {
      return try find(name)
    } catch {
      throw Mistake(column, "the \(what) \"\(name)\" cannot be looked up: \(error)")
    }
  }

  // MARK: Expectations

  private mutating func test(_ words: [Word], _ reader: LineReader) throws(Mistake) -> PolicyTest {
    guard words[0].text == "expect", words.count == 5 || words.count == 6 else {
      throw Mistake(words[0].column, Self.testUsage)
    }
    let isAllowed: Bool
    switch words[1].text {
    case "allow": isAllowed = true
    case "deny": isAllowed = false
    default: throw Mistake(words[1].column, Self.testUsage)
    }
    let action = try Self.action(words[2].text, at: words[2].column)
    try requireAskable(words[3...3], for: ActionSet(action), nil, reader)
    let pattern: Pattern
    do throws(WireError) {
      pattern = try Pattern(words[3].text)
    } catch {
      throw Mistake(words[3].column, error.message)
    }
    var object: String?
    if words.count == 6 {
      guard let text = words[4].text.value(after: "object:") else {
        throw Mistake(words[4].column, Self.testUsage)
      }
      try require(text, at: words[4].column, toBeOf: words[3].text, nil, reader)
      object = text
    } else if action.isAboutMessages {
      object = ""
    }
    let request: Request
    do throws(WireError) {
      request = try Request(about: action, pattern, object: object)
    } catch {
      throw Mistake(words[3].column, error.message)
    }
    let last = words[words.count - 1]
    var subject = Subject(user: .max)
    var groups: [UInt32] = []
    for condition in try who(last, nil, reader).conditions {
      switch condition {
      case .user(let user): subject.user = user
      case .group(let group): groups.append(group)
      case .unit(let unit): subject.unit = .known(unit)
      case .anyUser, .unknown: break
      }
    }
    subject.groups = Groups(groups)
    return PolicyTest(
      isAllowed: isAllowed, request: request, subject: subject,
      who: last.text, origin: PolicyLine.Origin(file: reader.file, number: reader.number))
  }
}

extension String {
  fileprivate func value(after prefix: String) -> String? {
    utf8.starts(with: prefix.utf8) ? String(Substring(utf8.dropFirst(prefix.utf8.count))) : nil
  }
}
