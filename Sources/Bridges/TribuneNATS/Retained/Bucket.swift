// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The JetStream bucket of retained notifications.
nonisolated struct Bucket: Equatable, Sendable {
  let name: String

  init(cluster: String) { name = "tribune_\(cluster)" }

  private var prefix: String { "$KV.\(name)." }

  func subject(_ key: RetainedKey) -> String { prefix + key.text }

  /// The result may match more names than `pattern`, so the receiver checks each name.
  func subjects(matching pattern: Pattern) -> String {
    let tokens = pattern.text.split(separator: ".").map { $0 == "**" ? ">" : String($0) }
    return prefix + tokens.joined(separator: ".") + (tokens.last == ">" ? "" : ".*")
  }

  func key(of subject: String) -> RetainedKey? {
    subject.hasPrefix(prefix) ? RetainedKey(subject.dropFirst(prefix.count)) : nil
  }
}
