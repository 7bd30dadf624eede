// SPDX-License-Identifier: Apache-2.0

/// What NATS has of a lease.
nonisolated struct StoredLease: Equatable, Sendable {
  /// Nil if nothing was stored yet, or if it was deleted.
  var bytes: [UInt8]?
  /// Grows with each change; 0 before the first.
  var revision: UInt64

  init(_ bytes: [UInt8]?, revision: UInt64) { (self.bytes, self.revision) = (bytes, revision) }
}

/// Why a lease could not be read or written.
nonisolated struct LeaseStoreError: Error, Equatable, Sendable {
  enum Kind: Equatable, Sendable {
    case final
    case transient
    /// Of something written: it was refused.
    case rejected
    /// Of something written: it may be carried out later, or have been already.
    case inFlight
    /// Of something written: the revision was not the expected one any more.
    case conflict

    /// - Parameter code: JetStream's, of something written.
    init(refusal code: UInt32) {
      self = StoreReply.conflicts.contains(Int(code)) ? .conflict : .rejected
    }
  }

  var kind: Kind
  var message: String

  init(_ kind: Kind, _ message: String) { (self.kind, self.message) = (kind, message) }
}

/// A change of a lease, until it is known whether it was made: a state machine without I/O. Time is what its methods are
/// told.
///
/// NATS takes a write only if the revision is the one that was read (compare-and-set). A change counts as made only if
/// NATS has confirmed such a write of this very attempt, also if the host has the lease already: what is read may be old
/// by now.
nonisolated struct LeaseAttempt {
  enum Action: Equatable, Sendable {
    case read(after: Duration)
    case write([UInt8], expecting: UInt64)
    case conclude(Conclusion)
  }

  enum Conclusion: Equatable, Sendable {
    /// - Parameter again: whether the host had the lease before.
    case made(LeaseOwner, again: Bool)
    case busy(LeaseRecord)
    case absent(LeaseRecord)
    case refused(String)
    case failed(String)
    /// It may have been made, or may be made yet.
    case unknown(String)
    /// It was made, and then undone: nobody waited for it any more.
    case undone
  }

  static let failuresMax = 6
  static let conflictsMax = 64
  private static let pause = Duration.milliseconds(200)

  private var change: LeaseRecord.Change
  private let isRunning: @Sendable (LeaseOwner) -> Bool
  private let end: ContinuousClock.Instant
  private var owner: LeaseOwner?
  private var isAgain = false
  private var expected: UInt64 = 0
  /// The revision that a write under way expects. Once there is a later one, that write changes nothing any more.
  private var inFlight: UInt64?
  private var rejection: LeaseStoreError?
  private var wasInFlight = false
  private var failures = 0
  private var conflicts = 0

  /// - Parameter end: after it, nothing is tried again.
  init(
    _ change: LeaseRecord.Change, until end: ContinuousClock.Instant,
    isRunning: @escaping @Sendable (LeaseOwner) -> Bool
  ) {
    (self.change, self.end, self.isRunning) = (change, end, isRunning)
  }

  /// Whether nothing of it is in NATS, nor on its way there.
  var isWithoutEffect: Bool { !wasInFlight && rejection == nil }

  mutating func hasRead(
    _ result: Result<StoredLease, LeaseStoreError>, at now: ContinuousClock.Instant
  ) -> Action {
    let stored: StoredLease
    switch result {
    case .failure(let error): return retry(after: error, at: now)
    case .success(let read): stored = read
    }
    if let expected = inFlight, stored.revision > expected { inFlight = nil }
    var record = LeaseRecord()
    do throws(LeaseRecordError) {
      if let bytes = stored.bytes { record = try LeaseRecord(bytes) }
    } catch {
      return give("what NATS has of it cannot be used: \(error.message)")
    }
    var next = record
    switch next.apply(change, isRunning: isRunning) {
    case .busy: return .conclude(.busy(record))
    case .refused(let why): return .conclude(.refused(why))
    case .absent:
      // A write whose outcome nobody has told may be what has removed it.
      if wasInFlight, let owner { return .conclude(.made(owner, again: true)) }
      return .conclude(.absent(record))
    case .changed(let owner, let before):
      if let rejection {
        self.rejection = nil
        return give(rejection.message)
      }
      // Otherwise, it is what this attempt has written itself.
      if !wasInFlight || before?.id != owner.id { isAgain = before != nil }
      (self.owner, expected) = (owner, stored.revision)
      // What is acquired meanwhile, by whoever asked after this, is not released.
      change = change.only(owner.id)
      return .write(next.bytes, expecting: expected)
    }
  }

  mutating func hasWritten(
    _ result: Result<Void, LeaseStoreError>, at now: ContinuousClock.Instant
  ) -> Action {
    guard let owner else { preconditionFailure("something was written before anything was read") }
    switch result {
    case .success: return .conclude(.made(owner, again: isAgain))
    case .failure(let error):
      switch error.kind {
      case .conflict:
        conflicts += 1
        guard conflicts < Self.conflictsMax, now < end else {
          return give("others changed it again and again meanwhile")
        }
        // The other write may not be decided yet, and what is read the same.
        return .read(after: .milliseconds(conflicts - 1))
      case .rejected:
        // What it was refused for may be over, or somebody else may have written it: only a look at it tells.
        rejection = error
        return .read(after: .zero)
      case .inFlight: (inFlight, wasInFlight) = (expected, true)
      case .final, .transient: break
      }
      return retry(after: error, at: now)
    }
  }

  private mutating func retry(after error: LeaseStoreError, at now: ContinuousClock.Instant) -> Action {
    failures += 1
    guard error.kind != .final, failures < Self.failuresMax, now < end else { return give(error.message) }
    return .read(after: Self.pause * failures)
  }

  private func give(_ message: String) -> Action {
    .conclude(inFlight == nil && rejection == nil ? .failed(message) : .unknown(message))
  }
}
