// SPDX-License-Identifier: Apache-2.0

import TribuneHTTP
package import TribuneService
import TribuneSystem
import TribuneWire

nonisolated package struct WebSettingsReader {
  private struct Draft: Sendable {
    var settings = WebSettings()
    var access = HTTPAccessReader()
  }

  private static let settings: [Setting<Draft>] = [
    Setting("Monitor", \.settings.patterns, patterns),
    Setting("ShowUserInfo", \.settings.showsUserInfo, SettingSyntax.flag),
    .count("ConnectionsMax", \.settings.connectionsMax, 8...4096),
    .count("PagesMax", \.settings.pagesMax, 1...1024),
    .count("MetricNamesMax", \.settings.metricNamesMax, 0...1_000),
  ]

  private static let section = SettingsSection<Draft>(
    "Web", settings + HTTPAccessReader.settings(of: \.access), consequence: "nothing is served")

  private var reader = SettingsReader(Draft(), [Self.section])

  package init() {}

  mutating func readAll(in directory: String?) { reader.read("web.conf", in: directory) }

  package mutating func read(_ contents: [UInt8], file: String) { reader.read(contents, file: file) }

  package consuming func finish() -> (WebSettings, [Diagnostic]) {
    let draft = reader.settings
    let (access, found) = draft.access.finish()
    var settings = draft.settings
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
    return words == ["no"] ? [] : words
  }
}
