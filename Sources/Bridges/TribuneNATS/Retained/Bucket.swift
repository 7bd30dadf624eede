// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The bucket of a cluster's retained notifications.
nonisolated package struct Bucket: Equatable, Sendable {
  package let name: String

  package init(cluster: String) { name = "tribune_\(cluster)" }

  private var prefix: String { "$KV.\(name)." }

  package func subject(_ key: RetainedKey) -> String { prefix + key.text }

  /// The keys of all names that match a pattern, and perhaps others.
  package func subjects(matching pattern: Pattern) -> String {
    let tokens = pattern.text.split(separator: ".").map { $0 == "**" ? ">" : String($0) }
    return prefix + tokens.joined(separator: ".") + (tokens.last == ">" ? "" : ".*")
  }

  /// The key of a subject; nil if it is none of this bucket.
  package func key(of subject: String) -> RetainedKey? {
    subject.hasPrefix(prefix) ? RetainedKey(subject.dropFirst(prefix.count)) : nil
  }
}
