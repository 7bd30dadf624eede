// SPDX-License-Identifier: Apache-2.0

import TribuneWire

enum TopValue: Equatable, Sendable {
  /// The bus does not know the value.
  case missing
  case text(String)
  case id(UInt64)
  /// A connection's id, such as `:3`.
  case connection(String)
  case count(Int)
  case bytes(Int)
  /// A number per second.
  case rate(Double)
  case duration(Duration)

  /// The value as text, which may contain control characters.
  var shown: String {
    switch self {
    case .missing, .text(""): "-"
    case .text(let text), .connection(let text): text
    case .id(let number): String(number)
    case .count(let count): count.abbreviated
    case .bytes(let count): count.abbreviatedBytes
    case .rate(let rate): rate.abbreviatedRate
    case .duration(let duration): duration.abbreviated
    }
  }
}

extension TopValue {
  init(_ duration: Duration?) { self = duration.map { .duration($0) } ?? .missing }

  init(rate: Double?) { self = rate.map { .rate($0) } ?? .missing }

  /// - Parameter uid: nil for users that the bus counts together.
  init(uid: UInt32?) { self = uid.map { .id(UInt64($0)) } ?? .missing }
}

extension TopValue: Comparable {
  static func < (one: TopValue, other: TopValue) -> Bool {
    switch (one, other) {
    case (.missing, .missing): false
    case (.missing, _): true
    case (_, .missing): false
    case (.text(let one), .text(let other)): one < other
    case (.duration(let one), .duration(let other)): one < other
    default: one.number < other.number
    }
  }

  private var number: Double {
    switch self {
    case .missing, .text, .duration: 0
    case .id(let number): Double(number)
    case .connection(let text): ConnectionID(text).map { Double($0.rawValue) } ?? 0
    case .count(let count), .bytes(let count): Double(count)
    case .rate(let rate): rate
    }
  }
}

extension Int {
  /// The number in at most five characters.
  var abbreviated: String {
    switch self {
    case ..<100_000: String(self)
    case ..<10_000_000: "\(self / 1_000)k"
    case ..<10_000_000_000: "\(self / 1_000_000)M"
    default: "\(self / 1_000_000_000)G"
    }
  }

  /// The number of bytes in at most five characters. `K` is 1,024 bytes.
  var abbreviatedBytes: String {
    switch self {
    case ..<10_000: String(self)
    case ..<(10_000 << 10): "\(self >> 10)K"
    case ..<(10_000 << 20): "\(self >> 20)M"
    default: "\(self >> 30)G"
    }
  }
}

extension Double {
  var abbreviatedRate: String {
    guard self < 100 else { return Int(exactly: rounded())?.abbreviated ?? "-" }
    let tenths = Int((self * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}

extension Duration {
  var abbreviated: String {
    let microseconds = max(0, wholeMicroseconds)
    let seconds = microseconds / 1_000_000
    return switch microseconds {
    case ..<1_000: "\(microseconds)us"
    case ..<1_000_000: "\(microseconds / 1_000)ms"
    case ..<10_000_000: "\(seconds).\(microseconds / 100_000 % 10)s"
    case ..<100_000_000: "\(seconds)s"
    case ..<6_000_000_000: "\(seconds / 60)min"
    case ..<360_000_000_000: "\(seconds / 3_600)h"
    default: "\(seconds / 86_400)d"
    }
  }
}

struct TopRow: Equatable, Sendable {
  var values: [TopValue]
  /// True if a query has waited long for the row's participant, or if the row's connection loses messages.
  var isMarked = false
  var isPast = false
  var depth = 0

  static func isLong(_ wait: Duration?) -> Bool { wait ?? .zero >= .seconds(1) }

  var branch: String { depth > 0 ? String(repeating: "  ", count: depth - 1) + "└─ " : "" }

  func contains(_ text: String) -> Bool {
    let text = text.lowercased()
    return values.contains { $0.shown.lowercased().contains(text) }
  }
}

/// A row and the rows below it in a tree. Sorting keeps them together.
typealias TopGroup = [TopRow]
