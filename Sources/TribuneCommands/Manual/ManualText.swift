// SPDX-License-Identifier: Apache-2.0

/// The part of tribunectl(1) that comes from the option table. The rest of the page is in docs/man.
struct ManualText {
  let table: CommandTable

  /// Every verb with its operands and its own options.
  var verbs: [String] { table.verbs.flatMap(text(of:)) }

  /// The options that every verb has.
  var options: [String] { table.globals.flatMap(item) }

  private func text(of syntax: VerbSyntax) -> [String] {
    let head = [
      Roff.bold(syntax.verb.rawValue), syntax.options.isEmpty ? "" : "[OPTION…]", Roff.plain(syntax.usage),
    ]
    let paragraphs = syntax.description.isEmpty ? [syntax.summary + "."] : syntax.description
    var lines = Roff.item([head.filter { !$0.isEmpty }.joined(separator: " ")], paragraphs)
    if !syntax.options.isEmpty {
      lines += [".RS"] + syntax.options.flatMap(item) + [".RE"]
    }
    return lines
  }

  private func item(of option: OptionSyntax) -> [String] {
    let term = option.spellings.map(Roff.bold).joined(separator: ", ") + Roff.plain(option.usageOfArgument)
    return Roff.item([term], [option.summary.capitalizedAtStart + "."])
  }
}

extension String {
  fileprivate var capitalizedAtStart: String { prefix(1).uppercased() + dropFirst() }
}
