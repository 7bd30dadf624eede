// SPDX-License-Identifier: Apache-2.0

/// What the cluster has of each key, as far as it has come: whether what arrives has to be posted on this host's bus.
///
/// Of two hosts that post at the same time, the last one in the bucket wins everywhere. A value of this host comes back from
/// the bucket: the bus has it already, unless a value of another host came in between, or the bus is another one now.
nonisolated struct RetainedLedger {
  static let keysMax = 4_096

  private struct Entry {
    var revision: UInt64 = 0
    var holder = ""
    /// Values of this host that were sent to the bucket and have not come back.
    var underWay = 0
    /// Whether the bus has got a value of another host since one was sent.
    var isOverwritten = false
  }

  private var entries: [RetainedKey: Entry] = [:]

  mutating func send(_ key: RetainedKey) { change(key) { $0.underWay += 1 } }

  /// A value has come from the bucket.
  ///
  /// - Parameter isOwn: whether this process has sent it.
  /// - Returns: whether it has to be posted.
  mutating func arrive(_ key: RetainedKey, revision: UInt64, holder: String, isOwn: Bool) -> Bool {
    change(key) { entry in
      guard revision > entry.revision else { return false }
      entry.revision = revision
      entry.holder = holder
      guard isOwn else {
        entry.isOverwritten = entry.underWay > 0
        return true
      }
      guard entry.underWay > 0 else { return true }
      entry.underWay -= 1
      // One that was sent later comes later, and has to be posted again, too.
      defer { if entry.underWay == 0 { entry.isOverwritten = false } }
      return entry.isOverwritten
    }
  }

  /// The host whose value the bucket has; nil if that is not known.
  func holder(of key: RetainedKey) -> String? {
    entries[key].flatMap { $0.revision > 0 ? $0.holder : nil }
  }

  @discardableResult
  private mutating func change<Result>(_ key: RetainedKey, _ body: (inout Entry) -> Result) -> Result {
    // What is forgotten is posted once more.
    if entries.count >= Self.keysMax, entries[key] == nil { entries = [:] }
    return body(&entries[key, default: Entry()])
  }
}
