// SPDX-License-Identifier: Apache-2.0

/// A lease (a lock of the cluster), as NATS stores it.
nonisolated struct StoredLease: Equatable, Sendable {
  /// Nil if the lease was never stored, or was deleted.
  var bytes: [UInt8]?
  /// Increases with each change; 0 before the first change.
  var revision: UInt64

  init(_ bytes: [UInt8]?, revision: UInt64) { (self.bytes, self.revision) = (bytes, revision) }
}

nonisolated struct LeaseStoreError: Error, Equatable, Sendable {
  enum Kind: Equatable, Sendable {
    case final
    case transient
    case rejected
    /// The write may have happened, or may still happen.
    case inFlight
    /// The lease no longer had the expected revision.
    case conflict

    init(refusal code: UInt32) {
      self = StoreReply.conflicts.contains(Int(code)) ? .conflict : .rejected
    }
  }

  var kind: Kind
  var message: String

  init(_ kind: Kind, _ message: String) { (self.kind, self.message) = (kind, message) }
}

/// An attempt to change a lease: a state machine without I/O. NATS accepts a write only if the lease still
/// has the revision that was read (compare-and-set). An acquisition succeeds only with a confirmed write of
/// this attempt. A read does not suffice, because it may be outdated.
nonisolated struct LeaseAttempt {
  enum Action: Equatable, Sendable {
    case read(after: Duration)
    case write([UInt8], expecting: UInt64)
    case conclude(Conclusion)
  }

  enum Conclusion: Equatable, Sendable {
    case made(LeaseOwner, again: Bool)
    case busy(LeaseRecord)
    case absent(LeaseRecord)
    case refused(String)
    case failed(String)
    /// The change may have happened, or may still happen.
    case unknown(String)
    /// The caller was cancelled, so the acquisition was undone.
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
  /// The revision that a write of unknown outcome expects; nil without such a write. Once the lease has a
  /// later revision, this write can no longer succeed.
  private var inFlight: UInt64?
  private var rejection: LeaseStoreError?
  private var wasInFlight = false
  private var failures = 0
  private var conflicts = 0

  /// - Parameter end: when to stop retrying.
  init(
    _ change: LeaseRecord.Change, until end: ContinuousClock.Instant,
    isRunning: @escaping @Sendable (LeaseOwner) -> Bool
  ) {
    (self.change, self.end, self.isRunning) = (change, end, isRunning)
  }

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
      // An earlier write of this attempt, whose outcome was unknown, has removed the owner.
      if wasInFlight, let owner { return .conclude(.made(owner, again: true)) }
      return .conclude(.absent(record))
    case .changed(let owner, let before):
      if let rejection {
        self.rejection = nil
        return give(rejection.message)
      }
      // An owner that this attempt itself may have stored does not count as an earlier acquisition.
      if !wasInFlight || before?.id != owner.id { isAgain = before != nil }
      (self.owner, expected) = (owner, stored.revision)
      // A repeated write must not release a later acquisition, so `change` names this owner's id from now on.
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
        // Reads return the old value until JetStream decides on the conflicting write, so the pauses grow.
        return .read(after: .milliseconds(conflicts - 1))
      case .rejected:
        // The next read confirms that the write changed nothing, or shows that others have the lease.
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
