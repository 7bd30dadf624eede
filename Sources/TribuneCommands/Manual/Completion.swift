// SPDX-License-Identifier: Apache-2.0

/// The words that a shell can offer at a place on the command line.
enum Completion: Equatable, Sendable {
  case nothing
  case words([String])
  /// Any of these words, with commas between.
  case list([String])
  case verbs
  case files
  case folders
  /// A command with its own arguments.
  case command

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
  /// Every spelling of the option: `-q`, `--quiet`.
  var spellings: [String] { [letter.map { "-\($0)" }, name.map { "--\($0)" }].compactMap { $0 } }

  var completion: Completion {
    switch argument {
    case .none, .span, .optionalSpan, .number: .nothing
    case .text(let placeholder): Completion(placeholder: placeholder[...])
    case .choice(let words): .words(words)
    case .list(let words): .list(words)
    case .command: .command
    }
  }

  /// Whether the next word is the option's value.
  var takesWord: Bool {
    switch argument {
    case .none, .optionalSpan, .command: false
    case .text, .span, .number, .choice, .list: true
    }
  }
}

extension VerbSyntax {
  /// The completion of the operands without words of their own, which are all of one kind if there is anything to offer.
  var completion: Completion {
    Completion(placeholder: operands.trimmingPrefix("[").prefix { $0.isLetter })
  }
}

extension CommandTable {
  /// Every option once, even if several verbs have it.
  var distinctOptions: [OptionSyntax] {
    (globals + verbs.flatMap(\.options)).reduce(into: []) { rows, row in
      if !rows.contains(where: { $0.option == row.option }) { rows.append(row) }
    }
  }
}
