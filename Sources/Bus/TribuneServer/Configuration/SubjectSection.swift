// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneService
import TribuneWire

/// A section whose header has a subject, such as `[Query "backup.*"]`. There may be several, also with the same
/// subject; their contents add up.
nonisolated enum SubjectSection: Equatable, Sendable {
  case query(Pattern)
  case object(ObjectPattern)
  /// Nil for a user that this host does not have: its settings are checked, and have no effect.
  case user(UInt32?)

  static let names = ["Query", "Object", "User"]

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
    case "User":
      guard let subject else { throw SettingError(message: "needs a user, as in [User \"backup\"]") }
      self = .user(try SettingSyntax.knownUser(subject))
    default: return nil
    }
  }

  var keys: [String] {
    switch self {
    case .query: ["RequireDelegate", "Default"]
    case .object: ["Protocol"]
    case .user: ["Share"]
    }
  }

  /// Adds a value to a key, which is one of `keys`. An empty value removes the earlier ones.
  ///
  /// - Throws: when the value is invalid; the configuration is unchanged then.
  func add(_ text: String, to key: String, in configuration: inout Configuration) throws(SettingError) {
    switch self {
    case .query(let pattern):
      let change: (inout BusPolicy.QueryRule) -> Void
      if key == "Default" {
        let isVeto = try SettingSyntax.isVeto(text)
        change = { $0.vetoesByDefault = isVeto }
      } else {
        let delegates = try SettingSyntax.requiredDelegates(text)
        change = { $0.require(delegates) }
      }
      configuration.policy.change(pattern, change)
    case .object(let pattern):
      // An object has one protocol, so the last value counts.
      configuration.objects.removeAll { $0.pattern == pattern }
      guard !text.isEmpty else { return }
      configuration.objects.append(ObjectRule(pattern: pattern, protocolName: text))
    case .user(let user):
      let weight = text.isEmpty ? nil : try SettingSyntax.weight(text)
      if let user { configuration.weights[user] = weight }
    }
  }

  /// All such sections of a configuration, as lines of a file.
  static func lines(of configuration: Configuration) -> [String] {
    var lines: [String] = []
    for rule in configuration.policy.queryRules {
      lines += ["", "[Query \"\(rule.pattern.text)\"]"] + rule.required.map { "RequireDelegate=\($0.text)" }
      if rule.vetoesByDefault { lines.append("Default=veto") }
    }
    for rule in configuration.objects {
      lines += ["", "[Object \"\(rule.pattern.text)\"]", "Protocol=\(rule.protocolName)"]
    }
    for (user, weight) in configuration.weights.sorted(by: { $0.key < $1.key }) {
      lines += ["", "[User \"\(user)\"]", "Share=\(weight)"]
    }
    return lines
  }
}
