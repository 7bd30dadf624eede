// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Where a setting stands.
package struct SettingPlace: Sendable {
  /// Of the section; empty for none.
  package let subject: String
  package let file: String
  package let line: Int
}

/// A section of a program's files, and what its keys change.
package struct SettingsSection<Settings>: Sendable {
  /// What a value changes. If it throws, what it has changed until then stays: the stricter word.
  package typealias Change =
    @Sendable (inout Settings, _ value: String, SettingPlace) throws(SettingError) -> Void
  /// What a line changes that has no value.
  package typealias Mark = @Sendable (inout Settings, SettingPlace) throws(SettingError) -> Void

  let name: String
  let hasSubject: Bool
  let keys: [(name: String, change: Change)]
  /// What the header changes.
  let begin: Mark
  /// What an unknown key or an unreadable line changes: it may be the one that forbids something.
  let doubt: Mark
  /// What becomes of an unknown key.
  let consequence: String

  package init(
    _ name: String, hasSubject: Bool = false, _ keys: [(name: String, change: Change)],
    begin: @escaping Mark = { _, _ in }, doubt: @escaping Mark = { _, _ in },
    consequence: String = "it is ignored"
  ) {
    self.name = name
    self.hasSubject = hasSubject
    self.keys = keys
    self.begin = begin
    self.doubt = doubt
    self.consequence = consequence
  }
}

/// Reads files of settings one after the other, by a table. It continues after a mistake, so that all are reported.
package struct SettingsReader<Settings> {
  package var settings: Settings
  package private(set) var diagnostics: [Diagnostic] = []
  private let sections: [SettingsSection<Settings>]
  /// What a line changes that cannot be read.
  private let unreadable: SettingsSection<Settings>.Mark
  /// What a header changes that cannot be read: its section may be the one that forbids something.
  private let unreadableHeader: SettingsSection<Settings>.Mark

  package init(
    _ settings: Settings, _ sections: [SettingsSection<Settings>],
    unreadable: @escaping SettingsSection<Settings>.Mark = { _, _ in },
    unreadableHeader: @escaping SettingsSection<Settings>.Mark = { _, _ in }
  ) {
    self.settings = settings
    self.sections = sections
    self.unreadable = unreadable
    self.unreadableHeader = unreadableHeader
  }

  /// Reads a file's contents. Later lines win.
  package mutating func read(_ contents: [UInt8], file: String) {
    var section: SettingsSection<Settings>?
    var header: String?
    var subject = ""
    for (number, line) in IniLine.all(in: contents) {
      let place = SettingPlace(subject: subject, file: file, line: number)
      switch line {
      case .nothing: continue
      case .section(let name, let text):
        let found = understood(name, text, place)
        (header, subject) = (Self.text(name, text), found.subject ?? "")
        section = self.section(
          found.name, found.subject, SettingPlace(subject: subject, file: file, line: number))
      case .pair(let key, let value):
        if let section {
          take(key, value, in: section, place)
        } else if header == nil {
          report(.mistake, place, "\(key.escaped)= stands before any section; it is ignored")
        }
      case .unreadable(let reason, let isHeader):
        report(.error, place, "the line \(reason)")
        mark(place, unreadable)
        if let section { mark(place, section.doubt) }
        guard isHeader else { continue }
        mark(place, unreadableHeader)
        // What follows belongs to a section that nobody knows, and not to the one before.
        (section, header) = (nil, "")
      }
    }
  }

  package mutating func report(_ severity: Diagnostic.Severity, _ place: SettingPlace, _ message: String) {
    diagnostics.append(Diagnostic(severity, place.file, place.line, message))
  }

  package mutating func report(_ found: [Diagnostic]) { diagnostics += found }

  private static func text(_ name: String, _ subject: String?) -> String {
    "[\(name.escaped)\(subject.map { " \"\($0.escaped)\"" } ?? "")]"
  }

  private mutating func mark(_ place: SettingPlace, _ mark: SettingsSection<Settings>.Mark) {
    do throws(SettingError) {
      try mark(&settings, place)
    } catch {
      report(.error, place, error.message)
    }
  }

  private mutating func section(
    _ name: String, _ subject: String?, _ place: SettingPlace
  ) -> SettingsSection<Settings>? {
    let named = sections.filter { $0.name == name }
    guard
      let section = named.first(where: { $0.hasSubject == (subject != nil) })
        ?? named.first(where: \.hasSubject)
    else {
      let hint = Spelling.hint(for: name, among: sections.map(\.name).filter { $0 != name }) { "[\($0)]" }
      report(.mistake, place, "there is no section \(Self.text(name, subject)); it is ignored\(hint)")
      return nil
    }
    do throws(SettingError) {
      try section.begin(&settings, place)
      return section
    } catch {
      report(.error, place, "[\(name)]: \(error.message)")
      return nil
    }
  }

  /// A section as it is meant. One left out could be what forbids something.
  private mutating func understood(
    _ name: String, _ subject: String?, _ place: SettingPlace
  ) -> (name: String, subject: String?) {
    let words = name.split(separator: " ", maxSplits: 1).map(String.init)
    guard let word = words.first,
      let meant = sections.first(where: { $0.name.lowercased() == word.lowercased() })?.name,
      name != meant, subject == nil || words.count == 1
    else { return (name, subject) }
    let subject = subject ?? (words.count > 1 ? words[1] : nil)
    report(
      .mistake, place, "[\(name.escaped)] counts as \(Self.text(meant, subject)), which is how to write it")
    return (meant, subject)
  }

  private mutating func take(
    _ key: String, _ value: String, in section: SettingsSection<Settings>, _ place: SettingPlace
  ) {
    guard let known = section.keys.first(where: { $0.name == key }) else {
      let hint = Spelling.hint(for: key, among: section.keys.map(\.name)) { "\($0)=" }
      let header = section.hasSubject ? "this section" : "[\(section.name)]"
      report(.mistake, place, "there is no \(key.escaped)= in \(header); \(section.consequence)\(hint)")
      return mark(place, section.doubt)
    }
    do throws(SettingError) {
      try known.change(&settings, value, place)
    } catch {
      report(.error, place, "\(key)=: \(error.message)")
    }
  }
}
