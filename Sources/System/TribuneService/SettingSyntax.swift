// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Why a value is invalid.
package struct SettingError: Error, Equatable, Sendable {
  /// Begins with the value in quotes, if there is one.
  package let message: String

  package init(message: String) { self.message = message }

  package init(_ value: String, _ problem: String) { message = "\"\(value.escaped)\" \(problem)" }

  fileprivate init(_ error: TimeSpan.SyntaxError) { message = error.description }
}

/// The syntax of values, which is that of systemd's files without fractions of sizes.
package enum SettingSyntax {
  /// The units of sizes, each 1,024 times the one before.
  private static let sizeUnits: [Character] = ["K", "M", "G", "T"]

  /// The units that `text(span:)` uses, in nanoseconds.
  private static let spanUnits: [(name: String, nanoseconds: UInt64)] = [
    ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("min", 60_000_000_000), ("s", 1_000_000_000),
    ("ms", 1_000_000), ("us", 1_000),
  ]

  package static func count(_ text: String) throws(SettingError) -> Int {
    guard let count = number(text[...]) else { throw SettingError(text, "is not a number") }
    return count
  }

  /// Bytes: a whole number, optionally followed by `K`, `M`, `G` or `T`.
  package static func size(_ text: String) throws(SettingError) -> Int {
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
  package static func span(_ text: String) throws(SettingError) -> UInt64 {
    do {
      let (nanoseconds, overflow) = UInt64(try TimeSpan(text).microseconds).multipliedReportingOverflow(
        by: 1_000)
      return overflow ? .max : nanoseconds
    } catch {
      throw SettingError(error)
    }
  }

  /// Permission bits in octal.
  package static func mode(_ text: String) throws(SettingError) -> UInt32 {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }),
      let mode = UInt32(text, radix: 8), mode <= 0o777
    else { throw SettingError(text, "is not an octal mode from 0000 to 0777") }
    return mode
  }

  package static func flag(_ text: String) throws(SettingError) -> Bool {
    switch text {
    case "yes": true
    case "no", "": false
    default: throw SettingError(text, "is neither yes nor no")
    }
  }

  package static func words(of text: String) -> [String] {
    text.split { $0 == " " || $0 == "\t" }.map(String.init)
  }

  package static func text(size: Int) -> String {
    var size = size
    var unit = ""
    for next in sizeUnits where size != 0 && size % 1024 == 0 {
      size /= 1024
      unit = String(next)
    }
    return "\(size)\(unit)"
  }

  /// The span in the largest unit that divides it.
  package static func text(span nanoseconds: UInt64) -> String {
    guard nanoseconds != 0 else { return "0" }
    for unit in spanUnits where nanoseconds % unit.nanoseconds == 0 {
      return "\(nanoseconds / unit.nanoseconds)\(unit.name)"
    }
    return "\(nanoseconds)ns"
  }

  package static func text(mode: UInt32) -> String {
    let digits = String(mode, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  package static func number(_ text: Substring) -> Int? {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return Int(text)
  }
}
