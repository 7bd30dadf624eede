// SPDX-License-Identifier: Apache-2.0

/// The option table as a completion function for zsh(1).
struct ZshCompletion {
  private let table = CommandTable.self

  var text: String {
    """
    #compdef tribunectl
    # Made from tribunectl's table of options.

    local curcontext=$curcontext state line ret=1
    typeset -A opt_args
    local -a verbs options

    # The options that choose the bus.
    local -a bus
    bus=(${(Q)${(M)words:#--(system|user|address=*)}})

    # Offers what the bus has of that kind.
    _tribunectl_live() {
      local -a live
      live=(${(f)"$(command tribunectl $bus list --complete=$1 --timeout=1 2>/dev/null </dev/null)"})
      compadd -a live
    }

    zstyle -m ":completion:${curcontext}:options" sort '*' || zstyle ':completion:*:*:tribunectl*:*:options' sort false

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
    if !added.isEmpty { lines += ["        options=("] + added + ["        $options )"] }
    return (lines + ["        ;;"]).joined(separator: "\n")
  }

  private func operands(of verb: VerbSyntax) -> String {
    if verb.takesCommand {
      let first = verb.completions.first.map(action) ?? ": : "
      return "  '1\(first)' '*:::command: _normal'"
    }
    let completions = verb.completions
    if completions == [.verbs] { return "  '1:verb:{_describe -t verbs verb verbs}'" }
    if completions.isEmpty { return "" }
    let actions = completions.enumerated().map { place, completion in
      let repeats = verb.repeatsLast && place == completions.count - 1
      return "  '\(repeats ? "*" : "\(place + 1)")\(action(for: completion))'"
    }
    return (actions + (verb.repeatsLast ? [] : ["  '*: : '"])).joined(separator: "\n")
  }

  private func action(for completion: Completion) -> String {
    switch completion {
    case .words(let words): ": :(\(words.joined(separator: " ")))"
    case .files: ":file:_files"
    case .folders: ":folder:_files -/"
    case .live(let words): ":\(words.rawValue): _tribunectl_live \(words.rawValue)"
    case .nothing, .verbs, .list, .command: ": : "
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
    case .list(let words): ": :_values -s , \(row.name ?? "value") \(words.joined(separator: " "))"
    case .command: ":*:::command: _normal"
    case .nothing, .verbs: row.takesWord ? ": : " : ""
    case .words, .files, .folders, .live: action(for: row.completion)
    }
  }

  /// Escapes brackets and colons, which would otherwise end a part of the specification.
  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { escaped, character in
      if "\\[]:".contains(character) { escaped += "\\" }
      escaped.append(character)
    }
  }

  private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: #"'\''"#) + "'" }
}
