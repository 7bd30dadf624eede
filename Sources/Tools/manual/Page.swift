// SPDX-License-Identifier: Apache-2.0

import TribuneCommands
import TribuneWire

struct PageError: Error {
  let message: String

  init(_ message: String) { self.message = message }
}

/// A man page, made from docs/man, the option table and the configuration file.
struct Page {
  let text: String

  /// - Parameter template: source for man(7), with the placeholders below.
  init(template: String, settings: SettingsText) throws(PageError) {
    var lines: [String] = []
    for line in template.split(separator: "\n", omittingEmptySubsequences: false) {
      switch line {
      case "@verbs@": lines += Manual.verbs
      case "@options@": lines += Manual.options
      case "@about-configuration@": lines += settings.about
      case "@settings@": lines += settings.sections
      default:
        let line = String(line).replacing("@version@", with: Version.current)
        if line.hasPrefix("@") { throw PageError("there is nothing called \(line)") }
        lines.append(line)
      }
    }
    text = lines.joined(separator: "\n")
  }
}
