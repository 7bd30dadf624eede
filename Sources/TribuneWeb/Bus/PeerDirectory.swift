// SPDX-License-Identifier: Apache-2.0

/// Who was connected lately. A verdict names a connection, which may have gone when it is shown.
nonisolated package struct PeerDirectory: Sendable {
  package static let recentMax = 4_096

  private var recent: [String: Who] = [:]
  private var older: [String: Who] = [:]

  package init() {}

  package subscript(connection: String) -> Who? { recent[connection] ?? older[connection] }

  /// The oldest are forgotten, `recentMax` at a time.
  package mutating func add(_ who: Who) {
    if recent.count >= Self.recentMax, recent[who.connection] == nil { (older, recent) = (recent, [:]) }
    recent[who.connection] = who
  }
}
