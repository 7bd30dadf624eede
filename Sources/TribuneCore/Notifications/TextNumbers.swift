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

/// Numbers for the texts in use. No number is given twice.
struct TextNumbers {
  private struct Entry {
    let number: TextNumber
    var useCount: Int
  }

  private var entries: [ExactText: Entry] = [:]
  private var last = TextNumber.unknown.rawValue

  var count: Int { entries.count }

  /// The text's number, which is valid until `release` has been called as often as this.
  mutating func retain(_ text: ExactText) -> TextNumber {
    if let index = entries.index(forKey: text) {
      entries.values[index].useCount += 1
      return entries.values[index].number
    }
    last += 1
    let number = TextNumber(rawValue: last)
    entries[text] = Entry(number: number, useCount: 1)
    return number
  }

  /// Releases one use of a text, and returns its number.
  mutating func release(_ text: ExactText) -> TextNumber {
    guard let index = entries.index(forKey: text) else {
      preconditionFailure("a text that is released was not there")
    }
    entries.values[index].useCount -= 1
    let entry = entries.values[index]
    if entry.useCount == 0 {
      entries.remove(at: index)
      entries.trim()
    }
    return entry.number
  }

  /// nil if the text is not in use.
  func number(of text: ExactText) -> TextNumber? { entries[text]?.number }

  /// Appends the numbers of a name's tokens.
  func append(numbersOfTokensIn name: RawSpan, to numbers: inout [TextNumber]) {
    var start = 0
    for offset in 0...name.byteCount
    where offset == name.byteCount || name.integer(at: offset, as: UInt8.self) == UInt8(ascii: ".") {
      numbers.append(number(of: ExactText(String(repairing: name.extracting(start..<offset)))) ?? .unknown)
      start = offset + 1
    }
  }
}
