// SPDX-License-Identifier: Apache-2.0

/// The syntax of names and objects. The bus checks each name and object once, when the frame arrives.
package enum NameSyntax {
  package static let reservedPrefix = "tribune."

  /// True for tokens of one or more characters `[A-Za-z0-9_-]`, separated by dots, up to 255 bytes in all.
  package static func isName(_ bytes: RawSpan) -> Bool {
    guard bytes.byteCount <= WireLimits.nameLength else { return false }
    var tokenLength = 0
    for offset in 0..<bytes.byteCount {
      let byte = bytes.integer(at: offset, as: UInt8.self)
      if byte == UInt8(ascii: ".") {
        guard tokenLength > 0 else { return false }
        tokenLength = 0
      } else {
        guard isTokenByte(byte) else { return false }
        tokenLength += 1
      }
    }
    return tokenLength > 0
  }

  /// True for UTF-8 of at most 255 bytes without control characters. True also for the empty object.
  package static func isObject(_ bytes: RawSpan) -> Bool {
    guard bytes.byteCount <= WireLimits.objectLength else { return false }
    var isASCII = true
    for offset in 0..<bytes.byteCount {
      let byte = bytes.integer(at: offset, as: UInt8.self)
      guard byte >= 0x20, byte != 0x7F else { return false }
      if byte >= 0x80 { isASCII = false }
    }
    return isASCII || isPrintableUTF8(bytes)
  }

  /// True if a part between slashes is `*` or `**`, as in an `ObjectPattern`.
  package static func hasWildcard(_ object: RawSpan) -> Bool {
    let slash = UInt8(ascii: "/")
    var (starCount, length) = (0, 0)
    for offset in 0...object.byteCount {
      let byte = offset < object.byteCount ? object.integer(at: offset, as: UInt8.self) : slash
      if byte == slash {
        if starCount == length, (1...2).contains(length) { return true }
        (starCount, length) = (0, 0)
      } else {
        starCount += byte == UInt8(ascii: "*") ? 1 : 0
        length += 1
      }
    }
    return false
  }

  /// `reservedPrefix` as an integer, for a fast comparison with the name of every post.
  private static let reservedPrefixBytes: UInt64 = 0x2E65_6E75_6269_7274

  package static func isReserved(_ name: RawSpan) -> Bool {
    name.byteCount > 8 && name.integer(at: 0, as: UInt64.self) == reservedPrefixBytes
  }

  /// True if the last token is `will` or `did` followed by a verb, as in `willClose`. Delegates receive such
  /// notifications, as in AppKit. False for the bus's own names, such as `tribune.bus.didReload`, because
  /// these names are not about an action on an object. The name must be valid.
  package static func isWillOrDid(_ name: RawSpan) -> Bool {
    if isReserved(name) { return false }
    let token = lastToken(of: name)
    return token.isVerb(behind: "will") || token.isVerb(behind: "did")
  }

  /// True if the last token is `word` followed by a verb. With the word `should`, the result is true for
  /// `shouldClose`, but false for `shoulder`. The name must be valid.
  package static func hasVerb(behind word: String, in name: RawSpan) -> Bool {
    lastToken(of: name).isVerb(behind: word)
  }

  /// The name under which a delegate posts that its answer has changed: `window.mayClose` for
  /// `window.shouldClose`.
  package static func may(forQuestion name: String) -> String? {
    guard hasVerb(behind: "should", in: name.utf8Bytes) else { return nil }
    let (space, last) = split(name)
    return "\(space)may\(last.dropFirst("should".utf8.count))"
  }

  /// The name of the notification that announces an action: `window.willClose` for `window.shouldClose`.
  package static func will(forQuestion name: String) -> String? {
    guard hasVerb(behind: "should", in: name.utf8Bytes) else { return nil }
    let (space, last) = split(name)
    return "\(space)will\(last.dropFirst("should".utf8.count))"
  }

  /// For a *may*, *will* or *did* notification, the question about the same action. nil for all other names.
  package static func question(aboutMessage name: String) -> String? {
    messagePrefix(of: name).map { question(about: name, behind: $0) }
  }

  /// The question that `name` probably means. `name` can be a question, an action, or a notification about an
  /// action. Returns nil if the last token is only a prefix, such as *should* or *did*, without a verb.
  package static func question(meantBy name: String) -> String? {
    let last = split(name).last
    guard last != "should", !messagePrefixes.contains(String(last)) else { return nil }
    return question(
      about: name, behind: messagePrefix(of: name) ?? (last.hasPrefix("should") ? "should" : ""))
  }

  /// True if a valid pattern can match the name of a question, which ends with *should* and a verb.
  package static func canMatchQuestion(_ pattern: String) -> Bool {
    pattern.hasSuffix("*") || hasVerb(behind: "should", in: pattern.utf8Bytes)
  }

  private static let messagePrefixes = ["may", "will", "didFailTo", "did"]

  private static func messagePrefix(of name: String) -> String? {
    messagePrefixes.first { hasVerb(behind: $0, in: name.utf8Bytes) }
  }

  private static func question(about name: String, behind prefix: String) -> String {
    let (space, last) = split(name)
    let verb = last.dropFirst(prefix.count)
    return "\(space)should\(verb.prefix(1).uppercased())\(verb.dropFirst())"
  }

  package static func split(_ name: String) -> (space: Substring, last: Substring) {
    let start = name.lastIndex(of: ".").map { name.index(after: $0) } ?? name.startIndex
    return (name[..<start], name[start...])
  }

  @_lifetime(copy name)
  private static func lastToken(of name: RawSpan) -> RawSpan {
    var start = name.byteCount
    while start > 0, name.integer(at: start - 1, as: UInt8.self) != UInt8(ascii: ".") { start -= 1 }
    return name.extracting(droppingFirst: start)
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  private static func isPrintableUTF8(_ bytes: RawSpan) -> Bool {
    guard let text = String(validating: [UInt8](bytes), as: UTF8.self) else { return false }
    return text.unicodeScalars.allSatisfy { !(0x80...0x9F).contains($0.value) }
  }
}

/// A pattern for names. `*` matches one token. `**` must be the last token, and matches one or more tokens.
package struct Pattern: Hashable, Sendable, CustomStringConvertible {
  package let text: String

  package static let any = Pattern(trusted: "**")

  package init(_ text: String) throws(WireError) {
    guard Self.isPattern(text.utf8Bytes) else {
      throw WireError(.invalidPattern, "\"\(text.escaped)\" is not a valid name pattern")
    }
    self.text = text
  }

  init(trusted text: String) { self.text = text }

  package var description: String { text }

  package var isLiteral: Bool { !text.utf8.contains(UInt8(ascii: "*")) }

  package var matchesWillOrDid: Bool {
    text.utf8.last == UInt8(ascii: "*") || NameSyntax.isWillOrDid(text.utf8Bytes)
  }

  package var isReserved: Bool { NameSyntax.isReserved(text.utf8Bytes) }

  /// True if an observation of this pattern receives `name`. A leading star does not match the bus's own
  /// names, just as a leading wildcard in MQTT does not match topics that begin with `$`.
  package func observes(_ name: RawSpan) -> Bool {
    NameSyntax.isReserved(name) == isReserved && matches(name)
  }

  package enum Token: ~Escapable {
    case text(RawSpan)
    case one
    case oneOrMore

    @_lifetime(copy bytes)
    fileprivate init(_ bytes: RawSpan) {
      switch bytes.byteCount {
      case 1 where bytes.isStar(at: 0): self = .one
      case 2 where bytes.isStar(at: 0) && bytes.isStar(at: 1): self = .oneOrMore
      default: self = .text(bytes)
      }
    }
  }

  package func forEachToken(_ body: (Token) -> Void) {
    _ = Self.allTokens(of: text.utf8Bytes) { token, _ in
      body(token)
      return true
    }
  }

  private static func allTokens(of text: RawSpan, _ isFine: (Token, _ isLast: Bool) -> Bool) -> Bool {
    var start = 0
    while start <= text.byteCount {
      let end = text.tokenEnd(from: start)
      guard isFine(Token(text.extracting(start..<end)), end == text.byteCount) else { return false }
      start = end + 1
    }
    return true
  }

  package var tokenCount: Int { text.utf8Bytes.tokenCount }

  /// The name must be valid.
  package func matches(_ name: RawSpan) -> Bool {
    let pattern = text.utf8Bytes
    var position = 0
    var offset = 0
    while position < pattern.byteCount {
      guard offset < name.byteCount else { return false }
      if pattern.isStar(at: position) {
        if pattern.isStar(at: position + 1) { return true }
        offset = name.tokenEnd(from: offset)
        position += 1
      } else {
        let end = pattern.tokenEnd(from: position)
        let nameEnd = name.tokenEnd(from: offset)
        guard
          pattern.extracting(position..<end).isEqual(to: name.extracting(offset..<nameEnd))
        else { return false }
        position = end
        offset = nameEnd
      }
      // `position` and `offset` are now at a dot or at the end.
      let patternEnds = position == pattern.byteCount
      let nameEnds = offset == name.byteCount
      if patternEnds || nameEnds { return patternEnds && nameEnds }
      position += 1
      offset += 1
    }
    return false
  }

  private static func isPattern(_ text: RawSpan) -> Bool {
    guard text.byteCount <= WireLimits.nameLength else { return false }
    return allTokens(of: text) { token, isLast in
      switch token {
      case .one: true
      case .oneOrMore: isLast
      case .text(let bytes): NameSyntax.isName(bytes)
      }
    }
  }
}

extension RawSpan {
  package func requireName() throws(WireError) {
    guard NameSyntax.isName(self) else {
      throw WireError(.invalidName, "\"\(String(repairing: self).escaped)\" is not a valid name")
    }
  }

  package func requireObject() throws(WireError) {
    guard NameSyntax.isObject(self) else {
      throw WireError(.invalidObject, "\"\(String(repairing: self).escaped)\" is not a valid object")
    }
  }

  /// Throws if the bytes are not a valid object, or if they contain a wildcard.
  package func requireOneObject() throws(WireError) {
    try requireObject()
    guard !NameSyntax.hasWildcard(self) else {
      throw WireError(
        .invalidObject,
        "\"\(String(repairing: self).escaped)\" has a wildcard: name one object, or none for any")
    }
  }

  package func requireUnreservedName() throws(WireError) {
    guard !NameSyntax.isReserved(self) else {
      throw WireError(.reservedName, "names under \(NameSyntax.reservedPrefix) are reserved for the bus")
    }
  }

  /// The span must not be empty.
  package var tokenCount: Int {
    var count = 1
    for offset in 0..<byteCount where integer(at: offset, as: UInt8.self) == UInt8(ascii: ".") { count += 1 }
    return count
  }

  /// True if the span begins with `word` and a verb. A verb does not begin with a lower-case letter, because
  /// such a letter would continue the word.
  fileprivate func isVerb(behind word: String) -> Bool {
    let word = word.utf8Bytes
    guard byteCount > word.byteCount, extracting(first: word.byteCount).isEqual(to: word)
    else { return false }
    let next = integer(at: word.byteCount, as: UInt8.self)
    return !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains(next)
  }

  func isStar(at offset: Int) -> Bool {
    offset < byteCount && integer(at: offset, as: UInt8.self) == UInt8(ascii: "*")
  }

  func tokenEnd(from offset: Int) -> Int {
    var end = offset
    while end < byteCount, integer(at: end, as: UInt8.self) != UInt8(ascii: ".") { end += 1 }
    return end
  }
}

extension String {
  package var isBlank: Bool {
    unicodeScalars.allSatisfy { $0.properties.isWhitespace || $0.actsOnTerminals }
  }

  /// The text with escapes for characters that can act on a terminal, break a line, or be invisible.
  package var escaped: String {
    var result = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case _ where scalar.actsOnTerminals: result += "\\u{" + String(scalar.value, radix: 16) + "}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension Unicode.Scalar {
  /// True for control characters, line separators and invisible characters. False for variation selectors,
  /// which only change the look of the previous character.
  package var actsOnTerminals: Bool {
    switch value {
    case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029: true
    case ..<0xAD: false
    default: properties.isDefaultIgnorableCodePoint && !properties.isVariationSelector
    }
  }
}
