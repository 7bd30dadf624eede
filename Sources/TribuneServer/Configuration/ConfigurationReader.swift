// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Reads configuration files one after the other into one configuration. It never stops at a problem:
/// all of them, of all files, are reported.
nonisolated package struct ConfigurationReader {
  private let defaults: Configuration
  private var configuration: Configuration
  private var diagnostics: [Diagnostic] = []
  /// Where each setting was last set, by its key; nothing for one that never was.
  private var origins: [String: Origin] = [:]
  private var originsCount = 0

  private struct Origin {
    let file: String
    let line: Int
    /// Grows from one setting to the next, over all files.
    let order: Int
    let isValid: Bool
  }

  package init(defaults: Configuration) {
    self.defaults = defaults
    configuration = defaults
  }

  /// Reads a file's contents. What earlier ones have set is replaced.
  package mutating func read(_ contents: [UInt8], file: String) {
    var bytes = contents[...]
    // The mark that some editors put before UTF-8.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
    var section: String?
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (number, line) in zip(1..., lines) {
      switch IniLine(line) {
      case .nothing:
        continue
      case .section(let name):
        section = name
        if !Setting.all.contains(where: { $0.section == name }) {
          report(.warning, file, number, "there is no section [\(name.escaped)]; it is ignored")
        }
      case .pair(let key, let value):
        set(key, value, in: section, file, number)
      case .unreadable(let reason):
        report(.error, file, number, "the line \(reason)")
      }
    }
  }

  /// Notes a problem with a file as a whole.
  package mutating func failed(_ file: String, _ message: String) {
    report(.error, file, nil, message)
  }

  /// What was read, once the settings have been held against each other.
  package consuming func finish() -> (Configuration, [Diagnostic]) {
    for rule in SettingRule.all {
      guard let violation = rule.violation(in: configuration) else { continue }
      let origins = rule.keys.compactMap { self.origins[$0] }
      // A setting that could not be read has been reported, and says nothing about its neighbour.
      guard origins.allSatisfy(\.isValid), let last = origins.max(by: { $0.order < $1.order }) else {
        continue
      }
      report(rule.severity, last.file, last.line, violation)
    }
    return (configuration, diagnostics)
  }

  private mutating func set(
    _ key: String, _ value: String, in section: String?, _ file: String, _ line: Int
  ) {
    guard let section else {
      report(.warning, file, line, "\(key.escaped)= stands before any section; it is ignored")
      return
    }
    let settings = Setting.all.filter { $0.section == section }
    guard let setting = settings.first(where: { $0.key == key }) else {
      // A section that has no settings at all has been reported where it began.
      if !settings.isEmpty {
        report(.warning, file, line, "there is no \(key.escaped)= in [\(section)]; it is ignored")
      }
      return
    }
    var isValid = true
    if value.isEmpty {
      setting.copy(from: defaults, to: &configuration)
    } else {
      do {
        try setting.set(value, in: &configuration)
      } catch {
        isValid = false
        report(.error, file, line, "\(key)=: \(error.message)")
      }
    }
    origins[key] = Origin(file: file, line: line, order: originsCount, isValid: isValid)
    originsCount += 1
  }

  private mutating func report(
    _ severity: Diagnostic.Severity, _ file: String, _ line: Int?, _ message: String
  ) {
    diagnostics.append(Diagnostic(severity, file, line, message))
  }
}
