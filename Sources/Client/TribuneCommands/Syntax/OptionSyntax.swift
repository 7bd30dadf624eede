// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// An option. The raw value is its name, or its letter if it has no name.
enum Option: String, Sendable, CaseIterable {
  // Options of every verb.
  case address, system, user, json, output, quiet, timeout, reconnect, help, version
  case shortJSON = "j"
  case noLegend = "no-legend"
  case noPager = "no-pager"
  // Options of some verbs.
  case object, mode, `default`, order, label, approve, veto, exec, directory, override, collect, why, expires,
    action
  case pid, status, definitions, slots, keep, release, `break`, scope, since, until, vetoed, by, follow,
    summary
  case view, delay, once, `as`, connection, set, conforms, retain, coalesce, style, wait, immediately,
    retained, pace
  case suspension, awaited, format, complete, concluded, text, columns, sort, full, exclude, late, bound,
    recheck, claim
  case count = "N"
  case lines = "n"
  case eachLine = "lines"
  case delegateID = "delegate"
  case dryRun = "dry-run"
  case ifUnreachable = "if-unreachable"
  case onFailure = "on-failure"
  case vetoExitCode = "veto-exit-code"
  case waitUntilAllowed = "wait-until-allowed"
  case waitForBus = "wait-for-bus"
  case whyFrom = "why-from"

  /// The name without dashes; nil if the option has only a letter.
  var name: String? { rawValue.utf8.count > 1 ? rawValue : nil }

  /// The option with its dashes: `--object`, or `-N` if it has only a letter.
  var spelling: String { name.map { "--\($0)" } ?? "-\(rawValue)" }

  fileprivate var range: ClosedRange<Int64>? {
    switch self {
    case .count, .delegateID: 1...Int64.max
    case .lines: 0...Int64.max
    case .order: Int64(Int32.min)...Int64(Int32.max)
    case .pid: 1...Int64(Int32.max)
    case .slots: 1...64
    case .vetoExitCode: 0...255
    default: nil
    }
  }
}

enum OptionArgument: Equatable, Sendable {
  case none
  /// The string is the argument's placeholder in the help.
  case text(String)
  /// A time span, as in systemd.time(7).
  case span
  /// A span, or the word `infinity` or `forever`. The parser stores either word as a flag.
  case spanOrInfinity
  /// A span that can be omitted. If it is given, it follows `=`.
  case optionalSpan
  case number(ClosedRange<Int64>)
  case choice([String])
  case list([String])
  case command
}

struct OptionSyntax: Sendable {
  let option: Option
  let letter: Character?
  let argument: OptionArgument
  /// Example: `=parallel|all|order`.
  let usageOfArgument: String
  /// Begins without a capital, and ends without a full stop.
  private(set) var summary: String

  /// - Parameter line: a line of the table, such as `-d --delay=SPAN  how often to refresh`.
  init(_ line: Substring) {
    let end = line.firstRange(of: "  ") ?? line.endIndex..<line.endIndex
    summary = String(line[end.upperBound...].drop { $0 == " " })
    var rest = line[..<end.lowerBound].dropFirst()
    letter = rest.first == "-" ? nil : rest.popFirst()
    var name = letter.map { String($0) } ?? ""
    if let dashes = rest.firstRange(of: letter == nil ? "-" : " --") {
      rest = rest[dashes.upperBound...]
      name = String(rest.prefix { $0.isLetter || $0 == "-" })
      rest = rest.dropFirst(name.count)
    }
    guard let option = Option(rawValue: name) else {
      preconditionFailure("the table has an unknown option: \(line)")
    }
    self.option = option
    usageOfArgument = String(rest)
    let value = rest.dropFirst()
    let words = { value.split(separator: $0).map { String($0) } }
    argument =
      switch rest {
      case "": .none
      case "=SPAN": .span
      case "=SPAN|infinity", "=SPAN|forever": .spanOrInfinity
      case "[=SPAN]": .optionalSpan
      case " CMD…": .command
      case _ where value.contains("|"): .choice(words("|"))
      case _ where value.contains(",") && value.first?.isLowercase == true: .list(words(","))
      default: option.range.map { .number($0) } ?? .text(String(value))
      }
  }

  mutating func addToSummary(_ line: Substring) { summary += (summary.isEmpty ? "" : " ") + line }

  var name: String? { option.name }

  var spelling: String { option.spelling }

  var isRepeatable: Bool {
    usageOfArgument.hasSuffix("…") && !usageOfArgument.contains(",") && argument != .command
  }

  /// Example: `--mode=parallel|all|order`.
  var usage: String { spelling + usageOfArgument }
}

/// The verbs, in the order of the help. The raw value is the word on the command line.
enum VerbName: String, Sendable, CaseIterable {
  case ask
  case `guard`
  case hold, lease, query, delegate
  case `defer`
  case post, declare
  case observe, monitor, capture, top
  case list, status, get, holds, actions, leases, explain, tree, introspect, log
  case accounts, policy, verify, completion, help, version

  var group: String {
    switch self {
    case .ask, .guard, .hold, .lease, .query, .delegate, .defer, .post, .declare: "Ask and act"
    case .observe, .monitor, .capture, .top: "Watch"
    case .list, .status, .get, .holds, .actions, .leases, .explain, .tree, .introspect, .log: "Look up"
    case .accounts, .policy, .verify, .completion, .help, .version: "Administer"
    }
  }

  private static let synonyms: [VerbName: [String]] = [
    .ask: ["check", "can", "may"], .guard: ["run", "exec", "do"],
    .hold: ["inhibit", "lock", "block", "veto"],
    .lease: ["acquire", "elect"], .query: ["call", "request"], .delegate: ["reply", "answer", "respond"],
    .post: ["pub", "publish", "emit", "send", "signal", "notify"],
    .observe: ["sub", "subscribe", "watch", "listen", "tail", "wait"], .monitor: ["events", "trace", "dump"],
    .list: ["ls", "ps", "clients", "peers"], .status: ["info", "stats", "show"],
    .explain: ["describe", "why"], .log: ["logs", "history", "journal"], .verify: ["lint"],
    .accounts: ["quota", "users"], .completion: ["completions"],
  ]

  /// A suggestion, such as ` (did you mean VERB?)`; empty if no verb is similar.
  static func hint(for word: String) -> String {
    if let verb = synonyms.first(where: { $0.value.contains(word.lowercased()) })?.key {
      return " (did you mean \(verb.rawValue)?)"
    }
    return Spelling.hint(for: word, among: allCases.map(\.rawValue)) { $0 }
  }
}

struct VerbSyntax: Sendable {
  let verb: VerbName
  /// Example: `ACTION [JSON] -- CMD…`.
  let usage: String
  /// Example: `NAME [JSON]`.
  let operands: String
  let operandCount: ClosedRange<Int>
  let takesCommand: Bool
  let needsCommand: Bool
  /// Begins with a capital, and ends without a full stop.
  let summary: String
  /// Command lines, each after four spaces.
  let examples: String
  let paragraphs: [String]
  /// Options of the verb. They replace global options of the same name.
  let options: [OptionSyntax]

  init(_ verb: VerbName) {
    self.verb = verb
    let parts = HelpParts(verb.text)
    summary = parts.head.dropFirst().joined()
    examples = parts.examples
    paragraphs = parts.paragraphs.isEmpty ? [summary + "."] : parts.paragraphs
    options = parts.options
    let words = parts.head[0].split(separator: " ").dropFirst()
    usage = words.joined(separator: " ")
    let operands = words.prefix { !$0.hasSuffix("--") }
    self.operands = operands.joined(separator: " ")
    takesCommand = operands.endIndex < words.endIndex
    needsCommand = takesCommand && words[operands.endIndex] == "--"
    let most = operands.contains { $0.contains("…") } ? Int.max : operands.count
    // `delegate` takes no names with --directory. Otherwise, it takes up to 128 names, the bus's limit.
    operandCount = verb == .delegate ? 0...128 : operands.count { $0.first != "[" }...most
  }

  var allOptions: [OptionSyntax] {
    options + CommandTable.globals.filter { global in !options.contains { $0.option == global.option } }
  }
}
