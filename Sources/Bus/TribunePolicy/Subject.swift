// SPDX-License-Identifier: Apache-2.0

import TribuneWire

package struct Subject: Hashable, Sendable {
  package var user: UInt32
  package var groups: Groups
  package var unit: Unit

  /// The system unit of a process.
  package enum Unit: Hashable, Sendable {
    case none
    /// The kernel guarantees that the process is in this unit.
    case known(String)
    /// The process is probably in this unit, without the kernel's guarantee. Allow lines ignore this unit.
    case claimed(String)
    /// The process ended before the bus read its unit, or the bus cannot see the process. The process meets
    /// every unit condition of a deny line, and none of an allow line.
    case unknown

    package init(_ name: String?) { self = name.map { .known($0) } ?? .none }

    package var knownName: String? { if case .known(let name) = self { name } else { nil } }
  }

  package init(user: UInt32, groups: Groups = [], unit: Unit = .none) {
    self.user = user
    self.groups = groups
    self.unit = unit
  }

  package var description: String {
    let groups = groups.lookedUp == nil ? "" : ", in more than \(Groups.keptMax) groups,"
    let unit =
      switch unit {
      case .none: ""
      case .known(let name): " in \(name.escaped)"
      case .claimed(let name): " in \(name.escaped), which is not certain,"
      case .unknown: ", whose unit is unknown,"
      }
    return "user \(user)\(groups)\(unit)"
  }
}

package enum Condition: Hashable, Sendable {
  case anyUser
  case user(UInt32)
  case group(UInt32)
  /// A glob for the names of system units. `*` matches any text, and `?` matches one character.
  case unit(String)
  /// The host has no such user or group, so a subject cannot meet this condition.
  case unknown

  /// The condition with an id instead of a name. nil if subjects cannot meet the condition.
  var text: String? {
    switch self {
    case .anyUser: "user:*"
    case .user(let id): "user:\(id)"
    case .group(let id): "group:\(id)"
    case .unit(let glob): "unit:\(glob)"
    case .unknown: nil
    }
  }

  var isAboutProcesses: Bool {
    switch self {
    case .group, .unit: true
    case .anyUser, .user, .unknown: false
    }
  }

  func isMet(by subject: Subject, for effect: PolicyLine.Effect) -> Bool {
    switch self {
    case .anyUser: true
    case .user(let user): subject.user == user
    case .group(let group):
      // An unknown membership satisfies deny lines, but not allow lines.
      subject.groups.contains(group) ?? (effect == .deny)
    case .unit(let glob):
      switch subject.unit {
      case .none: false
      case .known(let name): Self.matches(glob: glob.utf8[...], name.utf8[...])
      case .claimed(let name): effect == .deny && Self.matches(glob: glob.utf8[...], name.utf8[...])
      case .unknown: effect == .deny
      }
    case .unknown: false
    }
  }

  private static let unitSuffixes = [".service", ".scope", ".socket", ".mount", ".swap"]

  /// Explains why a process cannot meet this condition, alone or with `others`. nil if the check finds no
  /// reason.
  func doubt(after others: [Condition]) -> String? {
    switch self {
    case .anyUser, .group, .unknown: return nil
    case .user:
      let hasOther = others.contains { if case .user = $0 { $0 != self } else { false } }
      return hasOther ? "a process has one user, so the line matches nobody; \(Self.advice)" : nil
    case .unit(let glob):
      guard !glob.contains("%"), !glob.contains("@.") else {
        return "no process is in a unit called \"\(glob)\", so the line matches nobody"
      }
      guard Self.canMatchUnit(glob) else {
        return "no unit matches \"\(glob)\": write unit:\(glob).service, or how else its name ends"
      }
      let hasOther = others.contains {
        if case .unit(let other) = $0 { Self.exclude(glob, other) } else { false }
      }
      return hasOther ? "a process is in one unit, so the line matches nobody; \(Self.advice)" : nil
    }
  }

  private static let advice = "for a choice between several, write several lines"

  static func hasWildcard(_ glob: String) -> Bool { glob.utf8.contains(where: isStar) }

  private static func isStar(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "*") || byte == UInt8(ascii: "?") }

  package static func isUnit(_ name: String) -> Bool {
    let isAllowed = { (byte: UInt8) in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: ":-_.\\@".utf8.contains(byte)
      }
    }
    return name.utf8.allSatisfy(isAllowed) && unitSuffixes.contains { name != $0 && name.hasSuffix($0) }
  }

  private static func canMatchUnit(_ glob: String) -> Bool {
    let start = glob.utf8.lastIndex(where: isStar).map { glob.utf8.index(after: $0) }
    let end = String(glob[(start ?? glob.startIndex)...])
    return unitSuffixes.contains { end.hasSuffix($0) || start != nil && $0.hasSuffix(end) }
  }

  /// True if one unit cannot match both globs. The result is always false if both globs have wildcards.
  private static func exclude(_ one: String, _ other: String) -> Bool {
    if !one.utf8.contains(where: isStar) { return !matches(glob: other.utf8[...], one.utf8[...]) }
    return !other.utf8.contains(where: isStar) && !matches(glob: one.utf8[...], other.utf8[...])
  }

  /// Matches without recursion: after a mismatch, the last `*` reached so far takes one more byte. The stars
  /// before it keep their matches.
  package static func matches(glob: Substring.UTF8View, _ text: Substring.UTF8View) -> Bool {
    var (glob, text) = (glob, text)
    var retry: (glob: Substring.UTF8View, text: Substring.UTF8View)?
    while true {
      if glob.first == UInt8(ascii: "*") {
        glob.removeFirst()
        retry = (glob, text)
      } else if let byte = text.first, glob.first == byte || glob.first == UInt8(ascii: "?") {
        glob.removeFirst()
        text.removeFirst()
      } else if text.isEmpty, glob.isEmpty {
        return true
      } else if let last = retry, !last.text.isEmpty {
        (glob, text) = (last.glob, last.text.dropFirst())
        retry = (glob, text)
      } else {
        return false
      }
    }
  }
}
