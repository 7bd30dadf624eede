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

extension CommandTable {
  static let text = """
    [OPTION…] VERB [ARGUMENT…]

    Posts notifications and asks for permission over the Tribune bus.

       --address=unix:PATH      the bus's address, instead of $TRIBUNE_ADDRESS
       --system                 use the system's bus, whatever the environment says
       --user                   use the bus of this user's service manager
       --json=short|pretty|off  print JSON: one object per line, or indented
    -j                          like --json=pretty on a terminal, --json=short elsewhere
    -o --output=FORMAT          table, json, yaml, or a template for each entry, such as '{name}: {why}',
                                with fields of the JSON
       --no-legend              omit headers and totals
       --no-pager               ignored: tribunectl never uses a pager
    -q --quiet                  print only problems, no verdict or ready line
       --timeout=SPAN           how long to wait for the bus (30s)
       --reconnect=SPAN|infinity
                                how long to try to reconnect (10s); 0: do not try; infinity: try even
                                after the bus shuts down
    -h --help                   print this help
       --version                print the version
    """
}
