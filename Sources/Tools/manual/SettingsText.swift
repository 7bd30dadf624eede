// SPDX-License-Identifier: Apache-2.0

import TribuneCommands

/// The comments of tribuned.conf, for tribuned.conf(5). A comment precedes its keys (`#Key=default`).
/// Comments above the first section describe the whole file. Three spaces after `#` mark an example.
struct SettingsText {
  private(set) var about: [String] = []
  private(set) var sections: [String] = []

  private enum Part {
    case paragraph(String)
    case example([String])
  }

  private var parts: [Part] = []
  private var keys: [String] = []
  private var isInSection = false

  init(configuration: String) {
    for line in configuration.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("[") {
        end()
        isInSection = true
        sections.append(".SH \(Roff.plain(String(line)))")
      } else if line.isEmpty {
        end()
      } else if line == "#" {
        parts.append(.paragraph(""))
      } else if line.hasPrefix("# ") {
        read(comment: line.dropFirst(2))
      } else {
        keys.append(String(line.dropFirst()))
      }
    }
    end()
  }

  private mutating func read(comment: Substring) {
    if comment.hasPrefix("SPDX-") { return }
    let isExample = comment.hasPrefix("  ")
    let text = isExample ? String(comment.dropFirst(2)) : String(comment)
    switch parts.last {
    case .paragraph(let before) where !isExample:
      parts[parts.count - 1] = .paragraph(before.isEmpty ? text : "\(before) \(text)")
    case .example(let lines) where isExample:
      parts[parts.count - 1] = .example(lines + [text])
    default:
      parts.append(isExample ? .example([text]) : .paragraph(text))
    }
  }

  private mutating func end() {
    var lines = Roff.item(keys.map(Self.term), [])
    var isFirst = !keys.isEmpty
    for part in parts {
      switch part {
      case .paragraph(""): continue
      case .paragraph(let text): lines += (isFirst ? [] : [keys.isEmpty ? ".PP" : ".IP"]) + [Roff.text(text)]
      case .example(let examples):
        lines += [".RS", ".PP", ".EX"] + examples.map(Roff.literal) + [".EE", ".RE"]
      }
      isFirst = false
    }
    if isInSection { sections += lines } else { about += lines }
    parts = []
    keys = []
  }

  private static func term(_ key: String) -> String {
    let name = key.prefix { $0 != "=" } + "="
    return Roff.bold(String(name)) + Roff.plain(String(key.dropFirst(name.count)))
  }
}
