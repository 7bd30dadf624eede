// SPDX-License-Identifier: Apache-2.0

/// Names, patterns and objects of the simulation: few, so many of them match.
enum Naming {
  /// Some clients may not use it.
  static let forbidden = "forbidden.state"
  static let names = [
    "lamp.state", "lamp.didStart", "lamp.willStop", "lamp.shouldStop", "load.level", "load.shouldRise",
    "load.didRise", "door.shouldOpen", "door.willOpen", "backup.run.state", "backup.shouldPrune", "x",
    forbidden,
  ]
  static let patterns = [
    "lamp.*", "lamp.**", "**", "*", "*.state", "load.*", "door.**", "lamp.state", "load.level",
    "backup.*.state",
    "*.shouldStop", "x", "backup.**", "nothing.*",
  ]
  static let queryPatterns = [
    "*.shouldStop", "load.*", "door.shouldOpen", "**", "backup.**", "lamp.*", "forbidden.*",
  ]
  static let queryNames = ["lamp.shouldStop", "load.shouldRise", "door.shouldOpen", "backup.shouldPrune"]
  /// No question for permission has such a name.
  static let valueNames = ["lamp.state", "load.level", "door.angle", "backup.run.state"]
  /// One is also a name.
  static let objects = ["", "", "", "disk", "disk/1", "x"]

  /// As docs/PROTOCOL.md defines it; an empty pattern matches any name.
  static func matches(_ pattern: String, _ name: String) -> Bool {
    if pattern.isEmpty { return true }
    let wanted = pattern.split(separator: ".")
    let tokens = name.split(separator: ".")
    for (index, token) in wanted.enumerated() {
      if token == "**" { return tokens.count > index }
      guard index < tokens.count, token == "*" || token == tokens[index] else { return false }
    }
    return wanted.count == tokens.count
  }

  /// Whether some name matches both.
  static func overlap(_ one: String, _ other: String) -> Bool {
    let (one, other) = (one.split(separator: "."), other.split(separator: "."))
    for (token, otherToken) in zip(one, other) {
      if token == "**" || otherToken == "**" { return true }
      guard token == otherToken || token == "*" || otherToken == "*" else { return false }
    }
    return one.count == other.count
  }

  static func listed(_ pattern: String) -> String { pattern.isEmpty ? "**" : pattern }

  static func announces(_ name: String) -> Bool {
    guard let last = name.split(separator: ".").last else { return false }
    for word in ["will", "did"] where last.hasPrefix(word) {
      guard let next = last.dropFirst(word.count).first else { return false }
      return !next.isLowercase
    }
    return false
  }
}
