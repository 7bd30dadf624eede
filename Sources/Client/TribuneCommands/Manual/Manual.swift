// SPDX-License-Identifier: Apache-2.0

/// Generates parts of tribunectl(1), and the shell completions, from the option table.
package enum Manual {
  package static var verbs: [String] { CommandTable.verbs.flatMap(text(of:)) }

  package static var options: [String] { CommandTable.globals.flatMap(item) }

  static func completion(for shell: String) -> String? {
    switch shell {
    case "bash": BashCompletion().text
    case "fish": FishCompletion().text
    case "zsh": ZshCompletion().text
    default: nil
    }
  }

  private static func text(of syntax: VerbSyntax) -> [String] {
    let head = [
      Roff.bold(syntax.verb.rawValue), syntax.options.isEmpty ? "" : "[OPTION…]", Roff.plain(syntax.usage),
    ]
    var lines = Roff.item(
      [head.filter { !$0.isEmpty }.joined(separator: " ")],
      (syntax.examples.isEmpty ? [] : [syntax.examples]) + syntax.paragraphs)
    if !syntax.options.isEmpty { lines += [".RS"] + syntax.options.flatMap(item) + [".RE"] }
    return lines
  }

  private static func item(of option: OptionSyntax) -> [String] {
    let term = option.spellings.map(Roff.bold).joined(separator: ", ") + Roff.plain(option.usageOfArgument)
    let summary: String = option.summary.prefix(1).uppercased() + option.summary.dropFirst()
    return Roff.item([term], [summary + "."])
  }
}
