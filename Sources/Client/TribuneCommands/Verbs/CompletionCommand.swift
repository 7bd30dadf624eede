// SPDX-License-Identifier: Apache-2.0

struct CompletionCommand: Command {
  static let shells = ["bash", "fish", "zsh"]

  private let text: String

  init(_ invocation: Invocation) throws(CommandError) {
    let shell = invocation.operands[0]
    guard let text = Manual.completion(for: shell) else {
      throw .usage(
        "there is no completion for \"\(shell.terminalSafe)\", only for \(Self.shells.joined(separator: ", "))"
      )
    }
    self.text = text
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    try context.write(text)
    return ExitStatus.success
  }
}
