// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribunePolicy
import TribuneSystem
import TribuneWire

/// Why a value is invalid.
nonisolated package struct SettingError: Error, Equatable, Sendable {
  /// Begins with the value in quotes, if there is one.
  package let message: String

  init(message: String) { self.message = message }

  init(_ value: String, _ problem: String) { message = "\"\(value.escaped)\" \(problem)" }

  fileprivate init(_ error: TimeSpan.SyntaxError) { message = error.description }
}

/// The syntax of values, which is that of systemd's files without fractions of sizes.
nonisolated enum SettingSyntax {
  /// The units of sizes, each 1,024 times the one before.
  private static let sizeUnits: [Character] = ["K", "M", "G", "T"]

  /// The units that `text(span:)` uses, in nanoseconds.
  private static let spanUnits: [(name: String, nanoseconds: UInt64)] = [
    ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("min", 60_000_000_000), ("s", 1_000_000_000),
    ("ms", 1_000_000), ("us", 1_000),
  ]

  static func count(_ text: String) throws(SettingError) -> Int {
    guard let count = number(text[...]) else { throw SettingError(text, "is not a number") }
    return count
  }

  /// Bytes: a whole number, optionally followed by `K`, `M`, `G` or `T`.
  static func size(_ text: String) throws(SettingError) -> Int {
    var digits = text[...]
    var shift = 0
    if let last = digits.last, let unit = sizeUnits.firstIndex(of: last) {
      digits.removeLast()
      shift = 10 * (unit + 1)
    }
    guard let count = number(digits), count <= Int.max >> shift else {
      throw SettingError(text, "is not a size such as 64K, 1M or 2G")
    }
    return count << shift
  }

  /// Nanoseconds, from a span as systemd.time(7) writes it.
  static func span(_ text: String) throws(SettingError) -> UInt64 {
    do {
      let (nanoseconds, overflow) = UInt64(try TimeSpan(text).microseconds).multipliedReportingOverflow(
        by: 1_000)
      return overflow ? .max : nanoseconds
    } catch {
      throw SettingError(error)
    }
  }

  /// Permission bits in octal.
  static func mode(_ text: String) throws(SettingError) -> UInt32 {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }),
      let mode = UInt32(text, radix: 8), mode <= 0o777
    else { throw SettingError(text, "is not an octal mode from 0000 to 0777") }
    return mode
  }

  static func level(_ text: String) throws(SettingError) -> Log.Level {
    guard let level = Log.Level.allCases.first(where: { $0.name == text }) else {
      throw SettingError(text, "is not one of " + Log.Level.allCases.map(\.name).joined(separator: ", "))
    }
    return level
  }

  /// `*` for everyone, `none`, or user names and ids separated by spaces.
  static func users(_ text: String) throws(SettingError) -> BusPolicy.Overriders {
    if text == "*" { return .everyone }
    if text == "none" { return .users([]) }
    var users: Set<UInt32> = []
    for word in words(of: text) { users.insert(try user(word)) }
    return .users(users)
  }

  /// The id of a user, who is given by name or id.
  static func user(_ text: String) throws(SettingError) -> UInt32 {
    guard let id = try knownUser(text) else { throw SettingError(text, "is not a user of this host") }
    return id
  }

  /// The id of a user, who is given by name or id; nil if this host has none of that name.
  static func knownUser(_ text: String) throws(SettingError) -> UInt32? {
    // -1 is no user: chown(2) and the like take it for "no change".
    if number(text[...]) != nil {
      guard let id = UInt32(text), id != .max else { throw SettingError(text, "is not a user id") }
      return id
    }
    guard text != "*", text != "none" else { throw SettingError(text, "must be the only value") }
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

  private static func words(of text: String) -> [String] {
    text.split { $0 == " " || $0 == "\t" }.map(String.init)
  }

  static func text(users: BusPolicy.Overriders) -> String {
    switch users {
    case .everyone: "*"
    case .users(let users): users.isEmpty ? "none" : users.sorted().map(String.init).joined(separator: " ")
    }
  }

  static func text(size: Int) -> String {
    var size = size
    var unit = ""
    for next in sizeUnits where size != 0 && size % 1024 == 0 {
      size /= 1024
      unit = String(next)
    }
    return "\(size)\(unit)"
  }

  /// The span in the largest unit that divides it.
  static func text(span nanoseconds: UInt64) -> String {
    guard nanoseconds != 0 else { return "0" }
    for unit in spanUnits where nanoseconds % unit.nanoseconds == 0 {
      return "\(nanoseconds / unit.nanoseconds)\(unit.name)"
    }
    return "\(nanoseconds)ns"
  }

  static func text(mode: UInt32) -> String {
    let digits = String(mode, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  private static func number(_ text: Substring) -> Int? {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return Int(text)
  }
}
