// SPDX-License-Identifier: Apache-2.0

import TribuneWire

package struct SettingError: Error, Equatable, Sendable {
  package let message: String
  package let severity: Diagnostic.Severity

  package init(message: String, _ severity: Diagnostic.Severity = .error) {
    self.message = message
    self.severity = severity
  }

  package init(_ value: String, _ problem: String, _ severity: Diagnostic.Severity = .error) {
    self.init(message: "\"\(value.escaped)\" \(problem)", severity)
  }
}

/// Parses values in the syntax of systemd's files. A size with a fraction, such as 1.5M, is an error.
package enum SettingSyntax {
  private static let sizeUnits: [Character] = ["K", "M", "G", "T"]

  private static let spanUnits: [(name: String, nanoseconds: UInt64)] = [
    ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("min", 60_000_000_000), ("s", 1_000_000_000),
    ("ms", 1_000_000), ("us", 1_000),
  ]

  package static func count(
    _ text: String, in range: ClosedRange<Int> = 0...Int.max
  ) throws(SettingError) -> Int {
    guard let count = number(text[...]) else { throw SettingError(text, "is not a number") }
    return try check(count, in: range, text) { "\($0)" }
  }

  /// Throws if the pattern is misspelt, or if no question can match it. If `takesValues` is true, throws only
  /// for a misspelt pattern. The pattern's syntax must be valid.
  package static func requireQuestion(
    _ pattern: String, orValue takesValues: Bool = false
  ) throws(SettingError) {
    let isMisspelt =
      WellKnownQuestions.meant(by: pattern) != nil || NameSyntax.question(aboutMessage: pattern) != nil
    if !isMisspelt, takesValues || NameSyntax.canMatchQuestion(pattern) { return }
    throw SettingError(pattern, "is not the name of a question: \(WellKnownQuestions.hint(for: pattern))")
  }

  /// Parses a number of bytes with an optional suffix `K`, `M`, `G` or `T`.
  package static func size(
    _ text: String, in range: ClosedRange<Int> = 0...Int.max
  ) throws(SettingError) -> Int {
    var digits = text[...]
    var shift = 0
    if let last = digits.last, let unit = sizeUnits.firstIndex(of: last) {
      digits.removeLast()
      shift = 10 * (unit + 1)
    }
    guard let count = number(digits), count <= Int.max >> shift else {
      throw SettingError(text, "is not a size such as 64K, 1M or 2G")
    }
    return try check(count << shift, in: range, text, Self.text(size:))
  }

  /// Parses a time span of systemd.time(7). Returns nanoseconds.
  package static func span(
    _ text: String, in range: ClosedRange<UInt64> = 0...UInt64.max
  ) throws(SettingError) -> UInt64 {
    let span: TimeSpan
    do throws(TimeSpan.SyntaxError) {
      span = try TimeSpan(text)
    } catch {
      throw SettingError(message: error.description)
    }
    let (nanoseconds, overflow) = UInt64(span.microseconds).multipliedReportingOverflow(by: 1_000)
    return try check(overflow ? .max : nanoseconds, in: range, text, Self.text(span:))
  }

  private static func check<Value: Comparable>(
    _ value: Value, in range: ClosedRange<Value>, _ text: String, _ describe: (Value) -> String
  ) throws(SettingError) -> Value {
    guard range.contains(value) else {
      let (least, most) = (describe(range.lowerBound), describe(range.upperBound))
      throw SettingError(text, "is out of range (\(least) to \(most))")
    }
    return value
  }

  package static func mode(_ text: String) throws(SettingError) -> UInt32 {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }),
      let mode = UInt32(text, radix: 8), mode <= 0o777
    else { throw SettingError(text, "is not an octal mode from 0000 to 0777") }
    return mode
  }

  /// Returns the value of the choice whose word is `text`. An empty text selects the last choice.
  package static func word<Value>(
    _ text: String, _ choices: KeyValuePairs<String, Value>
  ) throws(SettingError) -> Value {
    guard let choice = text.isEmpty ? choices.last : choices.first(where: { $0.key == text }) else {
      let words = choices.map(\.key)
      throw SettingError(
        text,
        words.count == 2
          ? "is neither \(words[0]) nor \(words[1])" : "is not one of " + words.joined(separator: ", "))
    }
    return choice.value
  }

  package static func flag(_ text: String) throws(SettingError) -> Bool {
    try word(text, ["yes": true, "no": false])
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

  package static func text(span nanoseconds: UInt64) -> String {
    guard nanoseconds != 0 else { return "0" }
    for unit in spanUnits where nanoseconds % unit.nanoseconds == 0 {
      return "\(nanoseconds / unit.nanoseconds)\(unit.name)"
    }
    return "\(nanoseconds)ns"
  }

  package static func number(_ text: Substring) -> Int? {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return Int(text)
  }
}
