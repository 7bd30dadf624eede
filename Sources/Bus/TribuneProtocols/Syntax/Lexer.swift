// SPDX-License-Identifier: Apache-2.0

struct Token {
  enum Kind: Equatable {
    /// A keyword or a name. The parser tells by the context which one it is.
    case word
    case leftBrace, rightBrace, leftParenthesis, rightParenthesis, leftBracket, rightBracket
    case colon, comma, question, arrow
    case stray
    case end
  }

  var kind: Kind
  var range: Range<Int>
  var line: Int
  var column: Int
  /// The comment that ends on the line above the token; nil if there is none.
  var comment: Range<Int>?
}

struct Lexer {
  let bytes: [UInt8]
  private var offset = 0
  private var line = 1
  private var column = 1
  private var lastTokenLine = 0
  private(set) var malformedComment: (line: Int, column: Int)?

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    // Some editors write a byte order mark at the start of a file.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
  }

  mutating func next() -> Token {
    var comment: Range<Int>?
    var commentLine = 0
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): advance()
      case UInt8(ascii: "#"):
        let lineOfComment = line
        let start = offset
        skipComment()
        if lastTokenLine == lineOfComment {
          comment = nil
        } else if let previous = comment, commentLine == lineOfComment - 1 {
          comment = previous.lowerBound..<offset
        } else {
          comment = start..<offset
        }
        commentLine = lineOfComment
      default:
        return token(after: commentLine == line - 1 ? comment : nil)
      }
    }
    return Token(kind: .end, range: offset..<offset, line: line, column: column, comment: nil)
  }

  private mutating func token(after comment: Range<Int>?) -> Token {
    var token = Token(kind: .stray, range: offset..<offset, line: line, column: column, comment: comment)
    lastTokenLine = line
    if isWord(at: offset) {
      token.kind = .word
      while isWord(at: offset) { advance() }
    } else if isArrow(at: offset) {
      token.kind = .arrow
      advance()
      advance()
    } else {
      token.kind = mark(bytes[offset])
      advance()
    }
    token.range = token.range.lowerBound..<offset
    return token
  }

  private func mark(_ byte: UInt8) -> Token.Kind {
    switch byte {
    case UInt8(ascii: "{"): .leftBrace
    case UInt8(ascii: "}"): .rightBrace
    case UInt8(ascii: "("): .leftParenthesis
    case UInt8(ascii: ")"): .rightParenthesis
    case UInt8(ascii: "["): .leftBracket
    case UInt8(ascii: "]"): .rightBracket
    case UInt8(ascii: ":"): .colon
    case UInt8(ascii: ","): .comma
    case UInt8(ascii: "?"): .question
    default: .stray
    }
  }

  /// Non-ASCII bytes are part of a word, so diagnostics show the whole invalid name.
  private func isWord(at offset: Int) -> Bool {
    guard offset < bytes.count else { return false }
    return switch bytes[offset] {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), 0x80...:
      true
    case UInt8(ascii: "-"): !isArrow(at: offset)
    default: false
    }
  }

  private func isArrow(at offset: Int) -> Bool {
    offset + 1 < bytes.count && bytes[offset] == UInt8(ascii: "-") && bytes[offset + 1] == UInt8(ascii: ">")
  }

  private mutating func skipComment() {
    let start = (offset, line, column)
    while offset < bytes.count, bytes[offset] != UInt8(ascii: "\n") { advance() }
    guard malformedComment == nil else { return }
    if String(validating: bytes[start.0..<offset], as: UTF8.self) == nil {
      malformedComment = (start.1, start.2)
    }
  }

  private mutating func advance() {
    if bytes[offset] == UInt8(ascii: "\n") {
      line += 1
      column = 1
    } else if bytes[offset] & 0xC0 != 0x80 {
      column += 1
    }
    offset += 1
  }

  func text(of token: Token) -> String { String(decoding: bytes[token.range], as: UTF8.self) }

  func documentation(in comment: Range<Int>) -> String {
    let lines = bytes[comment].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return lines.map { line in
      var line = line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
      if line.first == UInt8(ascii: "#") { line.removeFirst() }
      if line.first == UInt8(ascii: " ") { line.removeFirst() }
      while let last = line.last, last <= UInt8(ascii: " ") { line.removeLast() }
      return String(decoding: line, as: UTF8.self)
    }.joined(separator: "\n")
  }
}
