// SPDX-License-Identifier: Apache-2.0

extension Pattern {
  fileprivate enum Breadth {
    case text
    /// `*`
    case one
    /// `**`
    case oneOrMore
  }

  /// True if this pattern matches every name that `other` matches.
  package func contains(_ other: Pattern) -> Bool {
    relates(to: other) { outer, inner in
      switch outer {
      case .oneOrMore: true
      case .one: inner == .oneOrMore ? false : nil
      case .text: false
      }
    }
  }

  package func overlaps(_ other: Pattern) -> Bool {
    relates(to: other) { one, two in one == .oneOrMore || two == .oneOrMore ? true : nil }
  }

  /// Compares the patterns token by token. `compare` gets each pair of tokens of which one or both are stars.
  /// It returns the result for the whole patterns, or nil to go on with the next pair.
  private func relates(to other: Pattern, _ compare: (Breadth, Breadth) -> Bool?) -> Bool {
    let (one, two) = (text.utf8Bytes, other.text.utf8Bytes)
    var (start, otherStart) = (0, 0)
    while true {
      let (end, otherEnd) = (one.tokenEnd(from: start), two.tokenEnd(from: otherStart))
      let (token, otherToken) = (one.breadth(start, end), two.breadth(otherStart, otherEnd))
      if token == .text, otherToken == .text {
        guard one.extracting(start..<end).isEqual(to: two.extracting(otherStart..<otherEnd)) else {
          return false
        }
      } else if let decided = compare(token, otherToken) {
        return decided
      }
      let (isLast, isOtherLast) = (end == one.byteCount, otherEnd == two.byteCount)
      if isLast || isOtherLast { return isLast && isOtherLast }
      (start, otherStart) = (end + 1, otherEnd + 1)
    }
  }
}

extension RawSpan {
  fileprivate func breadth(_ start: Int, _ end: Int) -> Pattern.Breadth {
    switch end - start {
    case 1 where isStar(at: start): .one
    case 2 where isStar(at: start): .oneOrMore
    default: .text
    }
  }
}
