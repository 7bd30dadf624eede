// SPDX-License-Identifier: Apache-2.0

/// Stores leases. The storage skips work that has not started by `end`.
protocol LeaseStorage: AnyObject {
  func read(
    _ lease: String, after pause: Duration, until end: ContinuousClock.Instant
  ) async -> Result<StoredLease, LeaseStoreError>

  func write(
    _ lease: String, _ bytes: [UInt8], expecting revision: UInt64, until end: ContinuousClock.Instant
  ) async -> Result<Void, LeaseStoreError>
}

/// Changes leases. Changes of a lease for the same owner run one at a time. If an acquisition is cancelled,
/// this type undoes it before the owner's next change. A later undo could release a lease that the owner has
/// acquired again with the same id.
final class LeaseChanges {
  private struct Line: Hashable {
    var lease: String
    var owner: String
  }

  private let storage: any LeaseStorage
  private let span: Duration
  private let isRunning: @Sendable (LeaseOwner) -> Bool
  private var last: [Line: Task<LeaseAttempt.Conclusion, Never>] = [:]

  /// - Parameter span: the time for a change, including the wait for the owner's earlier changes.
  init(
    in storage: any LeaseStorage, span: Duration, isRunning: @escaping @Sendable (LeaseOwner) -> Bool
  ) {
    (self.storage, self.span, self.isRunning) = (storage, span, isRunning)
  }

  /// Returns only after the change has ended, even if the caller is cancelled.
  func make(_ change: LeaseRecord.Change, of lease: String) async -> LeaseAttempt.Conclusion {
    let line = Line(lease: lease, owner: change.owner)
    let end = ContinuousClock.now + span
    let turn = Task { [earlier = last[line]] in
      _ = await earlier?.value
      return await makeInTurn(change, of: lease, until: end)
    }
    last[line] = turn
    defer { if last[line] == turn { last[line] = nil } }
    return await withTaskCancellationHandler {
      await turn.value
    } onCancel: {
      turn.cancel()
    }
  }

  private func makeInTurn(
    _ change: LeaseRecord.Change, of lease: String, until end: ContinuousClock.Instant
  ) async -> LeaseAttempt.Conclusion {
    let conclusion = await attempt(change, of: lease, until: end)
    // If the owner had the lease before this change, the owner keeps the lease.
    guard Task.isCancelled, case .acquire(let owner, _) = change, case .made(_, again: false) = conclusion
    else { return conclusion }
    let release = LeaseRecord.Change.release(host: owner.host, machine: owner.machine, id: owner.id)
    // In this cancelled task, `attempt` would give up at once, so a new task undoes the change.
    let undoing = Task { await attempt(release, of: lease, until: .now + span) }
    return switch await undoing.value {
    case .made, .absent: .undone
    case .refused(let why), .failed(let why), .unknown(let why): .unknown(why)
    case .busy, .undone: preconditionFailure("a release is neither")
    }
  }

  private func attempt(
    _ change: LeaseRecord.Change, of lease: String, until end: ContinuousClock.Instant
  ) async -> LeaseAttempt.Conclusion {
    var attempt = LeaseAttempt(change, until: end, isRunning: isRunning)
    var action = LeaseAttempt.Action.read(after: .zero)
    while true {
      switch action {
      case .conclude(let conclusion): return conclusion
      case _ where Task.isCancelled && attempt.isWithoutEffect: return .failed("nobody waits for it any more")
      case .read(let pause):
        action = attempt.hasRead(await storage.read(lease, after: pause, until: end), at: .now)
      case .write(let bytes, let revision):
        let written = await storage.write(lease, bytes, expecting: revision, until: end)
        action = attempt.hasWritten(written, at: .now)
      }
    }
  }
}
