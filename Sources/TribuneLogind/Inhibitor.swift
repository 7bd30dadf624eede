// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A lock that logind lists.
nonisolated package struct Inhibitor: Hashable, Sendable {
  /// As logind names it: `shutdown:sleep`.
  package var what: String
  package var who: String
  package var why: String
  /// `block`, `block-weak` or `delay`.
  package var mode: String
  package var uid: UInt32
  package var pid: UInt32

  package init(what: String, who: String, why: String, mode: String, uid: UInt32, pid: UInt32) {
    (self.what, self.who, self.why, self.mode, self.uid, self.pid) = (what, who, why, mode, uid, pid)
  }

  /// Whether it refuses rather than delays.
  package var isBlocking: Bool { mode == "block" || mode == "block-weak" }

  /// The questions that it is a veto of.
  package var questions: [HostQuestion] {
    guard isBlocking else { return [] }
    let locks = what.split(separator: ":").compactMap { HostQuestion.Lock(rawValue: String($0)) }
    return HostQuestion.allCases.filter { locks.contains($0.lock) }
  }
}

/// A reason on the bus against an action.
nonisolated package struct Objection: Hashable, Sendable {
  package var who: String
  package var why: String

  package init(who: String, why: String) { (self.who, self.why) = (who, why) }
}

/// The text of a lock that stands for objections.
nonisolated package struct LockText: Equatable, Sendable {
  /// More are counted only: `systemctl` prints the text on one line.
  private static let listedMax = 5
  /// Bytes of each part.
  private static let lengthMax = 1_000

  package let who: String
  package let why: String

  /// - Parameter objections: not empty.
  package init(_ objections: [Objection]) {
    let listed = objections.prefix(Self.listedMax)
    let others = objections.count - listed.count
    let suffix = others > 0 ? ", and \(others) more" : ""
    var names: [String] = []
    for one in listed where !names.contains(one.who) { names.append(one.who) }
    who = (names.joined(separator: ", ") + suffix).limited(to: Self.lengthMax)
    let reasons = objections.count == 1 ? [listed[0].why] : listed.map { "\($0.who): \($0.why)" }
    why = (reasons.joined(separator: "; ") + suffix).limited(to: Self.lengthMax)
  }
}

nonisolated extension String {
  /// The text, cut at a character's boundary behind this many bytes of UTF-8.
  func limited(to length: Int) -> String {
    utf8.count <= length ? self : prefix(utf8Length: length - 3) + "…"
  }
}
