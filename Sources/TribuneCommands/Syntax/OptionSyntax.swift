// SPDX-License-Identifier: Apache-2.0

/// An option, whatever it is spelled like.
enum Option: Hashable, Sendable, CaseIterable {
  // Of every verb.
  case address, json, shortJSON, noLegend, noPager, quiet, timeout, reconnect, help, version
  // Of some.
  case object, count, mode, `default`, ifUnreachable, order, onFailure, label, approve, veto, exec, directory
  case vetoExitCode, override, dryRun, collect, why, expires, status, delegateID, definitions
  case since, lines
  case set, conforms
  case retain, coalesce, style, wait, immediately, retained, suspension, awaited
}

/// What an option takes.
enum OptionArgument: Equatable, Sendable {
  case none
  /// Any text; the word stands for it in the help.
  case text(String)
  /// A systemd.time(7) span.
  case span
  /// A span that may be left out, and stands behind `=` where it is not.
  case optionalSpan
  case number(String, ClosedRange<Int64>)
  case choice([String])
  /// Any of these words, with commas between.
  case list([String])
  /// The rest of the line is a command.
  case command
}

/// One row of the table of options: how an option is spelled, what it takes and what it is for.
struct OptionSyntax: Sendable {
  var option: Option
  /// Without its dashes; nil when there is only the letter.
  var name: String?
  var letter: Character?
  var argument: OptionArgument
  /// For the help: no capital, no full stop.
  var summary: String

  init(
    _ option: Option, _ name: String?, letter: Character? = nil, _ argument: OptionArgument, _ summary: String
  ) {
    self.option = option
    self.name = name
    self.letter = letter
    self.argument = argument
    self.summary = summary
  }

  /// An option that takes nothing.
  init(_ option: Option, _ name: String?, letter: Character? = nil, _ summary: String) {
    self.init(option, name, letter: letter, .none, summary)
  }

  /// As messages name it: `--object`, `-N`.
  var spelling: String {
    if let name { return "--\(name)" }
    return letter.map { "-\($0)" } ?? ""
  }

  /// With its argument, as the help shows it: `--mode=parallel|all|order`.
  var usage: String { spelling + usageOfArgument }

  /// What stands behind its spelling: `=parallel|all|order`.
  var usageOfArgument: String {
    let separator = name == nil ? " " : "="
    return switch argument {
    case .none: ""
    case .text(let placeholder): separator + placeholder
    case .span: separator + "SPAN"
    case .optionalSpan: "[=SPAN]"
    case .number(let placeholder, _): separator + placeholder
    case .choice(let words): separator + words.joined(separator: "|")
    case .list(let words): separator + words.joined(separator: ",")
    case .command: " CMD…"
    }
  }
}

/// What a verb is called. The raw value is what stands on the command line.
enum VerbName: String, Sendable, CaseIterable {
  case list, status, monitor, capture, post, observe, ask, query, delegate
  case `guard`
  case explain, hold, holds
  case `defer`
  case declare, tree, introspect, log, verify, help, version
}

/// One verb: what may stand behind it, and what it does.
struct VerbSyntax: Sendable {
  var verb: VerbName
  /// Operands as the help shows them: `NAME [JSON]`.
  var operands: String
  var operandCount: ClosedRange<Int>
  /// A command follows behind `--`.
  var takesCommand = false
  /// It may be left out.
  var commandIsOptional = false
  /// One line for the list of verbs: a capital, no full stop.
  var summary: String
  /// What one has to know to use it, a paragraph each.
  var description: [String]
  var options: [OptionSyntax]

  var needsCommand: Bool { takesCommand && !commandIsOptional }

  /// What stands behind it: `ACTION -- CMD…`.
  var usage: String {
    let command = takesCommand ? (needsCommand ? "-- CMD…" : "[-- CMD…]") : ""
    return [operands, command].filter { !$0.isEmpty }.joined(separator: " ")
  }
}
