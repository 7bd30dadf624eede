// SPDX-License-Identifier: Apache-2.0

/// Formats text for the macros of man(7).
package enum Roff {
  package static func text(_ text: String) -> String {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    return protectingStart(words.map { word(String($0)) }.joined(separator: " "))
  }

  package static func literal(_ text: String) -> String { protectingStart(plain(text)) }

  package static func bold(_ text: String) -> String { "\\fB\(plain(text))\\fR" }

  package static func item(_ terms: [String], _ paragraphs: [String]) -> [String] {
    guard let first = terms.first else { return [] }
    var lines = [".TP", first] + terms.dropFirst().flatMap { [".TQ", $0] }
    for (index, paragraph) in paragraphs.enumerated() {
      lines += (index == 0 ? [] : [".IP"]) + self.paragraph(paragraph)
    }
    return lines
  }

  static func paragraph(_ text: String) -> [String] {
    let lines = text.split(separator: "\n")
    return lines.count > 1 || text.hasPrefix("    ")
      ? [".EX"] + lines.map { literal(String($0)) } + [".EE"] : [self.text(text)]
  }

  private static func word(_ word: String) -> String {
    let opening = word.prefix { "(\"[".contains($0) }
    let rest = word.dropFirst(opening.count)
    guard rest.hasPrefix("--"), rest.count > 2 else { return plain(word) }
    let name = rest.prefix { $0 == "-" || $0 == "=" || $0.isLetter }
    return plain(String(opening)) + bold(String(name)) + plain(String(rest.dropFirst(name.count)))
  }

  package static func plain(_ text: String) -> String {
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

  /// Protects a line that begins with a dot or an apostrophe, which roff would interpret as a request.
  private static func protectingStart(_ line: String) -> String {
    line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
  }
}
