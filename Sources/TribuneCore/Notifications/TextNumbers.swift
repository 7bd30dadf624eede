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
///
/// A hash table with linear probing, so that a lookup hashes the bytes of a text once and needs no `String`.
struct TextNumbers {
  private struct Entry {
    let number: TextNumber
    let text: [UInt8]
    let hash: Int
    var useCount = 1
  }

  private static var entriesMin: Int { 16 }

  /// A power of two. At most half of them are in use.
  private var entries: [Entry?] = Array(repeating: nil, count: entriesMin)
  private(set) var count = 0
  private var last = TextNumber.unknown.rawValue

  private var mask: Int { entries.count - 1 }

  /// The text's number, which is valid until `release` has been called as often as this.
  mutating func retain(_ text: RawSpan) -> TextNumber {
    let hash = Self.hash(text)
    let index = index(of: text, hash)
    if let number = entries[index]?.number {
      entries[index]?.useCount += 1
      return number
    }
    last += 1
    count += 1
    let entry = Entry(number: TextNumber(rawValue: last), text: Array(text), hash: hash)
    entries[index] = entry
    if count > entries.count / 2 { resize(to: entries.count * 2) }
    return entry.number
  }

  /// Releases one use of a text, and returns its number.
  mutating func release(_ text: RawSpan) -> TextNumber {
    let index = index(of: text, Self.hash(text))
    guard var entry = entries[index] else { preconditionFailure("the released text is not in use") }
    entry.useCount -= 1
    entries[index] = entry
    if entry.useCount == 0 { remove(at: index) }
    return entry.number
  }

  /// nil if the text is not in use.
  func number(of text: RawSpan) -> TextNumber? { entries[index(of: text, Self.hash(text))]?.number }

  /// The index of the text's entry, or of the empty one in which it belongs.
  private func index(of text: RawSpan, _ hash: Int) -> Int {
    var index = hash & mask
    while let entry = entries[index], entry.hash != hash || !entry.text.rawBytes.isEqual(to: text) {
      index = (index + 1) & mask
    }
    return index
  }

  /// Removes an entry, and moves those behind it that gave way to it, so that each can still be found.
  private mutating func remove(at removed: Int) {
    var gap = removed
    var index = (gap + 1) & mask
    while let entry = entries[index] {
      if (index &- entry.hash) & mask >= (index - gap) & mask {
        entries[gap] = entry
        gap = index
      }
      index = (index + 1) & mask
    }
    entries[gap] = nil
    count -= 1
    if entries.count > Self.entriesMin, count < entries.count / 16 { resize(to: entries.count / 4) }
  }

  private mutating func resize(to newCount: Int) {
    let old = entries
    entries = Array(repeating: nil, count: max(newCount, Self.entriesMin))
    for case let entry? in old { entries[index(of: entry.text.rawBytes, entry.hash)] = entry }
  }

  /// The standard library's hash, which has a secret seed: peers cannot choose texts that collide.
  private static func hash(_ text: RawSpan) -> Int {
    var hasher = Hasher()
    unsafe text.withUnsafeBytes { bytes in unsafe hasher.combine(bytes: bytes) }
    return hasher.finalize()
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
