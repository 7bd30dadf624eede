// SPDX-License-Identifier: Apache-2.0

import TribuneHTTP
package import TribuneService
import TribuneSystem
import TribuneWire

/// Reads files of settings one after the other.
nonisolated package struct WebSettingsReader {
  private enum Section {
    case none, web, ignored
  }

  private var settings = WebSettings()
  private var diagnostics: [Diagnostic] = []
  private var access = HTTPAccessReader()

  package init() {}

  /// Reads a file's contents.
  package mutating func read(_ contents: [UInt8], file: String) {
    var section = Section.none
    for (number, line) in IniLine.all(in: contents) {
      switch line {
      case .nothing: continue
      case .section("Web", nil): section = .web
      case .section(let name, let subject):
        section = .ignored
        report(
          .mistake, file, number,
          "there is no section [\(name.escaped)\(subject.map { " \"\($0.escaped)\"" } ?? "")]; it is ignored")
      case .pair(let key, let value): take(key, value, in: section, file, number)
      case .unreadable(let reason): report(.error, file, number, "the line \(reason)")
      }
    }
  }

  package consuming func finish() -> (WebSettings, [Diagnostic]) {
    let (access, found) = access.finish()
    settings.access = access
    return (settings, diagnostics + found)
  }

  private mutating func take(
    _ key: String, _ value: String, in section: Section, _ file: String, _ line: Int
  ) {
    switch section {
    case .ignored: return
    case .none:
      return report(.mistake, file, line, "\(key.escaped)= stands before any section; it is ignored")
    case .web: break
    }
    do throws(SettingError) {
      switch key {
      case "Monitor": settings.patterns = try Self.patterns(value)
      case "ShowUserInfo": settings.showsUserInfo = try SettingSyntax.flag(value)
      case "ConnectionsMax":
        settings.connectionsMax = try Self.count(value, 8...4096, WebSettings().connectionsMax)
      case "PagesMax": settings.pagesMax = try Self.count(value, 1...1024, WebSettings().pagesMax)
      case "MetricNamesMax":
        settings.metricNamesMax = try Self.count(value, 0...1_000, WebSettings().metricNamesMax)
      default:
        if try !access.take(key, value, file, line) {
          report(.mistake, file, line, "there is no \(key.escaped)= in [Web]; it is ignored")
        }
      }
    } catch {
      report(.error, file, line, "\(key)=: \(error.message)")
    }
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
    _ text: String, _ range: ClosedRange<Int>, _ fallback: Int
  ) throws(SettingError) -> Int {
    if text.isEmpty { return fallback }
    let count = try SettingSyntax.count(text)
    guard range.contains(count) else {
      throw SettingError(text, "is not from \(range.lowerBound) to \(range.upperBound)")
    }
    return count
  }

  private mutating func report(
    _ severity: Diagnostic.Severity, _ file: String, _ line: Int?, _ message: String
  ) {
    diagnostics.append(Diagnostic(severity, file, line, message))
  }
}
