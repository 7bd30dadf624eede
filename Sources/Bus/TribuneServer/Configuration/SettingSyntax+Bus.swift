// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribunePolicy
import TribuneService
import TribuneSystem
import TribuneWire

/// The syntax of values that only the bus has.
nonisolated extension SettingSyntax {
  static func level(_ text: String) throws(SettingError) -> Log.Level {
    guard let level = Log.Level.allCases.first(where: { $0.name == text }) else {
      throw SettingError(text, "is not one of " + Log.Level.allCases.map(\.name).joined(separator: ", "))
    }
    return level
  }

  /// The id of a user, who is given by name or id; nil if this host has none of that name.
  static func knownUser(_ text: String) throws(SettingError) -> UInt32? {
    // -1 is no user: chown(2) and the like take it for "no change".
    if number(text[...]) != nil {
      guard let id = UInt32(text), id != .max else { throw SettingError(text, "is not a user id") }
      return id
    }
    do throws(Errno) {
      return try UserDatabase.id(of: text)
    } catch {
      throw SettingError(text, "cannot be looked up: \(error)")
    }
  }

  /// As how many users one counts.
  static func weight(_ text: String) throws(SettingError) -> Int {
    guard let weight = number(text[...]), (1...1000).contains(weight) else {
      throw SettingError(text, "is not a number from 1 to 1000: as how many users this one counts")
    }
    return weight
  }

  /// `veto`, or `allow`, which is the default.
  static func isVeto(_ text: String) throws(SettingError) -> Bool {
    switch text {
    case "veto": return true
    case "allow", "": return false
    default: throw SettingError(text, "is neither veto nor allow")
    }
  }

  /// Delegates, separated by spaces; none for an empty text.
  static func requiredDelegates(_ text: String) throws(SettingError) -> [RequiredDelegate] {
    var delegates: [RequiredDelegate] = []
    for word in words(of: text) {
      guard let delegate = RequiredDelegate(word) else {
        // A word with a prefix of its own, or with nothing behind it, is no name to repeat.
        let name = word.contains(":") ? "NAME" : word.escaped
        let unit = word.contains(":") || Condition.isUnit(word) ? name : "\(name).service"
        throw SettingError(
          word, "does not say what it names: write unit:\(unit) for a system unit, label:\(name) for a label")
      }
      if case .unit(let name) = delegate, !Condition.isUnit(name) {
        throw SettingError(
          word, "is not a unit in which a process can be: write its whole name, such as unit:backup.service")
      }
      guard word.utf8.count <= WireLimits.labelLength else {
        throw SettingError(word, "is too long: the limit is \(WireLimits.labelLength) bytes")
      }
      delegates.append(delegate)
    }
    return delegates
  }
}
