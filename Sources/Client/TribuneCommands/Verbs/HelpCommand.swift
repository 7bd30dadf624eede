// SPDX-License-Identifier: Apache-2.0

/// `help [VERB]`.
struct HelpCommand: Command {
  private let text: String

  init(_ invocation: Invocation) throws(CommandError) {
    let help = HelpText()
    guard let word = invocation.operands.first else {
      text = help.overview
      return
    }
    guard let verb = VerbName(rawValue: word) else {
      throw .usage(
        "unknown verb \"\(word.terminalSafe)\"\(VerbName.hint(for: word))\nTry \"tribunectl help\".")
    }
    text = help.text(of: VerbSyntax(verb))
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    try context.write(text)
    return ExitStatus.success
  }
}

/// The help text, generated from the table.
struct HelpText {
  private let table = CommandTable.self

  private static let width = 80
  /// The column where the summaries start.
  private static let column = 34

  var overview: String {
    var lines = [
      "tribunectl [OPTION…] VERB [ARGUMENT…]",
      "",
      table.summary,
      "",
      "Verbs:",
    ]
    for verb in table.verbs {
      lines += row(
        ([verb.verb.rawValue, verb.usage].filter { !$0.isEmpty }).joined(separator: " "), verb.summary)
    }
    lines += ["", "Options:"]
    lines += table.globals.flatMap { row($0.usageInHelp, $0.summary) }
    lines += ["", "tribunectl help VERB explains one verb."]
    return lines.joined(separator: "\n") + "\n"
  }

  func text(of syntax: VerbSyntax) -> String {
    let usage = [
      "tribunectl", syntax.verb.rawValue, syntax.options.isEmpty ? "" : "[OPTION…]", syntax.usage,
    ]
    var lines = [usage.filter { !$0.isEmpty }.joined(separator: " "), ""]
    for paragraph in syntax.paragraphs {
      lines += (paragraph.contains("\n") ? [paragraph] : Self.wrapped(paragraph, to: Self.width)) + [""]
    }
    if !syntax.options.isEmpty {
      lines.append("Options:")
      lines += syntax.options.flatMap { row($0.usageInHelp, $0.summary) }
      lines.append("")
    }
    lines.append("Options of every verb:")
    let others = syntax.allOptions.dropFirst(syntax.options.count)
    lines += others.flatMap { row($0.usageInHelp, $0.summary) }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A term with its summary beside it, or below it if the term is long.
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
  /// The usage, with the letter before the name if the option has both.
  fileprivate var usageInHelp: String {
    guard name != nil else { return usage }
    return letter.map { "-\($0) \(usage)" } ?? "   \(usage)"
  }
}
