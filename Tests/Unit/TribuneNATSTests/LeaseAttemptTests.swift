// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneNATS

@Suite("A change of a lease", .timeLimit(.minutes(15)))
struct LeaseAttemptTests {
  private let start = ContinuousClock.now
  private let db1 = LeaseOwner(host: "db1", id: String(repeating: "1", count: 32), boot: "b", since: 1)
  private let db2 = LeaseOwner(host: "db2", id: String(repeating: "2", count: 32), boot: "b", since: 2)

  private func attempt(_ change: LeaseRecord.Change? = nil) -> LeaseAttempt {
    LeaseAttempt(change ?? .acquire(db1, slots: 1), until: start + .seconds(10)) { _ in false }
  }

  private func attempt(writing kind: LeaseStoreError.Kind) -> LeaseAttempt {
    var attempt = attempt()
    _ = attempt.hasRead(stored(7), at: start)
    _ = attempt.hasWritten(error(kind), at: start)
    return attempt
  }

  private func record(_ owners: LeaseOwner...) -> LeaseRecord {
    var record = LeaseRecord()
    record.owners = owners
    return record
  }

  private func stored(_ revision: UInt64, _ owners: LeaseOwner...) -> Result<StoredLease, LeaseStoreError> {
    var record = LeaseRecord()
    record.owners = owners
    return .success(StoredLease(record.bytes, revision: revision))
  }

  private func error(_ kind: LeaseStoreError.Kind) -> Result<Void, LeaseStoreError> {
    .failure(LeaseStoreError(kind, "why"))
  }

  @Test("A change is made once NATS confirmed a write against the revision that was read")
  func made() {
    var attempt = attempt()
    #expect(
      attempt.hasRead(.success(StoredLease(nil, revision: 0)), at: start)
        == .write(record(db1).bytes, expecting: 0))
    #expect(attempt.hasWritten(.success(()), at: start) == .conclude(.made(db1, again: false)))
  }

  @Test("A host that already is an owner writes again: the record that was read may be old")
  func again() {
    var attempt = attempt()
    #expect(attempt.hasRead(stored(7, db1), at: start) == .write(record(db1).bytes, expecting: 7))
    #expect(attempt.hasWritten(.success(()), at: start) == .conclude(.made(db1, again: true)))
  }

  @Test("After a conflict, the second host reads again, and finds the first one")
  func conflict() {
    var attempt = attempt()
    _ = attempt.hasRead(stored(7), at: start)
    #expect(attempt.hasWritten(error(.conflict), at: start) == .read(after: .zero))
    #expect(attempt.hasRead(stored(8, db2), at: start) == .conclude(.busy(record(db2))))
  }

  @Test(
    "A refusal because of the revision is a conflict, even if the other write is undecided",
    arguments: [(10_071, .conflict), (10_164, .conflict), (10_077, .rejected)]
      as [(UInt32, LeaseStoreError.Kind)])
  func codes(code: UInt32, kind: LeaseStoreError.Kind) {
    #expect(LeaseStoreError.Kind(refusal: code) == kind)
  }

  @Test("Repeated conflicts cause growing pauses")
  func races() {
    var attempt = attempt()
    var pauses: [Duration] = []
    for _ in 0..<4 {
      _ = attempt.hasRead(stored(7), at: start)
      if case .read(let pause) = attempt.hasWritten(error(.conflict), at: start) { pauses.append(pause) }
    }
    #expect(pauses == [.zero, .milliseconds(1), .milliseconds(2), .milliseconds(3)])
  }

  @Test("A write with an unknown result is repeated if it may have been made")
  func inFlight() {
    var attempt = attempt()
    _ = attempt.hasRead(stored(7), at: start)
    #expect(attempt.hasWritten(error(.inFlight), at: start) == .read(after: .milliseconds(200)))
    #expect(attempt.hasRead(stored(8, db1), at: start) == .write(record(db1).bytes, expecting: 8))
    // Not `again`: this attempt wrote the record.
    #expect(attempt.hasWritten(.success(()), at: start) == .conclude(.made(db1, again: false)))
  }

  @Test("The result stays unknown until a later revision is read")
  func unknown() {
    var attempt = attempt(writing: .inFlight)
    #expect(
      attempt.hasRead(.failure(LeaseStoreError(.final, "gone")), at: start) == .conclude(.unknown("gone")))
    attempt = self.attempt(writing: .inFlight)
    _ = attempt.hasRead(stored(6), at: start)
    #expect(attempt.hasWritten(error(.transient), at: start + .seconds(10)) == .conclude(.unknown("why")))
  }

  @Test("A later revision settles the write under way")
  func overtaken() {
    var attempt = attempt(writing: .inFlight)
    #expect(attempt.hasRead(stored(8, db2), at: start) == .conclude(.busy(record(db2))))
    attempt = self.attempt(writing: .inFlight)
    _ = attempt.hasRead(stored(9), at: start)
    #expect(attempt.hasWritten(error(.transient), at: start + .seconds(10)) == .conclude(.failed("why")))
  }

  @Test("A refused write changed nothing if the next read confirms that")
  func rejected() {
    var attempt = attempt()
    _ = attempt.hasRead(stored(7), at: start)
    #expect(attempt.hasWritten(error(.rejected), at: start) == .read(after: .zero))
    #expect(attempt.hasRead(stored(7), at: start) == .conclude(.failed("why")))
    attempt = self.attempt(writing: .rejected)
    #expect(
      attempt.hasRead(.failure(LeaseStoreError(.final, "gone")), at: start) == .conclude(.unknown("gone")))
  }

  @Test("A release with an unknown result was made if the host is no longer an owner")
  func released() {
    var attempt = attempt(.release(host: "db1", machine: "", id: nil))
    #expect(attempt.hasRead(stored(7, db1), at: start) == .write(record().bytes, expecting: 7))
    _ = attempt.hasWritten(error(.inFlight), at: start)
    #expect(attempt.hasRead(stored(8, db2), at: start) == .conclude(.made(db1, again: true)))
    attempt = self.attempt(.release(host: "db1", machine: "", id: nil))
    #expect(attempt.hasRead(stored(7, db2), at: start) == .conclude(.absent(record(db2))))
  }

  @Test(
    "A release or a break ends only the acquisition that it found first",
    arguments: [.release(host: "db1", machine: "", id: nil), .remove(host: "db1", id: nil)]
      as [LeaseRecord.Change])
  func late(change: LeaseRecord.Change) {
    var attempt = attempt(change)
    _ = attempt.hasRead(stored(7, db1), at: start)
    _ = attempt.hasWritten(error(.conflict), at: start)
    var next = db1
    next.id = db2.id
    #expect(attempt.hasRead(stored(9, next), at: start) == .conclude(.absent(record(next))))
    _ = attempt.hasRead(stored(9, db1), at: start)
    _ = attempt.hasWritten(error(.inFlight), at: start)
    #expect(attempt.hasRead(stored(10, next), at: start) == .conclude(.made(db1, again: true)))
  }

  @Test("An unreadable record changes nothing")
  func garbage() {
    var attempt = attempt()
    guard
      case .conclude(.failed(let why)) = attempt.hasRead(.success(StoredLease([], revision: 3)), at: start)
    else {
      Issue.record("it goes on")
      return
    }
    #expect(why.hasPrefix("what NATS has of it cannot be used"))
  }

  @Test("The attempt gives up after some failures, some conflicts, or its time")
  func bounds() {
    var attempt = attempt()
    var failures = 1
    while case .read = attempt.hasRead(.failure(LeaseStoreError(.transient, "why")), at: start) {
      failures += 1
    }
    #expect(failures == LeaseAttempt.failuresMax)
    attempt = self.attempt()
    var conflicts = 0
    var action = LeaseAttempt.Action.read(after: .zero)
    while case .read = action {
      _ = attempt.hasRead(stored(7), at: start)
      action = attempt.hasWritten(error(.conflict), at: start)
      conflicts += 1
    }
    #expect(conflicts == LeaseAttempt.conflictsMax)
    attempt = self.attempt()
    #expect(
      attempt.hasRead(.failure(LeaseStoreError(.transient, "why")), at: start + .seconds(10))
        == .conclude(.failed("why")))
  }
}
