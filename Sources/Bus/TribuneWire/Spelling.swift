// SPDX-License-Identifier: Apache-2.0

package enum Spelling {
  /// Returns ` (did you mean WORD?)`, where WORD is the most similar known word, formatted by `form`. Returns
  /// an empty text if all known words are too different.
  package static func hint(for word: String, among known: [String], as form: (String) -> String) -> String {
    let nearest = known.map { (word: $0, distance: distance(from: word, to: $0)) }
      .filter { $0.distance <= max(1, $0.word.utf8.count / 3) }
      .min { $0.distance < $1.distance }
    return nearest.map { " (did you mean \(form($0.word))?)" } ?? ""
  }

  /// The smallest number of edits that turn one word into the other. An edit inserts, removes or replaces a
  /// byte, or swaps two neighbouring bytes. Ignores case.
  package static func distance(from one: String, to other: String) -> Int {
    let (one, other) = (Array(one.lowercased().utf8), Array(other.lowercased().utf8))
    var beforeLast: [Int] = []
    var last = Array(0...other.count)
    for i in one.indices {
      var row = [i + 1]
      for j in other.indices {
        var least = min(last[j + 1], row[j]) + 1
        least = min(least, last[j] + (one[i] == other[j] ? 0 : 1))
        if i > 0, j > 0, one[i] == other[j - 1], one[i - 1] == other[j] {
          least = min(least, beforeLast[j - 1] + 1)
        }
        row.append(least)
      }
      (beforeLast, last) = (last, row)
    }
    return last[other.count]
  }
}

extension Pattern {
  /// The name that `name` probably means, if `name` misspells a name that this pattern matches. A misspelt
  /// name can have other capitals, lack a *should*, or have one slip (see `slips`). In place of stars, the
  /// result has tokens of `name`. nil if the pattern matches `name`, or if `name` is too different.
  package func name(meantBy name: RawSpan) -> String? {
    guard isLike(name) else { return nil }
    let given = String(repairing: name).split(separator: ".")
    let own = text.split(separator: ".")
    let tokens = zip(own, given).map { $0.first == "*" ? $1 : $0 }
    let meant = (tokens + given.dropFirst(own.count)).joined(separator: ".")
    return meant.utf8.count > WireLimits.nameLength || meant.utf8Bytes.isEqual(to: name) ? nil : meant
  }

  private func isLike(_ name: RawSpan) -> Bool {
    let pattern = text.utf8Bytes
    var (position, offset, slips) = (0, 0, 0)
    while true {
      let (end, nameEnd) = (pattern.tokenEnd(from: position), name.tokenEnd(from: offset))
      if pattern.isStar(at: position) {
        if pattern.isStar(at: position + 1) { return slips <= 1 }
      } else {
        guard let found = pattern.extracting(position..<end).slips(to: name.extracting(offset..<nameEnd))
        else { return false }
        slips += found
      }
      let (isLast, isLastOfName) = (end == pattern.byteCount, nameEnd == name.byteCount)
      if isLast || isLastOfName { return isLast && isLastOfName && slips <= 1 }
      (position, offset) = (end + 1, nameEnd + 1)
    }
  }
}

extension RawSpan {
  /// The number of slips by which `other` misspells this token. A slip is a wrong, missing or extra letter,
  /// or two swapped letters. Capitals and a missing *should* do not count. Returns nil for more than one
  /// slip. Returns nil if a digit differs, because `disk1` and `disk2` are different things. Returns nil for
  /// a slip if both tokens (without a question's *should*) have under four bytes.
  fileprivate func slips(to other: RawSpan) -> Int? {
    if byteCount > other.byteCount + 1 {
      guard NameSyntax.hasVerb(behind: "should", in: self) else { return nil }
      return extracting(droppingFirst: "should".utf8.count).slips(to: other)
    }
    let (length, longer) = (Swift.min(byteCount, other.byteCount), Swift.max(byteCount, other.byteCount))
    guard longer <= length + 1 else { return nil }
    var start = 0
    while start < length, lowercased(at: start) == other.lowercased(at: start) { start += 1 }
    var end = 0
    while end < length - start,
      lowercased(at: byteCount - 1 - end) == other.lowercased(at: other.byteCount - 1 - end)
    {
      end += 1
    }
    let (one, two) = (extracting(start..<byteCount - end), other.extracting(start..<other.byteCount - end))
    if one.byteCount + two.byteCount == 0 { return 0 }
    let isSwap =
      one.byteCount == 2 && two.byteCount == 2 && one.lowercased(at: 0) == two.lowercased(at: 1)
      && one.lowercased(at: 1) == two.lowercased(at: 0)
    let isQuestion = NameSyntax.hasVerb(behind: "should", in: self)
    guard longer > (isQuestion ? 9 : 3), Swift.max(one.byteCount, two.byteCount) == 1 || isSwap,
      !one.hasDigit, !two.hasDigit
    else { return nil }
    return 1
  }

  private func lowercased(at offset: Int) -> UInt8 {
    let byte = integer(at: offset, as: UInt8.self)
    return (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  private var hasDigit: Bool {
    for offset in 0..<byteCount
    where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(integer(at: offset, as: UInt8.self)) {
      return true
    }
    return false
  }
}
