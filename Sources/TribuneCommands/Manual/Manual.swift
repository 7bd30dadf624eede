// SPDX-License-Identifier: Apache-2.0

/// Text generated from the option table at build time: parts of a man page, and shell completions.
package enum Manual {
  /// Every verb with its options, as man(7) lines.
  package static var verbs: [String] { ManualText(table: .standard).verbs }

  /// The options of every verb, as man(7) lines.
  package static var options: [String] { ManualText(table: .standard).options }

  /// The completion script of tribunectl for a shell.
  ///
  /// - Returns: nil if there is none for that shell.
  package static func completion(for shell: String) -> String? {
    switch shell {
    case "bash": BashCompletion(table: .standard).text
    case "fish": FishCompletion(table: .standard).text
    case "zsh": ZshCompletion(table: .standard).text
    default: nil
    }
  }
}
