// SPDX-License-Identifier: Apache-2.0

/// A time span in the syntax of systemd.time(7): `5min`, `1h 30min`, `1.5s`. A number without a unit is in
/// seconds. A month has 30.44 days, a year 365.25 days. `infinity` is an error, because every span must be
/// finite.
package struct TimeSpan: Hashable, Comparable, Sendable {
  /// The length of the span. Never negative.
  package let microseconds: Int64
  private var typed: String?

  package init(microseconds: Int64) {
    precondition(microseconds >= 0)
    self.microseconds = microseconds
  }

  /// A negative duration becomes a span of zero.
  package init(_ duration: Duration) { self.init(microseconds: max(0, duration.wholeMicroseconds)) }

  package var duration: Duration { .microseconds(microseconds) }

  /// The span in milliseconds, rounded up. Only zero becomes zero.
  package var milliseconds: Int64 { microseconds / 1000 + (microseconds % 1000 == 0 ? 0 : 1) }

  package var text: String { typed ?? description }

  package static func == (one: TimeSpan, other: TimeSpan) -> Bool { one.microseconds == other.microseconds }

  package func hash(into hasher: inout Hasher) { hasher.combine(microseconds) }

  package static func < (one: TimeSpan, other: TimeSpan) -> Bool { one.microseconds < other.microseconds }

  package init(_ text: String) throws(SyntaxError) {
    var scanner = Scanner(text: text)
    microseconds = try scanner.span()
    typed = text
  }

  package struct SyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
  }

  fileprivate static let units: [(names: [String], microseconds: Int64)] = [
    (["usec", "us", "µs", "μs"], 1),
    (["msec", "ms"], 1_000),
    (["seconds", "second", "sec", "s", ""], 1_000_000),
    (["minutes", "minute", "min", "m"], 60_000_000),
    (["hours", "hour", "hr", "h"], 3_600_000_000),
    (["days", "day", "d"], 86_400_000_000),
    (["weeks", "week", "w"], 604_800_000_000),
    (["months", "month", "M"], 2_629_800_000_000),
    (["years", "year", "y"], 31_557_600_000_000),
  ]
}

extension TimeSpan: CustomStringConvertible {
  /// The span in at most two units, rounded down, such as `1h 30min`, `1.500s` or `350ms`.
  package var description: String {
    if microseconds == 0 { return "0" }
    if microseconds < 1_000 { return "\(microseconds)us" }
    if microseconds < 1_000_000 { return "\(microseconds / 1_000)ms" }
    if microseconds < 60_000_000 {
      let milliseconds = microseconds / 1_000 % 1_000
      let whole = microseconds / 1_000_000
      if milliseconds == 0 { return "\(whole)s" }
      let digits = String(milliseconds)
      return "\(whole).\(String(repeating: "0", count: 3 - digits.count))\(digits)s"
    }
    let places: [(String, Int64)] = [
      ("y", 31_557_600_000_000), ("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000),
      ("s", 1_000_000),
    ]
    var left = microseconds
    var parts: [String] = []
    for (unit, length) in places where parts.count < 2 {
      if left >= length {
        parts.append("\(left / length)\(unit)")
        left %= length
      } else if !parts.isEmpty {
        break
      }
    }
    return parts.joined(separator: " ")
  }
}

extension Duration {
  /// The duration in microseconds, rounded towards zero, and clamped to 64 bits.
  package var wholeMicroseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000)
    return overflow || carry ? (seconds < 0 ? .min : .max) : sum
  }
}

private struct Scanner {
  let text: String
  private var rest: Substring.UnicodeScalarView

  init(text: String) {
    self.text = text
    rest = text[...].unicodeScalars
  }

  mutating func span() throws(TimeSpan.SyntaxError) -> Int64 {
    var total: Int64 = 0
    skipSpaces()
    guard !rest.isEmpty else { throw error("is empty") }
    while !rest.isEmpty {
      let (whole, fraction) = try number()
      skipSpaces()
      let unit = try unit()
      skipSpaces()
      let (product, productOverflows) = whole.multipliedReportingOverflow(by: unit)
      let (sum, sumOverflows) = total.addingReportingOverflow(product)
      // Each place counts a tenth of the place before. The division drops fractions of a microsecond.
      var part: Int64 = 0
      var scale = unit
      for digit in fraction {
        scale /= 10
        part += Int64(digit) * scale
      }
      let (result, overflows) = sum.addingReportingOverflow(part)
      guard !productOverflows, !sumOverflows, !overflows else { throw error("is too long") }
      total = result
    }
    return total
  }

  private mutating func number() throws(TimeSpan.SyntaxError) -> (whole: Int64, fraction: [UInt8]) {
    if rest.first == "-" { throw error("is negative") }
    let digits = take { Self.digit($0) != nil }
    var fraction: [UInt8] = []
    if rest.first == "." {
      rest.removeFirst()
      fraction = take { Self.digit($0) != nil }.compactMap(Self.digit)
      guard !fraction.isEmpty else { throw error("has no digit after the decimal point") }
    }
    guard !digits.isEmpty || !fraction.isEmpty else {
      if text == "infinity" { throw error("is not allowed: the time span must be finite") }
      throw error("is not a time span, such as 30s, 5min or 1h 30min")
    }
    guard let whole = digits.isEmpty ? 0 : Int64(String(String.UnicodeScalarView(digits))) else {
      throw error("is too long")
    }
    return (whole, fraction)
  }

  private mutating func unit() throws(TimeSpan.SyntaxError) -> Int64 {
    let name = String(String.UnicodeScalarView(take { $0.properties.isAlphabetic }))
    for unit in TimeSpan.units where unit.names.contains(name) { return unit.microseconds }
    throw error("has the unknown unit \"\(name.escaped)\"")
  }

  private mutating func skipSpaces() {
    _ = take { $0 == " " || $0 == "\t" }
  }

  private mutating func take(while holds: (Unicode.Scalar) -> Bool) -> Substring.UnicodeScalarView {
    let taken = rest.prefix(while: holds)
    rest = rest[taken.endIndex...]
    return taken
  }

  private static func digit(_ scalar: Unicode.Scalar) -> UInt8? {
    ("0"..."9").contains(scalar) ? UInt8(scalar.value - 0x30) : nil
  }

  private func error(_ what: String) -> TimeSpan.SyntaxError {
    TimeSpan.SyntaxError(description: "\"\(text.escaped)\" \(what)")
  }
}
