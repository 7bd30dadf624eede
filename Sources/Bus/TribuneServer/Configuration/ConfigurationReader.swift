// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribunePolicy
package import TribuneProtocols
package import TribuneService
import TribuneSystem
import TribuneWire

/// Reads configuration files one after the other into one configuration. It continues after an error, so that all
/// errors of all files are reported.
nonisolated package struct ConfigurationReader {
  private let defaults: Configuration
  private var configuration: Configuration
  private var diagnostics: [Diagnostic] = []
  /// The place where each setting was last set, by key. Settings that were never set are missing.
  private var origins: [String: Origin] = [:]
  private var originsCount = 0
  /// The place where each object pattern last got its protocol.
  private var objectOrigins: [ObjectPattern: Origin] = [:]
  private var policy = PolicyParser(.ofHost)
  private var hasPolicy = false

  /// The section that a `Key=Value` belongs to.
  private enum Section {
    case none
    case plain(String)
    case about(SubjectSection, header: String)
    /// A section that was reported at its header.
    case ignored
  }

  private struct Origin {
    let file: String
    let line: Int
    /// Increases from one setting to the next, across files.
    let order: Int
    let isValid: Bool
  }

  package init(defaults: Configuration) {
    self.defaults = defaults
    configuration = defaults
  }

  /// Reads a file's contents. They replace what earlier files set.
  package mutating func read(_ contents: [UInt8], file: String) {
    var section = Section.none
    for (number, line) in IniLine.all(in: contents) {
      switch line {
      case .nothing:
        continue
      case .section(let name, let subject):
        section = self.section(name, subject, file, number)
      case .pair(let key, let value):
        take(key, value, in: section, file, number)
      case .unreadable(let reason, _):
        report(.error, file, number, "the line \(reason)")
      }
    }
  }

  /// Adds a protocol file. All protocol files are linked together in the end.
  package mutating func read(_ source: ProtocolSource) { configuration.protocolSources.append(source) }

  /// Adds a policy file.
  package mutating func read(policy contents: [UInt8], file: String) {
    hasPolicy = true
    policy.read(contents, file: file)
  }

  /// Adds a file of expectations about the policy.
  package mutating func read(policyTests contents: [UInt8], file: String) {
    policy.read(tests: contents, file: file)
  }

  /// Checks the settings against each other, links the protocols, and returns the result.
  package consuming func finish() -> (Configuration, [Diagnostic]) {
    for rule in SettingRule.all {
      guard let violation = rule.violation(in: configuration) else { continue }
      let origins = rule.keys.compactMap { self.origins[$0] }
      // An invalid setting has been reported already, and the rule cannot be checked without it.
      guard origins.allSatisfy(\.isValid), let last = origins.max(by: { $0.order < $1.order })
      else { continue }
      report(rule.severity, last.file, last.line, violation)
    }
    checkProtocols()
    checkLength()
    finishPolicy()
    return (configuration, diagnostics)
  }

  private mutating func finishPolicy() {
    for diagnostic in policy.diagnostics {
      diagnostics.append(
        Diagnostic(
          diagnostic.isWarning ? .warning : .error, diagnostic.file, diagnostic.line,
          column: diagnostic.column, diagnostic.message))
    }
    guard hasPolicy else {
      for test in policy.tests.prefix(1) {
        report(.warning, test.origin.file, nil, "is about a policy, but there is no .policy file")
      }
      return
    }
    let policy = Policy(self.policy.lines)
    configuration.access = policy
    if let line = policy.opensAll {
      report(.warning, line.origin.file, line.origin.number, "every user may do everything on this bus")
    }
    for test in self.policy.tests {
      guard let failure = test.failure(of: policy) else { continue }
      report(.mistake, test.origin.file, test.origin.number, failure)
    }
  }

  private mutating func checkProtocols() {
    // Most configurations have no protocols; they need no library.
    if configuration.protocolSources.isEmpty, configuration.objects.isEmpty { return }
    var library = ProtocolLibrary<Never>()
    for mistake in library.load(configuration.protocolSources) {
      diagnostics.append(
        Diagnostic(
          .mistake, mistake.location.file, mistake.location.line, column: mistake.location.column,
          mistake.message.escaped))
    }
    for rule in configuration.objects where library[rule.protocolName] == nil {
      let origin = objectOrigins[rule.pattern]
      report(
        .mistake, origin?.file ?? "", origin?.line,
        "Protocol=: there is no protocol \"\(rule.protocolName.escaped)\" in protocols.d")
    }
  }

  /// The log has the configuration in force, which must leave space there for all else.
  private mutating func checkLength() {
    // Most configurations have neither.
    if configuration.policy == BusPolicy(), configuration.objects.isEmpty { return }
    let length = Bus.loggedLength(of: configuration)
    let lengthMax = configuration.logMaxBytes / 16
    guard length > lengthMax else { return }
    let origin = origins["LogMax"]
    report(
      .error, origin?.file ?? "tribuned.conf", origin?.line,
      """
      LogMax= is too small: the [Query] and [Object] sections with their protocols take \(length) bytes in the log, \
      and may take a sixteenth of it, \(lengthMax) bytes
      """)
  }

  private mutating func section(_ name: String, _ subject: String?, _ file: String, _ line: Int) -> Section {
    let header = subject.map { "[\(name.escaped) \"\($0.escaped)\"]" } ?? "[\(name.escaped)]"
    do throws(SettingError) {
      if let about = try SubjectSection(name: name, subject: subject) {
        if about == .user(nil) {
          report(.warning, file, line, "\(header): this host has no such user; the section is ignored")
        }
        return .about(about, header: header)
      }
    } catch {
      // An error, not a warning: otherwise the requirements of the section could be missing unnoticed.
      report(name == "User" ? .mistake : .error, file, line, "\(header): \(error.message)")
      return .ignored
    }
    if subject == nil, Setting.all.contains(where: { $0.section == name }) { return .plain(name) }
    let known = Setting.all.map(\.section) + SubjectSection.names
    let hint = Spelling.hint(for: name, among: known) { "[\($0)]" }
    report(.mistake, file, line, "there is no section \(header); it is ignored\(hint)")
    return .ignored
  }

  private mutating func take(
    _ key: String, _ value: String, in section: Section, _ file: String, _ line: Int
  ) {
    switch section {
    case .none: report(.mistake, file, line, "\(key.escaped)= stands before any section; it is ignored")
    case .plain(let section): set(key, value, in: section, file, line)
    case .about(let section, let header):
      guard section.keys.contains(key) else {
        reportUnknown(key, in: header, having: section.keys, file, line)
        return
      }
      do throws(SettingError) {
        try section.add(value, to: key, in: &configuration)
        if case .object(let pattern) = section {
          objectOrigins[pattern] = Origin(file: file, line: line, order: originsCount, isValid: true)
        }
      } catch {
        report(.error, file, line, "\(key)=: \(error.message)")
      }
    case .ignored: return
    }
  }

  private mutating func set(_ key: String, _ value: String, in section: String, _ file: String, _ line: Int) {
    guard let setting = Setting.all.first(where: { $0.section == section && $0.key == key }) else {
      let known = Setting.all.filter { $0.section == section }.map(\.key)
      reportUnknown(key, in: "[\(section)]", having: known, file, line)
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

  private mutating func reportUnknown(
    _ key: String, in header: String, having known: [String], _ file: String, _ line: Int
  ) {
    let hint = Spelling.hint(for: key, among: known) { "\($0)=" }
    report(.mistake, file, line, "there is no \(key.escaped)= in \(header); it is ignored\(hint)")
  }

  /// - Parameter line: nil if the message is about the whole file.
  mutating func report(_ severity: Diagnostic.Severity, _ file: String, _ line: Int?, _ message: String) {
    diagnostics.append(Diagnostic(severity, file, line, message))
  }
}
