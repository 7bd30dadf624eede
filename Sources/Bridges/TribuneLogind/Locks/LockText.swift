// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The text of a logind lock, made from objections.
nonisolated package struct LockText: Equatable, Sendable {
  /// How many objections the text lists: few, because `systemctl` prints the text on one line.
  private static let listedMax = 5
  /// In bytes.
  private static let lengthMax = 1_000

  package let who: String
  package let why: String

  /// - Parameter objections: must not be empty.
  package init(_ objections: [Objection]) {
    let listed = objections.prefix(Self.listedMax)
    let others = objections.count - listed.count
    let suffix = others > 0 ? ", and \(others) more" : ""
    var names: [String] = []
    for one in listed where !names.contains(one.who.escaped) { names.append(one.who.escaped) }
    who = (names.joined(separator: ", ") + suffix).limited(to: Self.lengthMax)
    let reasons = objections.count == 1 ? [listed[0].why.escaped] : listed.map(\.line)
    why = (reasons.joined(separator: "; ") + suffix).limited(to: Self.lengthMax)
  }
}

nonisolated extension String {
  /// Cuts the text to at most `length` bytes of UTF-8, at a character boundary.
  func limited(to length: Int) -> String {
    utf8.count <= length ? self : prefix(utf8Length: length - 3) + "…"
  }
}
