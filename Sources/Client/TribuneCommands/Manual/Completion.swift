// SPDX-License-Identifier: Apache-2.0

import TribunePolicy

enum Completion: Equatable, Sendable {
  case nothing
  case words([String])
  case list([String])
  case verbs
  case files
  case folders
  case live(LiveWords)
  case command

  fileprivate init(placeholder: Substring) {
    switch placeholder {
    case "FILE", "PROGRAM": self = .files
    case "DIR": self = .folders
    case "VERB": self = .verbs
    case "NAME", "PATTERN": self = .live(.names)
    case "ACTION": self = .live(.actions)
    case "OBJECT": self = .live(.objects)
    case "CONNECTION", ":N": self = .live(.connections)
    default: self = .nothing
    }
  }
}

extension OptionSyntax {
  var spellings: [String] { [letter.map { "-\($0)" }, name.map { "--\($0)" }].compactMap { $0 } }

  var completion: Completion {
    switch argument {
    case .none, .span, .optionalSpan, .number: .nothing
    case .spanOrInfinity: .words(["infinity"])
    case .text(let placeholder): Completion(placeholder: placeholder.prefix { $0 != "…" })
    case .choice(let words): .words(words)
    case .list(let words): .list(words)
    case .command: .command
    }
  }

  var takesWord: Bool {
    switch argument {
    case .none, .optionalSpan, .command: false
    case .text, .span, .spanOrInfinity, .number, .choice, .list: true
    }
  }
}

extension VerbSyntax {
  var completions: [Completion] {
    let placeholders = operands.split(separator: " ").map { $0.trimmingPrefix("[").prefix { $0.isLetter } }
    return placeholders.map { placeholder in
      switch (verb, placeholder) {
      case (.policy, "explain"): .words(["explain"])
      case (.policy, "ACTION"): .words(Action.names)
      case (.ask, "NAME"), (.hold, "NAME"), (.delegate, "NAME"), (.explain, "NAME"): .live(.questions)
      case (.completion, _): .words(CompletionCommand.shells)
      default: Completion(placeholder: placeholder)
      }
    }
  }

  var repeatsLast: Bool { operands.contains("…") }
}

extension CommandTable {
  static var distinctOptions: [OptionSyntax] {
    (globals + verbs.flatMap(\.options)).reduce(into: []) { rows, row in
      if !rows.contains(where: { $0.option == row.option }) { rows.append(row) }
    }
  }
}
