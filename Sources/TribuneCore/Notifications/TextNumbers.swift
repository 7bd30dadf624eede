// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A number for a text: equal for equal texts, and quick to compare.
struct TextNumber: Hashable {
  fileprivate let rawValue: UInt64

  /// The token `*`, which is in no table.
  static let star = TextNumber(rawValue: 0)
  /// A text that is in no table.
  fileprivate static let unknown = TextNumber(rawValue: 1)
}

/// Numbers for the texts in use. No number is given to two texts.
struct TextNumbers {
  private struct Entry {
    let number: TextNumber
    let text: String
    var useCount = 1
  }

  /// By the hash of the text, so that a lookup needs no `String`; if two texts have the same hash, by the next one.
  private var entries: [UInt64: Entry] = [:]
  private var last = TextNumber.unknown.rawValue

  var count: Int { entries.count }

  /// The text's number, which is valid until `release` has been called as often as this.
  mutating func retain(_ text: RawSpan) -> TextNumber {
    let (key, index) = place(of: text)
    if let index {
      entries.values[index].useCount += 1
      return entries.values[index].number
    }
    last += 1
    let number = TextNumber(rawValue: last)
    entries[key] = Entry(number: number, text: String(repairing: text))
    return number
  }

  /// Releases one use of a text, and returns its number.
  mutating func release(_ text: RawSpan) -> TextNumber {
    let (key, index) = place(of: text)
    guard let index else { preconditionFailure("a text that is released was not there") }
    entries.values[index].useCount -= 1
    let entry = entries.values[index]
    if entry.useCount == 0 {
      entries.remove(at: index)
      closeGap(behind: key)
      entries.trim()
    }
    return entry.number
  }

  /// nil if the text is not in use.
  func number(of text: RawSpan) -> TextNumber? { place(of: text).index.map { entries.values[$0].number } }

  /// Puts entries back that gave way to one that is removed, so that each can still be found.
  private mutating func closeGap(behind removed: UInt64) {
    var key = removed &+ 1
    while let entry = entries.removeValue(forKey: key) {
      entries[place(of: entry.text.utf8Bytes).key] = entry
      key &+= 1
    }
  }

  /// Where the text is, or under which key it would be.
  private func place(of text: RawSpan) -> (key: UInt64, index: [UInt64: Entry].Index?) {
    var key = Self.hash(text)
    while let index = entries.index(forKey: key) {
      if entries.values[index].text.utf8Bytes.isEqual(to: text) { return (key, index) }
      key &+= 1
    }
    return (key, nil)
  }

  /// The standard library's hash, which has a secret seed: peers cannot choose texts that collide.
  private static func hash(_ text: RawSpan) -> UInt64 {
    var hasher = Hasher()
    unsafe text.withUnsafeBytes { bytes in unsafe hasher.combine(bytes: bytes) }
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }

  /// Appends the numbers of a name's tokens.
  func append(numbersOfTokensIn name: RawSpan, to numbers: inout [TextNumber]) {
    var start = 0
    for offset in 0...name.byteCount
    where offset == name.byteCount || name.integer(at: offset, as: UInt8.self) == UInt8(ascii: ".") {
      numbers.append(number(of: name.extracting(start..<offset)) ?? .unknown)
      start = offset + 1
    }
  }
}
