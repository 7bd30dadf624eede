// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// Words that shell completion gets from the bus, by `list --complete`.
enum LiveWords: String, CaseIterable, Sendable {
  case names, questions, actions, objects, connections

  private static let countMax = 10_000

  var wellKnown: [String] {
    switch self {
    case .names, .objects, .connections: []
    case .questions: WellKnownQuestions.names
    case .actions: WellKnownQuestions.names.compactMap(ActionNames.action)
    }
  }

  func read(from bus: Connection) async throws(TribuneError) -> [String] {
    let words =
      switch self {
      case .connections: try await bus.connections().map(\.id)
      case .names:
        try await bus.observations().map(\.pattern) + Self.asked(on: bus) + bus.retained().map(\.name)
      case .questions:
        try await wellKnown + Self.asked(on: bus).filter { !ActionNames.isValue($0) }
      case .actions:
        try await wellKnown + Self.asked(on: bus).compactMap(ActionNames.action)
      case .objects:
        try await bus.observations().map(\.object) + bus.delegates().map(\.object)
          + bus.holds().map(\.object) + bus.retained().map(\.object) + Self.declaredObjects(of: bus)
      }
    return Array(Set(words.filter(Self.isPlain)).sorted().prefix(Self.countMax))
  }

  private static func asked(on bus: Connection) async throws(TribuneError) -> [String] {
    try await bus.delegates().flatMap(\.patterns) + bus.holds().map(\.pattern)
  }

  private static func declaredObjects(of bus: Connection) async throws(TribuneError) -> [String] {
    do throws(TribuneError) {
      // The bus logs each refused request for a list, so this function first checks the permission.
      try await bus.requirePermission(to: "list", "**", object: "")
      return try await bus.objects().map(\.object)
    } catch {
      guard error.code == .notPermitted else { throw error }
      return []
    }
  }

  /// True if every shell takes the word literally. Other users choose names and objects, so completion must
  /// not offer words with shell syntax, or words that look like options.
  static func isPlain(_ word: String) -> Bool {
    !word.isEmpty && !word.hasPrefix("-")
      && word.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "._-/:@+,".utf8.contains(byte)
        }
      }
  }
}
