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
