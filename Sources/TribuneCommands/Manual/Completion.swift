// SPDX-License-Identifier: Apache-2.0

/// What a shell can offer for a word.
enum Completion: Equatable, Sendable {
  case nothing
  case words([String])
  /// Any of these words, with commas between.
  case list([String])
  case verbs
  case files
  case folders
  /// A command, and all that is its own.
  case command

  /// For a word that the help calls so.
  fileprivate init(placeholder: Substring) {
    switch placeholder {
    case "FILE": self = .files
    case "DIR": self = .folders
    case "VERB": self = .verbs
    default: self = .nothing
    }
  }
}

extension OptionSyntax {
  /// All that it can be called by: `-q`, `--quiet`.
  var spellings: [String] { [letter.map { "-\($0)" }, name.map { "--\($0)" }].compactMap { $0 } }

  /// For the value behind it.
  var completion: Completion {
    switch argument {
    case .none, .span, .optionalSpan, .number: .nothing
    case .text(let placeholder): Completion(placeholder: placeholder[...])
    case .choice(let words): .words(words)
    case .list(let words): .list(words)
    case .command: .command
    }
  }

  /// Whether the next word belongs to it.
  var takesWord: Bool {
    switch argument {
    case .none, .optionalSpan, .command: false
    case .text, .span, .number, .choice, .list: true
    }
  }
}

extension VerbSyntax {
  /// For its operands, which are all of one kind where there is anything to offer.
  var completion: Completion {
    Completion(placeholder: operands.trimmingPrefix("[").prefix { $0.isLetter })
  }
}

extension CommandTable {
  /// Every option once, however many verbs have it.
  var distinctOptions: [OptionSyntax] {
    (globals + verbs.flatMap(\.options)).reduce(into: []) { rows, row in
      if !rows.contains(where: { $0.option == row.option }) { rows.append(row) }
    }
  }
}
