// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// A reader of settings files, with a table of the known sections. It reports all mistakes, not only one.
package struct SettingsReader<Settings: Sendable> {
  package struct Line: Sendable {
    package let key: String
    package let place: SettingPlace
    package let isValid: Bool
  }

  package var stated: Settings
  /// The settings that were read. If a section may have a rule that could not be read, the section's
  /// strictest setting applies (`SettingsSection.doubt`), whatever the other lines say.
  package var settings: Settings { doubts.reduce(into: stated) { $1.mark(&$0, $1.place) } }
  package private(set) var diagnostics: [Diagnostic] = []
  package private(set) var lines: [Line] = []
  private var doubts: [(mark: SettingsSection<Settings>.Doubt, place: SettingPlace)] = []
  private let defaults: Settings
  private let sections: [SettingsSection<Settings>]

  package init(_ defaults: Settings, _ sections: [SettingsSection<Settings>]) {
    stated = defaults
    self.defaults = defaults
    self.sections = sections
  }

  /// For each name, reads the file NAME, then the files NAME.d/*.conf. A missing file is not a mistake. A
  /// missing directory is an error if `named` is not nil.
  ///
  /// - Parameter named: the directory; nil for the system's directory.
  package mutating func read(_ names: String..., in named: String?) {
    let directory = named ?? ConfigurationFiles.systemDirectory
    if named != nil, !ConfigurationFiles.exists(directory) {
      doubt(SettingPlace(file: directory), "does not exist")
    }
    for name in names {
      read("\(directory)/\(name)")
      let folder = "\(directory)/\(name).d"
      do throws(SettingError) {
        let (paths, misnamed) = try ConfigurationFiles.paths(in: folder, endingIn: [".conf"])
        for path in paths { read(path) }
        for diagnostic in misnamed { add(diagnostic) }
      } catch {
        doubt(SettingPlace(file: folder), error.message)
      }
    }
  }

  private mutating func read(_ path: String) {
    do throws(SettingError) {
      if let contents = try ConfigurationFiles.read(path) { read(contents, file: path) }
    } catch {
      doubt(SettingPlace(file: path), error.message)
    }
  }

  /// Reads the text of a file. Later lines override earlier ones.
  package mutating func read(_ contents: [UInt8], file: String) {
    var section: SettingsSection<Settings>?
    var hasHeader = false
    var subject = ""
    for (number, line) in IniLine.all(in: contents) {
      let place = SettingPlace(subject: subject, file: file, line: number)
      switch line {
      case .nothing: continue
      case .section(let name, let text):
        let found = understood(name, text, place)
        (hasHeader, subject) = (true, found.subject ?? "")
        section = self.section(
          found.name, found.subject, SettingPlace(subject: subject, file: file, line: number))
      case .pair(let key, let value):
        if let section {
          take(key, value, in: section, place)
        } else if !hasHeader {
          doubt(place, "\(key.escaped)= stands before any section")
        }
      case .unreadable(let reason, let isHeader):
        doubt(place, "the line \(reason)")
        // The lines that follow belong to an unknown section.
        if isHeader { (section, hasHeader) = (nil, true) }
      }
    }
  }

  package mutating func diagnose(_ severity: Diagnostic.Severity, _ place: SettingPlace, _ message: String) {
    diagnostics.append(Diagnostic(severity, place.file, place.line, message))
  }

  package mutating func add(_ found: Diagnostic...) { diagnostics += found }

  private static func text(_ name: String, _ subject: String?) -> String {
    "[\(name.escaped)\(subject.map { " \"\($0.escaped)\"" } ?? "")]"
  }

  /// Gives every section its strictest setting, because the unreadable part may belong to any section.
  private mutating func doubt(_ place: SettingPlace, _ message: String) {
    diagnose(.error, place, message)
    for section in sections { doubt(section, place) }
  }

  private mutating func doubt(_ section: SettingsSection<Settings>, _ place: SettingPlace) {
    if let doubt = section.doubt { doubts.append((doubt, place)) }
  }

  private mutating func section(
    _ name: String, _ subject: String?, _ place: SettingPlace
  ) -> SettingsSection<Settings>? {
    let named = sections.filter { $0.name == name }
    guard
      let section = named.first(where: { $0.hasSubject == (subject != nil) })
        ?? named.first(where: \.hasSubject)
    else {
      let hint = Spelling.hint(for: name, among: sections.map(\.name)) { "[\($0)]" }
      doubt(place, "there is no section \(Self.text(name, subject))\(hint)")
      return nil
    }
    do throws(SettingError) {
      try section.begin(&stated, place)
      return section
    } catch {
      diagnose(error.severity, place, "[\(name)]: \(error.message)")
      if error.severity == .warning { return section }
      doubt(section, place)
      return nil
    }
  }

  private mutating func understood(
    _ name: String, _ subject: String?, _ place: SettingPlace
  ) -> (name: String, subject: String?) {
    let words = name.split(separator: " ", maxSplits: 1).map(String.init)
    guard let word = words.first,
      let meant = sections.first(where: { $0.name.lowercased() == word.lowercased() })?.name,
      name != meant, subject == nil || words.count == 1
    else { return (name, subject) }
    let subject = subject ?? (words.count > 1 ? words[1] : nil)
    diagnose(
      .warning, place, "[\(name.escaped)] is read as \(Self.text(meant, subject)): write it like that")
    return (meant, subject)
  }

  private mutating func take(
    _ key: String, _ value: String, in section: SettingsSection<Settings>, _ place: SettingPlace
  ) {
    guard let known = section.settings.first(where: { $0.name == key }) else {
      // If this section has no `consequence` for unknown keys, `home` is a section that has one, and that
      // knows this key. The operator may have meant that section.
      let home = sections.first { other in
        section.consequence == nil && other.consequence != nil
          && other.settings.contains { $0.name.lowercased() == key.lowercased() }
      }
      let hint =
        home.map { " (it belongs under [\($0.name)\($0.hasSubject ? " \"…\"" : "")])" }
        ?? Spelling.hint(for: key, among: section.settings.map(\.name)) { "\($0)=" }
      let header = Self.text(section.name, section.hasSubject ? place.subject : nil)
      let consequence = section.consequence ?? home?.consequence
      diagnose(
        consequence == nil ? .mistake : .error, place,
        "there is no \(key.escaped)= in \(header); \(consequence ?? "it is ignored")\(hint)")
      if let home { doubt(home, place) }
      return doubt(section, place)
    }
    var isValid = true
    do throws(SettingError) {
      if value.isEmpty, let reset = known.reset {
        reset(&stated, defaults)
      } else {
        try known.change(&stated, value, place)
      }
    } catch {
      isValid = false
      diagnose(.error, place, "\(key)=: \(error.message)")
    }
    lines.append(Line(key: key, place: place, isValid: isValid))
  }
}
