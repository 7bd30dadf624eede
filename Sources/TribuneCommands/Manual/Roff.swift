// SPDX-License-Identifier: Apache-2.0

/// Text as the macros of man(7) want it.
package enum Roff {
  /// The text, in which nothing is taken for a request or an escape. What looks like an option is bold.
  package static func text(_ text: String) -> String {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    return protectingStart(words.map { word(String($0)) }.joined(separator: " "))
  }

  /// The text, printed just as it is.
  package static func literal(_ text: String) -> String {
    protectingStart(escaped(text))
  }

  package static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

  /// A part of a line, in which nothing is taken for an escape.
  package static func plain(_ text: String) -> String { escaped(text) }

  /// An item of a list, and the text beside it.
  package static func item(_ terms: [String], _ paragraphs: [String]) -> [String] {
    guard let first = terms.first else { return [] }
    var lines = [".TP", first] + terms.dropFirst().flatMap { [".TQ", $0] }
    for (index, paragraph) in paragraphs.enumerated() {
      lines += (index == 0 ? [] : [".IP"]) + [text(paragraph)]
    }
    return lines
  }

  private static func word(_ word: String) -> String {
    let opening = word.prefix { "(\"[".contains($0) }
    let rest = word.dropFirst(opening.count)
    guard rest.hasPrefix("--"), rest.count > 2 else { return escaped(word) }
    let name = rest.prefix { $0 == "-" || $0 == "=" || $0.isLetter }
    return escaped(String(opening)) + bold(String(name)) + escaped(String(rest.dropFirst(name.count)))
  }

  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { escaped, character in
      switch character {
      case "\\": escaped += "\\e"
      case "-": escaped += "\\-"
      case "\"": escaped += "\\(dq"
      case "`": escaped += "\\(ga"
      case "^": escaped += "\\(ha"
      case "~": escaped += "\\(ti"
      default: escaped.append(character)
      }
    }
  }

  /// A line that begins with a dot or an apostrophe would be a request.
  private static func protectingStart(_ line: String) -> String {
    line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
  }
}
