// SPDX-License-Identifier: Apache-2.0

struct HelpCommand: Command {
  private let text: String

  init(_ invocation: Invocation) throws(CommandError) {
    let help = HelpText()
    guard let word = invocation.operands.first else {
      text = help.overview
      return
    }
    guard word != "names" else {
      text = HelpText.names
      return
    }
    guard let verb = VerbName(rawValue: word) else {
      throw .usage(
        "unknown verb \"\(word.terminalSafe)\"\(VerbName.hint(for: word))\nTry \"tribunectl help\".")
    }
    text = help.text(of: VerbSyntax(verb), isFull: invocation.has(.full))
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    try context.write(text)
    return ExitStatus.success
  }
}

struct HelpText {
  private let table = CommandTable.self

  private static let width = 80
  private static let column = 34

  var overview: String {
    var lines = [
      "tribunectl [OPTION…] VERB [ARGUMENT…]",
      "",
      table.summary,
    ]
    var group = ""
    for verb in table.verbs {
      if verb.verb.group != group {
        group = verb.verb.group
        lines += ["", "\(group):"]
      }
      lines += row(
        ([verb.verb.rawValue, verb.usage].filter { !$0.isEmpty }).joined(separator: " "), verb.summary)
    }
    lines += ["", "Options:"]
    lines += table.globals.flatMap { row($0.usageInHelp, $0.summary) }
    lines += ["", "Try tribunectl help VERB, or tribunectl help names for the names of an action."]
    return lines.joined(separator: "\n") + "\n"
  }

  func text(of syntax: VerbSyntax, isFull: Bool) -> String {
    let usage = [
      "tribunectl", syntax.verb.rawValue, syntax.options.isEmpty ? "" : "[OPTION…]", syntax.usage,
    ]
    var lines = [usage.filter { !$0.isEmpty }.joined(separator: " "), ""]
    if !isFull { lines += [syntax.summary + ".", ""] }
    if !syntax.examples.isEmpty { lines += [syntax.examples, ""] }
    for paragraph in syntax.paragraphs where isFull || paragraph.hasPrefix("Exits with ") {
      lines += Self.wrapped(paragraph, to: Self.width) + [""]
    }
    if !syntax.options.isEmpty {
      lines.append("Options:")
      lines += syntax.options.flatMap { row($0.usageInHelp, $0.summary) }
      lines.append("")
    }
    guard isFull else {
      let verb = syntax.verb.rawValue
      lines.append("More: tribunectl help --full \(verb). Options of every verb: tribunectl help.")
      return lines.joined(separator: "\n") + "\n"
    }
    lines.append("Options of every verb:")
    let others = syntax.allOptions.dropFirst(syntax.options.count)
    lines += others.flatMap { row($0.usageInHelp, $0.summary) }
    return lines.joined(separator: "\n") + "\n"
  }

  private func row(_ term: String, _ summary: String) -> [String] {
    let indent = String(repeating: " ", count: Self.column)
    var lines = Self.wrapped(summary, to: Self.width - Self.column).map { indent + $0 }
    let head = "  " + term
    if head.count + 2 <= Self.column, let first = lines.first {
      lines[0] = head + first.dropFirst(head.count)
      return lines
    }
    return [head] + lines
  }

  private static func wrapped(_ text: String, to width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    return lines + [line]
  }
}

extension OptionSyntax {
  fileprivate var usageInHelp: String {
    guard name != nil else { return usage }
    return letter.map { "-\($0) \(usage)" } ?? "   \(usage)"
  }
}

extension HelpText {
  static let names = """
    The names of one action, here host.reboot, and the verbs that take each:

      host.reboot        the action           guard ACTION, hold --action=ACTION
      host.shouldReboot  may it begin?        ask, hold, delegate, explain, log
      host.willReboot    it begins            posted by guard; observe
      host.didReboot     it is done           posted by guard; observe
                         (or host.didFailToReboot)
      host.mayReboot     ask me again         posted by a delegate that vetoed before

    hold or delegate?  A hold vetoes while it stands, and runs nothing. A delegate
                       answers each question, with yes or no.
    ask or query?      ask is about an action, and prints allowed or vetoed. query
                       gets a value, under any name, such as window.frame.

    """
}
