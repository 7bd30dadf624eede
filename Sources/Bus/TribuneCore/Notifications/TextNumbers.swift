// SPDX-License-Identifier: Apache-2.0

import TribuneWire

struct TextNumber: Hashable {
  fileprivate let rawValue: UInt64

  /// The number of the token `*`, which is not in any table.
  static let star = TextNumber(rawValue: 0)
  /// Stands for any text that the table does not contain.
  fileprivate static let unknown = TextNumber(rawValue: 1)
}

/// Unique numbers for the texts in use, in a hash table with linear probing. A table that is more than half
/// full, or far too large, is rebuilt, which drops unused texts.
struct TextNumbers {
  private struct Entry {
    let number: TextNumber
    let text: [UInt8]
    let hash: Int
    /// If this count is 0, the next rebuild drops the text.
    var useCount = 1
  }

  private static var entriesMin: Int { 16 }

  /// The size is a power of two. At most half of the entries are taken.
  private var entries: [Entry?] = Array(repeating: nil, count: entriesMin)
  private var takenCount = 0
  /// The number of texts in use.
  private(set) var count = 0
  private var last = TextNumber.unknown.rawValue

  private var mask: Int { entries.count - 1 }

  var capacity: Int { entries.count }

  /// Returns the text's number. It stays valid until `release` was called as often as `retain` for this text.
  mutating func retain(_ text: RawSpan) -> TextNumber {
    let hash = Self.hash(text)
    let index = index(of: text, hash)
    if let number = entries[index]?.number {
      entries[index]?.useCount += 1
      if entries[index]?.useCount == 1 { count += 1 }
      return number
    }
    last += 1
    count += 1
    takenCount += 1
    let number = TextNumber(rawValue: last)
    entries[index] = Entry(number: number, text: Array(text), hash: hash)
    if takenCount > entries.count / 2 { rebuild() }
    return number
  }

  mutating func release(_ text: RawSpan) -> TextNumber {
    let index = index(of: text, Self.hash(text))
    guard let number = entries[index]?.number, let useCount = entries[index]?.useCount, useCount > 0 else {
      preconditionFailure("the released text is not in use")
    }
    entries[index]?.useCount = useCount - 1
    if useCount == 1 {
      count -= 1
      if entries.count > Self.entriesMin, count < entries.count / 16 { rebuild() }
    }
    return number
  }

  /// The text's number, or nil if the table lacks the text. A text in the table can be out of use.
  func number(of text: RawSpan) -> TextNumber? { entries[index(of: text, Self.hash(text))]?.number }

  private func index(of text: RawSpan, _ hash: Int) -> Int {
    var index = hash & mask
    while let taken = entries[index]?.hash {
      if taken == hash, let entry = entries[index], entry.text.rawBytes.isEqual(to: text) { break }
      index = (index + 1) & mask
    }
    return index
  }

  /// Drops unused texts. At most a third of the new table is taken.
  private mutating func rebuild() {
    let old = entries
    var newCount = Self.entriesMin
    while newCount < count * 3 { newCount *= 2 }
    entries = Array(repeating: nil, count: newCount)
    takenCount = count
    for case let entry? in old where entry.useCount > 0 {
      entries[index(of: entry.text.rawBytes, entry.hash)] = entry
    }
  }

  /// `Hasher` has a secret seed, so peers cannot choose texts that collide.
  private static func hash(_ text: RawSpan) -> Int {
    var hasher = Hasher()
    unsafe text.withUnsafeBytes { bytes in unsafe hasher.combine(bytes: bytes) }
    return hasher.finalize()
  }

  func append(numbersOfTokensIn name: RawSpan, to numbers: inout [TextNumber]) {
    var start = 0
    for offset in 0...name.byteCount
    where offset == name.byteCount || name.integer(at: offset, as: UInt8.self) == UInt8(ascii: ".") {
      numbers.append(number(of: name.extracting(start..<offset)) ?? .unknown)
      start = offset + 1
    }
  }
}
