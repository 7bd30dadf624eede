// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// An option, independent of its spelling.
enum Option: Hashable, Sendable, CaseIterable {
  // Options of every verb.
  case address, system, user, json, shortJSON, noLegend, noPager, quiet, timeout, reconnect, help, version
  // Options of some verbs.
  case object, count, mode, `default`, ifUnreachable, order, onFailure, label, approve, veto, exec, directory
  case vetoExitCode, waitUntilAllowed, override, dryRun, collect, why, expires, action, pid, status,
    delegateID, definitions
  case slots, keep, release, `break`, scope
  case since, until, vetoed, by, lines, follow, summary
  case view, delay, once
  case `as`, connection
  case set, conforms
  case retain, coalesce, style, wait, immediately, eachLine, retained, suspension, awaited, format
  case complete
}

/// The argument of an option.
enum OptionArgument: Equatable, Sendable {
  case none
  /// Any text. The string is its placeholder in the help.
  case text(String)
  /// A systemd.time(7) span.
  case span
  /// An optional span; if given, it follows `=`.
  case optionalSpan
  case number(String, ClosedRange<Int64>)
  case choice([String])
  /// Any of these words, with commas between.
  case list([String])
  /// A command, which takes the rest of the line.
  case command
}

/// One row of the option table: an option's spelling, argument and purpose.
struct OptionSyntax: Sendable {
  var option: Option
  /// Without dashes; nil if the option has only a letter.
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

  /// Creates an option without an argument.
  init(_ option: Option, _ name: String?, letter: Character? = nil, _ summary: String) {
    self.init(option, name, letter: letter, .none, summary)
  }

  /// The option's name in messages: `--object`, `-N`.
  var spelling: String {
    if let name { return "--\(name)" }
    return letter.map { "-\($0)" } ?? ""
  }

  /// The spelling with the argument, as the help shows it: `--mode=parallel|all|order`.
  var usage: String { spelling + usageOfArgument }

  /// The argument after the spelling: `=parallel|all|order`.
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

/// The verbs. The raw value is the word on the command line.
enum VerbName: String, Sendable, CaseIterable {
  case list, status, top, monitor, capture, post, get, observe, ask, query, delegate
  case `guard`
  case explain, hold, holds, lease, leases
  case `defer`
  case accounts, declare, tree, introspect, log, policy, verify, help, version

  /// For the error about an unknown verb: ` (did you mean VERB?)`, or nothing.
  static func hint(for word: String) -> String {
    Spelling.hint(for: word, among: allCases.map(\.rawValue)) { $0 }
  }
}

/// One verb: its arguments and its purpose.
struct VerbSyntax: Sendable {
  var verb: VerbName
  /// The operands as the help shows them: `NAME [JSON]`.
  var operands = ""
  var operandCount = 0...0
  /// The words to choose from for each of the first operands, where there are such.
  var operandWords: [[String]] = []
  /// Whether a command follows `--`.
  var takesCommand = false
  /// Whether the command may be left out.
  var commandIsOptional = false
  /// One line for the list of verbs: a capital, no full stop.
  var summary: String
  /// How to use the verb, one paragraph per element; empty if the summary says all.
  var description: [String] = []
  var options: [OptionSyntax] = []

  var needsCommand: Bool { takesCommand && !commandIsOptional }

  /// The paragraphs of its help.
  var paragraphs: [String] { description.isEmpty ? [summary + "."] : description }

  /// The arguments: `ACTION -- CMD…`.
  var usage: String {
    let command = takesCommand ? (needsCommand ? "-- CMD…" : "[-- CMD…]") : ""
    return [operands, command].filter { !$0.isEmpty }.joined(separator: " ")
  }
}
