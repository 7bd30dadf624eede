// SPDX-License-Identifier: Apache-2.0

/// What is made of the table of options when the programs are built, for a man page and for shells.
package enum Manual {
  /// Every verb with its options, as lines for man(7).
  package static var verbs: [String] { ManualText(table: .standard).verbs }

  /// The options of every verb, as lines for man(7).
  package static var options: [String] { ManualText(table: .standard).options }

  /// The completion of tribunectl's command lines, as a program for a shell.
  ///
  /// - Returns: nil for a shell that there is none for.
  package static func completion(for shell: String) -> String? {
    switch shell {
    case "bash": BashCompletion(table: .standard).text
    case "fish": FishCompletion(table: .standard).text
    case "zsh": ZshCompletion(table: .standard).text
    default: nil
    }
  }
}
