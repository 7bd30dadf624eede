// SPDX-License-Identifier: Apache-2.0

import TribuneHTTP
package import TribuneService
import TribuneSystem
import TribuneWire

/// Reads files of settings one after the other.
nonisolated package struct WebSettingsReader {
  private struct Draft: Sendable {
    var settings = WebSettings()
    var access = HTTPAccessReader()
  }

  private static let keys: [(name: String, change: SettingsSection<Draft>.Change)] = [
    ("Monitor", { draft, value, _ throws(SettingError) in draft.settings.patterns = try patterns(value) }),
    (
      "ShowUserInfo",
      { draft, value, _ throws(SettingError) in draft.settings.showsUserInfo = try SettingSyntax.flag(value) }
    ),
    ("ConnectionsMax", count(\.connectionsMax, 8...4096)), ("PagesMax", count(\.pagesMax, 1...1024)),
    ("MetricNamesMax", count(\.metricNamesMax, 0...1_000)),
  ]

  private static let section = SettingsSection<Draft>("Web", keys + HTTPAccessReader.keys(of: \.access))

  private var reader = SettingsReader(Draft(), [Self.section])

  package init() {}

  /// Reads a file's contents.
  package mutating func read(_ contents: [UInt8], file: String) { reader.read(contents, file: file) }

  package consuming func finish() -> (WebSettings, [Diagnostic]) {
    let (access, found) = reader.settings.access.finish()
    var settings = reader.settings.settings
    settings.access = access
    return (settings, reader.diagnostics + found)
  }

  private static func patterns(_ text: String) throws(SettingError) -> [String] {
    let words = SettingSyntax.words(of: text)
    for word in words {
      do throws(WireError) {
        _ = try Pattern(word)
      } catch {
        throw SettingError(message: error.message)
      }
    }
    return words.isEmpty ? WebSettings().patterns : words == ["no"] ? [] : words
  }

  private static func count(
    _ path: any WritableKeyPath<WebSettings, Int> & Sendable, _ range: ClosedRange<Int>
  ) -> SettingsSection<Draft>.Change {
    { draft, text, _ throws(SettingError) in
      let count = text.isEmpty ? WebSettings()[keyPath: path] : try SettingSyntax.count(text)
      guard range.contains(count) else {
        throw SettingError(text, "is not from \(range.lowerBound) to \(range.upperBound)")
      }
      draft.settings[keyPath: path] = count
    }
  }
}
