// SPDX-License-Identifier: Apache-2.0

/// Keeps the bus and the bucket equal: a state machine without I/O.
///
/// A local value is one that a program posted on this bus. The gateway stores a local value only if the
/// bucket's last revision has arrived here (compare-and-set). If another host's value came first, the gateway
/// posts that value, and drops the local one. So an overwritten value never returns.
///
/// The gateway also reads its own posts from the bus. If the gateway reads a local value before its own last
/// post, this post may overwrite the local value on the bus. The gateway still stores the local value, and
/// posts it again when the bucket delivers it.
nonisolated struct RetainedLedger {
  enum Step: Equatable {
    case none
    case post
    case store
    /// The ledger is full, so the value stays local.
    case full
  }

  struct Write: Equatable {
    /// Empty to clear the value.
    var payload: [UInt8]
    /// The expected revision; 0 for none.
    var expected: UInt64
  }

  static let keysMax = 16_384
  static let localMax = 1_024
  static let weightMax = 64 << 20

  /// A local value that the bucket may lack.
  private struct Local {
    var payload: [UInt8]
    var mayBeOverwritten: Bool
  }

  private struct Entry {
    var revision: UInt64 = 0
    var hash = 0
    var isOwn = true
    /// True if the bus may lack the bucket's value.
    var isUnsure = false
    /// How many of its own posts the gateway has not read from the bus yet. A number that is too high only
    /// causes an extra post.
    var unread = 0
    var local: Local?
  }

  private var entries: [RetainedKey: Entry] = [:]
  private var localCount = 0
  private var weight = 0
  private var posting: RetainedKey?

  // MARK: The bus

  /// Takes a value that the gateway has read from the bus. `isPosted`: the gateway itself posted the value.
  /// `isOld`: the bus had the value before the gateway began to read.
  mutating func read(_ key: RetainedKey, _ payload: [UInt8], isPosted: Bool, isOld: Bool) -> Step {
    guard var entry = entry(of: key) else { return isPosted ? .none : .full }
    defer { entries[key] = entry }
    if isOld, entry.revision > 0, entry.local == nil, payload.hashValue == entry.hash {
      entry.isUnsure = false
      return .none
    }
    if isPosted {
      if !isOld { entry.unread = max(0, entry.unread - 1) }
      return .none
    }
    // The bucket has a value of another host, which is newer than this old value.
    if isOld, !entry.isOwn, !entry.isUnsure { return .none }
    setLocal(nil, &entry)
    guard localCount < Self.localMax, weight + payload.count <= Self.weightMax else { return .full }
    setLocal(Local(payload: payload, mayBeOverwritten: entry.unread > 0), &entry)
    return .store
  }

  mutating func posted(_ key: RetainedKey, isRefused: Bool) {
    posting = nil
    guard isRefused, var entry = entries[key] else { return }
    entry.unread = max(0, entry.unread - 1)
    entry.isUnsure = true
    entries[key] = entry
  }

  /// Prepares for reading the bus from the start. Only a post under way (`posting`) is unread then, because
  /// the bus delivers the gateway's earlier posts as old values. The bucket delivers all values again, too.
  mutating func restart() {
    for key in entries.keys {
      entries[key]?.unread = key == posting ? 1 : 0
      entries[key]?.isUnsure = true
      entries[key]?.local?.mayBeOverwritten = true
    }
  }

  // MARK: The bucket

  /// `isOwn`: a gateway of this host stored the value, perhaps an earlier process.
  mutating func arrive(_ key: RetainedKey, revision: UInt64, _ payload: [UInt8], isOwn: Bool) -> Step {
    guard var entry = entry(of: key) else { return .post }
    let isNews = revision > entry.revision
    guard isNews || revision == entry.revision && entry.isUnsure else { return .none }
    defer { entries[key] = entry }
    (entry.revision, entry.hash, entry.isOwn, entry.isUnsure) = (revision, payload.hashValue, isOwn, false)
    if let local = entry.local {
      guard isNews else { return .none }
      // The local value is newer than any value that this host has stored.
      if isOwn, payload != local.payload { return .store }
      setLocal(nil, &entry)
      if payload == local.payload, !local.mayBeOverwritten { return .none }
    }
    entry.unread += 1
    posting = key
    return .post
  }

  /// Forgets the known revision, which is wrong if the bucket refuses a write but delivers no newer value.
  mutating func doubt(_ key: RetainedKey) { entries[key]?.revision = 0 }

  func write(of key: RetainedKey) -> Write? {
    guard let entry = entries[key], let local = entry.local else { return nil }
    return Write(payload: local.payload, expected: entry.revision)
  }

  mutating func giveUp(_ key: RetainedKey) {
    guard var entry = entries[key] else { return }
    setLocal(nil, &entry)
    entries[key] = entry
  }

  // MARK: Bounds

  private func entry(of key: RetainedKey) -> Entry? {
    entries[key] ?? (entries.count < Self.keysMax ? Entry() : nil)
  }

  private mutating func setLocal(_ local: Local?, _ entry: inout Entry) {
    localCount += (local == nil ? 0 : 1) - (entry.local == nil ? 0 : 1)
    weight += (local?.payload.count ?? 0) - (entry.local?.payload.count ?? 0)
    entry.local = local
  }
}
