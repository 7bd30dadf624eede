// SPDX-License-Identifier: Apache-2.0

/// The option table as a completion function for zsh(1).
struct ZshCompletion {
  private let table = CommandTable.standard

  var text: String {
    """
    #compdef tribunectl
    # Made from tribunectl's table of options.

    local curcontext=$curcontext state line ret=1
    typeset -A opt_args
    local -a verbs options

    verbs=(
    \(table.verbs.map { "  \(Self.quoted("\($0.verb.rawValue):\($0.summary)"))" }.joined(separator: "\n"))
    )
    options=(
    \(specifications(of: table.globals))
    )

    # All words after the verb belong to it.
    _arguments -C -s $options '(-): :->verb' '(-)*:: :->rest' && ret=0

    case $state in
      verb) _describe -t verbs verb verbs && ret=0 ;;
      rest)
        case $words[1] in
    \(table.verbs.map(text(of:)).joined(separator: "\n"))
        esac
        _arguments -s -S $options && ret=0
        ;;
    esac

    return ret

    """
  }

  private func text(of verb: VerbSyntax) -> String {
    let own = Set(verb.options.map(\.option))
    let replaced = table.globals.filter { own.contains($0.option) }.flatMap(\.spellings)
    let added = [specifications(of: verb.options), operands(of: verb)].filter { !$0.isEmpty }
    var lines = ["      \(verb.verb.rawValue))"]
    lines += replaced.map { "        options=(${options:#(*\\)|)\($0)[=+\\[]*})" }
    if !added.isEmpty { lines += ["        options+=("] + added + ["        )"] }
    return (lines + ["        ;;"]).joined(separator: "\n")
  }

  private func operands(of verb: VerbSyntax) -> String {
    if verb.takesCommand { return "  '1: : ' '*:::command: _normal'" }
    if !verb.operandWords.isEmpty {
      let words = verb.operandWords.enumerated().map { "  '\($0 + 1): :(\($1.joined(separator: " ")))'" }
      return (words + ["  '*: : '"]).joined(separator: "\n")
    }
    return switch verb.completion {
    case .files: "  '*:file:_files'"
    case .verbs: "  '1:verb:{_describe -t verbs verb verbs}'"
    case .nothing, .words, .list, .folders, .command: verb.operandCount.upperBound > 0 ? "  '*: : '" : ""
    }
  }

  private func specifications(of rows: [OptionSyntax]) -> String {
    rows.flatMap { row in
      row.spellings.map { spelling in
        let others = row.spellings.count > 1 ? "(\(row.spellings.joined(separator: " ")))" : ""
        let name = row.takesWord ? spelling + (spelling.hasPrefix("--") ? "=" : "+") : spelling
        return "  " + Self.quoted("\(others)\(name)[\(Self.escaped(row.summary))]\(value(row))")
      }
    }.joined(separator: "\n")
  }

  private func value(_ row: OptionSyntax) -> String {
    switch row.completion {
    case .words(let words): ": :(\(words.joined(separator: " ")))"
    case .list(let words): ": :_values -s , \(row.name ?? "value") \(words.joined(separator: " "))"
    case .files: ":file:_files"
    case .folders: ":folder:_files -/"
    case .command: ":*:::command: _normal"
    case .nothing, .verbs: row.takesWord ? ": : " : ""
    }
  }

  /// Escapes brackets and colons, which would end a part of the specification.
  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { escaped, character in
      if "\\[]:".contains(character) { escaped += "\\" }
      escaped.append(character)
    }
  }

  private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: #"'\''"#) + "'" }
}
