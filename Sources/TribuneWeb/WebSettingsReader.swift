// SPDX-License-Identifier: Apache-2.0

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
  /// The file of the token, and the line that names it.
  private var token: (path: String, file: String, line: Int)?
  /// The line that allows sockets that other hosts reach.
  private var network: (file: String, line: Int)?

  package init() {}

  /// Reads a file's contents.
  package mutating func read(_ contents: [UInt8], file: String) {
    var section = Section.none
    let lines = contents.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (number, line) in zip(1..., lines) {
      switch IniLine(line) {
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
    if let token {
      do throws(SettingError) {
        settings.token = try AccessToken(file: token.path)
      } catch {
        report(.error, token.file, token.line, "TokenFile=: \(error.message)")
      }
    }
    if let network, settings.allowsNetwork, token == nil {
      report(
        .error, network.file, network.line, "AllowNetwork= needs TokenFile=: other hosts would need no token")
    }
    return (settings, diagnostics)
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
      case "Hosts": settings.hosts = try Self.hosts(value)
      case "TokenFile": token = try Self.path(value).map { ($0, file, line) }
      case "AllowNetwork":
        settings.allowsNetwork = try Self.flag(value)
        network = (file, line)
      case "Monitor": settings.patterns = try Self.patterns(value)
      case "ShowUserInfo": settings.showsUserInfo = try Self.flag(value)
      case "ConnectionsMax":
        settings.connectionsMax = try Self.count(value, 8...4096, WebSettings().connectionsMax)
      case "PagesMax": settings.pagesMax = try Self.count(value, 1...1024, WebSettings().pagesMax)
      case "MetricNamesMax":
        settings.metricNamesMax = try Self.count(value, 0...1_000, WebSettings().metricNamesMax)
      default: report(.mistake, file, line, "there is no \(key.escaped)= in [Web]; it is ignored")
      }
    } catch {
      report(.error, file, line, "\(key)=: \(error.message)")
    }
  }

  private static func hosts(_ text: String) throws(SettingError) -> Set<String> {
    var hosts: Set<String> = []
    for word in SettingSyntax.words(of: text) {
      let host = word.lowercased()
      guard HostRule.isName(host) else {
        throw SettingError(word, "is not the name or the address of a host")
      }
      hosts.insert(host)
    }
    return hosts
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

  private static func path(_ text: String) throws(SettingError) -> String? {
    if text.isEmpty { return nil }
    guard text.hasPrefix("/") else { throw SettingError(text, "is not the path of a file, from / on") }
    return text
  }

  private static func flag(_ text: String) throws(SettingError) -> Bool {
    switch text {
    case "yes": true
    case "no", "": false
    default: throw SettingError(text, "is neither yes nor no")
    }
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
