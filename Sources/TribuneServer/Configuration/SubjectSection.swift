// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// A section whose header has a subject, such as `[Query "backup.*"]`. There may be several, also with the same
/// subject; their contents add up.
nonisolated enum SubjectSection: Equatable, Sendable {
  case query(Pattern)
  case object(ObjectPattern)

  static let names = ["Query", "Object"]

  /// Parses a header; nil if no section of this name has a subject.
  ///
  /// - Throws: when the subject is missing or invalid.
  init?(name: String, subject: String?) throws(SettingError) {
    switch name {
    case "Query":
      guard let subject else { throw SettingError(message: "needs a query, as in [Query \"backup.*\"]") }
      do throws(WireError) {
        self = .query(try Pattern(subject))
      } catch {
        throw SettingError(
          subject, "is not a pattern: a name, with * for a token and a last ** for one or more")
      }
    case "Object":
      guard let subject else { throw SettingError(message: "needs an object, as in [Object \"view/*\"]") }
      guard let pattern = ObjectPattern(subject) else {
        throw SettingError(
          subject,
          "is not a pattern of objects: an object, with * for a part between slashes and a last ** for the rest"
        )
      }
      self = .object(pattern)
    default: return nil
    }
  }

  var keys: [String] {
    switch self {
    case .query: ["RequireDelegate"]
    case .object: ["Protocol"]
    }
  }

  /// Adds a value to a key, which is one of `keys`. An empty value removes the earlier ones.
  ///
  /// - Throws: when the value is invalid; the configuration is unchanged then.
  func add(_ text: String, to key: String, in configuration: inout Configuration) throws(SettingError) {
    switch self {
    case .query(let pattern):
      let names = try SettingSyntax.delegateNames(text)
      guard !names.isEmpty else {
        return configuration.policy.requirements.removeAll { $0.pattern == pattern }
      }
      let count = configuration.policy.requirements.count
      let place = configuration.policy.requirements.firstIndex { $0.pattern == pattern } ?? count
      if place == count {
        configuration.policy.requirements.append(.init(pattern: pattern, names: []))
      }
      for name in names where !configuration.policy.requirements[place].names.contains(name) {
        configuration.policy.requirements[place].names.append(name)
      }
    case .object(let pattern):
      // An object has one protocol, so the last value counts.
      configuration.objects.removeAll { $0.pattern == pattern }
      guard !text.isEmpty else { return }
      configuration.objects.append(ObjectRule(pattern: pattern, protocolName: text))
    }
  }

  /// All such sections of a configuration, as lines of a file.
  static func lines(of configuration: Configuration) -> [String] {
    configuration.policy.requirements.flatMap { requirement in
      // One line for each name, because the length of a line is limited.
      ["", "[Query \"\(requirement.pattern.text)\"]"] + requirement.names.map { "RequireDelegate=\($0)" }
    }
      + configuration.objects.flatMap { rule in
        ["", "[Object \"\(rule.pattern.text)\"]", "Protocol=\(rule.protocolName)"]
      }
  }
}
