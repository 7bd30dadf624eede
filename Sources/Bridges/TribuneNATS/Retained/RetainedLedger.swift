// SPDX-License-Identifier: Apache-2.0

/// What the bucket has of each key, as far as it has come, and what this host has posted beyond that: a state machine without
/// I/O. At rest, the bus has what the bucket has.
///
/// A local value is stored only if the bucket's last one has come here before (compare-and-set). If another host's value
/// is there first, that one is posted, and the local one is given up. So a value that was overwritten never comes back,
/// however late or often a message arrives.
///
/// On the bus, order is what the gateway's own posts show when they are read back. A local value that is read before
/// may be behind one of them on the bus or before it. Once it is stored, it is posted again then.
nonisolated struct RetainedLedger {
  enum Step: Equatable {
    case none
    case post
    /// Store what `write(of:)` says.
    case store
    /// There is no room, so the local value stays on this host.
    case full
  }

  struct Write: Equatable {
    /// Empty if the value is cleared.
    var payload: [UInt8]
    /// The last revision of the key that the bucket may have; 0 for none.
    var expected: UInt64
  }

  static let keysMax = 16_384
  static let localMax = 1_024
  static let weightMax = 64 << 20

  /// What own processes have posted, and the bucket may not have.
  private struct Local {
    var payload: [UInt8]
    var mayBeOverwritten: Bool
  }

  private struct Entry {
    var revision: UInt64 = 0
    /// Of the payload of that revision.
    var hash = 0
    var isOwn = true
    /// Whether the bus may not have it.
    var isUnsure = false
    /// Posts of the gateway that have not been read back. Too high a number only has a value posted once more.
    var unread = 0
    var local: Local?
  }

  private var entries: [RetainedKey: Entry] = [:]
  private var localCount = 0
  private var weight = 0
  /// What is being posted; one after the other is.
  private var posting: RetainedKey?

  // MARK: The bus

  /// A value has been read from the bus.
  ///
  /// - Parameters:
  ///   - isPosted: whether the gateway has posted it.
  ///   - isOld: whether the bus had it when the gateway began to read.
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
    // The other host's value was posted since, and so is behind it.
    if isOld, !entry.isOwn, !entry.isUnsure { return .none }
    setLocal(nil, &entry)
    guard localCount < Self.localMax, weight + payload.count <= Self.weightMax else { return .full }
    setLocal(Local(payload: payload, mayBeOverwritten: entry.unread > 0), &entry)
    return .store
  }

  /// The post has come to its end.
  mutating func posted(_ key: RetainedKey, isRefused: Bool) {
    posting = nil
    guard isRefused, var entry = entries[key] else { return }
    entry.unread = max(0, entry.unread - 1)
    entry.isUnsure = true
    entries[key] = entry
  }

  /// The gateway begins to read anew, after a gap or on a bus that may have nothing. What it has posted before is part of
  /// what the bus has, but for what is being posted. All values of the bucket come again.
  mutating func restart() {
    for key in entries.keys {
      entries[key]?.unread = key == posting ? 1 : 0
      entries[key]?.isUnsure = true
      entries[key]?.local?.mayBeOverwritten = true
    }
  }

  // MARK: The bucket

  /// A value has come from the bucket.
  ///
  /// - Parameter isOwn: whether this host has stored it, by whichever process.
  mutating func arrive(_ key: RetainedKey, revision: UInt64, _ payload: [UInt8], isOwn: Bool) -> Step {
    guard var entry = entry(of: key) else { return .post }
    let isNews = revision > entry.revision
    guard isNews || revision == entry.revision && entry.isUnsure else { return .none }
    defer { entries[key] = entry }
    (entry.revision, entry.hash, entry.isOwn, entry.isUnsure) = (revision, payload.hashValue, isOwn, false)
    if let local = entry.local {
      guard isNews else { return .none }
      // The local value is newer than whatever this host has stored before.
      if isOwn, payload != local.payload { return .store }
      setLocal(nil, &entry)
      if payload == local.payload, !local.mayBeOverwritten { return .none }
    }
    entry.unread += 1
    posting = key
    return .post
  }

  /// The bucket refuses a write again and again, and nothing comes: what was known of the key is wrong.
  mutating func doubt(_ key: RetainedKey) { entries[key]?.revision = 0 }

  /// What is to be stored of a key; nil for nothing.
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
