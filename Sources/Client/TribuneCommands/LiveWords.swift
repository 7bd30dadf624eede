// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// What the bus has of one kind, for the completion of a command line: `list --complete`.
enum LiveWords: String, CaseIterable, Sendable {
  case names, objects, connections

  private static let countMax = 10_000

  /// The words, sorted. All of them are plain.
  func read(from bus: Connection) async throws(TribuneError) -> [String] {
    let words =
      switch self {
      case .connections: try await bus.connections().map(\.id)
      case .names:
        try await bus.observations().map(\.pattern) + bus.delegates().flatMap(\.patterns)
          + bus.holds().map(\.pattern) + bus.retained().map(\.name)
      case .objects:
        try await bus.observations().map(\.object) + bus.delegates().map(\.object)
          + bus.holds().map(\.object) + bus.retained().map(\.object) + Self.declaredObjects(of: bus)
      }
    return Array(Set(words.filter(Self.isPlain)).sorted().prefix(Self.countMax))
  }

  /// None if this user may not list them.
  private static func declaredObjects(of bus: Connection) async throws(TribuneError) -> [String] {
    do throws(TribuneError) {
      // The bus logs a list that it refuses.
      try await bus.requirePermission(to: "list", "**", object: "")
      return try await bus.objects().map(\.object)
    } catch {
      guard error.code == .notPermitted else { throw error }
      return []
    }
  }

  /// Whether a word means itself to every shell, and is no option. Other users choose names and objects; a word that a shell
  /// could take for anything else is not offered.
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
