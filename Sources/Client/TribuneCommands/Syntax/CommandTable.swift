// SPDX-License-Identifier: Apache-2.0

/// The table of verbs and options, parsed from its text.
///
/// An option takes the same kind of argument with every verb, because it may come before the verb.
enum CommandTable {
  private static let parts = HelpParts(text)

  static var summary: String { parts.paragraphs.joined(separator: " ") }
  static var globals: [OptionSyntax] { parts.options }
  static let verbs = VerbName.allCases.map { VerbSyntax($0) }

  static func anyOption(where matches: (OptionSyntax) -> Bool) -> OptionSyntax? {
    globals.first(where: matches) ?? verbs.flatMap(\.options).first(where: matches)
  }
}

/// The parts of one text, split by bytes for speed: each start of tribunectl splits its own and the verb's.
struct HelpParts {
  private(set) var head: [Substring] = []
  private(set) var examples = ""
  private(set) var paragraphs: [String] = []
  private(set) var options: [OptionSyntax] = []

  init(_ text: String) {
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for part in lines.split(whereSeparator: \.isEmpty) {
      let lines = part.map { Substring($0.drop { $0 == UInt8(ascii: " ") }) }
      if head.isEmpty {
        head = lines
      } else if part.first?.starts(with: "    ".utf8) == true {
        examples = part.map { String(Substring($0)) }.joined(separator: "\n")
      } else if lines[0].utf8.first == UInt8(ascii: "-") {
        for line in lines {
          if line.utf8.first == UInt8(ascii: "-") {
            options.append(OptionSyntax(line))
          } else {
            options[options.count - 1].addToSummary(line)
          }
        }
      } else {
        paragraphs.append(lines.joined(separator: " "))
      }
    }
  }
}
