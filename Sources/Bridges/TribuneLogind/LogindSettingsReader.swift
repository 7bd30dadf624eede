// SPDX-License-Identifier: Apache-2.0

package import TribuneService
import TribuneWire

/// Reads files of settings one after the other.
nonisolated package struct LogindSettingsReader {
  private enum Section {
    case none, logind, ignored
    case signal(Int)
  }

  private var settings = LogindSettings()
  private var diagnostics: [Diagnostic] = []
  /// Where the section of each signal begins.
  private var origins: [(file: String, line: Int)] = []

  package init() {}

  /// Reads a file's contents.
  package mutating func read(_ contents: [UInt8], file: String) {
    var section = Section.none
    for (number, line) in IniLine.all(in: contents) {
      switch line {
      case .nothing: continue
      case .section(let name, let subject): section = self.section(name, subject, file, number)
      case .pair(let key, let value): take(key, value, in: section, file, number)
      case .unreadable(let reason): report(.error, file, number, "the line \(reason)")
      }
    }
  }

  package consuming func finish() -> (LogindSettings, [Diagnostic]) {
    for (rule, origin) in zip(settings.signals, origins) where rule.post == nil {
      report(.error, origin.file, origin.line, "Post= is missing: the name of the notification")
    }
    settings.signals.removeAll { $0.post == nil }
    return (settings, diagnostics)
  }

  private mutating func section(_ name: String, _ subject: String?, _ file: String, _ line: Int) -> Section {
    switch (name, subject) {
    case ("Logind", nil): return .logind
    case ("Signal", let signal?):
      guard let rule = SignalRule(signal: signal) else {
        report(.error, file, line, "\"\(signal.escaped)\" is not INTERFACE.MEMBER of a D-Bus signal")
        return .ignored
      }
      settings.signals.append(rule)
      origins.append((file, line))
      return .signal(settings.signals.count - 1)
    default:
      report(
        .mistake, file, line,
        "there is no section [\(name.escaped)\(subject.map { " \"\($0.escaped)\"" } ?? "")]; it is ignored")
      return .ignored
    }
  }

  private mutating func take(
    _ key: String, _ value: String, in section: Section, _ file: String, _ line: Int
  ) {
    do throws(SettingError) {
      switch (section, key) {
      case (.ignored, _): return
      case (.none, _):
        report(.mistake, file, line, "\(key.escaped)= stands before any section; it is ignored")
      case (.logind, "Probe"): settings.probe = try Self.probe(value)
      case (.logind, "Enforce"):
        // What cannot be read counts as the stricter word: a mistake must not make possible what is vetoed.
        settings.masksTargets = true
        settings.masksTargets = try Self.isMask(value)
      case (.signal(let index), _):
        settings.signals[index] = try changed(settings.signals[index], key, value, file, line)
      case (.logind, _):
        report(.mistake, file, line, "there is no \(key.escaped)= in [Logind]; it is ignored")
      }
    } catch {
      report(.error, file, line, "\(key)=: \(error.message)")
    }
  }

  private mutating func changed(
    _ rule: SignalRule, _ key: String, _ value: String, _ file: String, _ line: Int
  ) throws(SettingError) -> SignalRule {
    var rule = rule
    switch key {
    case "Post":
      guard NameSyntax.isName(value.utf8Bytes), !NameSyntax.isReserved(value.utf8Bytes) else {
        throw SettingError(value, "is no name of a notification")
      }
      rule.post = value
    case "Object":
      guard value.isEmpty || NameSyntax.isObject(value.utf8Bytes) else {
        throw SettingError(value, "is no object")
      }
      rule.object = value
    case "Sender" where value.isEmpty: rule.sender = SignalRule.owner(of: rule.interface)
    case "Path" where value.isEmpty: rule.path = nil
    case "Sender":
      guard SignalRule.isPlain(value) else { throw SettingError(value, "is no name of a service on D-Bus") }
      rule.sender = value
    case "Path":
      guard SignalRule.isPlain(value), value.hasPrefix("/") else {
        throw SettingError(value, "is no path of an object on D-Bus")
      }
      rule.path = value
    case "Retain": rule.isRetained = try SettingSyntax.flag(value)
    default: report(.mistake, file, line, "there is no \(key.escaped)= in [Signal]; it is ignored")
    }
    return rule
  }

  private static func probe(_ text: String) throws(SettingError) -> Duration? {
    if text.isEmpty || text == "no" { return nil }
    let nanoseconds = try SettingSyntax.span(text)
    guard nanoseconds >= 1_000_000_000 else { throw SettingError(text, "is less than a second") }
    return .nanoseconds(Int64(clamping: nanoseconds))
  }

  private static func isMask(_ text: String) throws(SettingError) -> Bool {
    switch text {
    case "mask": true
    case "inhibit", "": false
    default: throw SettingError(text, "is neither inhibit nor mask")
    }
  }

  mutating func report(_ severity: Diagnostic.Severity, _ file: String, _ line: Int?, _ message: String) {
    diagnostics.append(Diagnostic(severity, file, line, message))
  }
}
