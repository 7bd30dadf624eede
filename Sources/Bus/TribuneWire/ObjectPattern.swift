// SPDX-License-Identifier: Apache-2.0

/// A pattern for objects. `*` matches one part between slashes. `**` must be the last part, and matches the
/// rest of the object. Neither `*` nor `**` matches an empty text.
package struct ObjectPattern: Hashable, Sendable, CustomStringConvertible {
  private enum Part: Hashable {
    case literal(ExactText)
    case one
    case rest

    var rank: Int {
      switch self {
      case .literal: 0
      case .one: 1
      case .rest: 2
      }
    }
  }

  package let text: String
  private let parts: [Part]

  package init?(_ text: String) {
    guard !text.isEmpty, NameSyntax.isObject(text.utf8Bytes) else { return nil }
    let texts = Self.parts(of: text)
    var parts: [Part] = []
    for (index, part) in texts.enumerated() {
      switch part {
      case "*": parts.append(.one)
      case "**":
        guard index == texts.count - 1 else { return nil }
        parts.append(.rest)
      default:
        guard !part.utf8.contains(UInt8(ascii: "*")) else { return nil }
        parts.append(.literal(ExactText(String(part))))
      }
    }
    self.text = text
    self.parts = parts
  }

  package var description: String { text }

  /// The object must be valid.
  package func matches(_ object: String) -> Bool {
    let texts = Self.parts(of: object)
    guard texts.count == parts.count || texts.count > parts.count && parts.last == .rest else { return false }
    for (part, text) in zip(parts, texts) {
      switch part {
      case .literal(let literal): guard literal == ExactText(String(text)) else { return false }
      case .one: guard !text.isEmpty else { return false }
      case .rest: return texts.count > parts.count || !text.isEmpty
      }
    }
    return true
  }

  /// True if this pattern comes before `other` in the order of specificity. The first pair of parts with
  /// different kinds decides: text comes before `*`, and `*` before `**`. Without such a pair, the pattern
  /// with more parts comes first. If both have equally many parts, the bytes of the texts decide.
  package func precedes(_ other: ObjectPattern) -> Bool {
    for (one, two) in zip(parts, other.parts) where one.rank != two.rank { return one.rank < two.rank }
    if parts.count != other.parts.count { return parts.count > other.parts.count }
    return text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }

  private static func parts(of text: String) -> [Substring] {
    text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Substring($0) }
  }
}
