// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TribuneService

/// Runs the blocking calls of `LeaseStore` on a queue, for the main actor.
final class LeaseQueue: LeaseStorage {
  private let publisher: Publisher
  private let current: CurrentLeaseStore
  private let queue = DispatchQueue(label: "tribune-nats.leases")

  init(_ publisher: Publisher, _ current: CurrentLeaseStore) {
    (self.publisher, self.current) = (publisher, current)
  }

  func read(
    _ lease: String, after pause: Duration, until end: ContinuousClock.Instant
  ) async -> Result<StoredLease, LeaseStoreError> {
    // A separate task pauses even if the caller's task is cancelled. In a cancelled task, `rest` returns at
    // once.
    if pause > .zero { await Task { await rest(for: pause) }.value }
    return await result(until: end) { store throws(LeaseStoreError) in try store.read(lease) }
  }

  func write(
    _ lease: String, _ bytes: [UInt8], expecting revision: UInt64, until end: ContinuousClock.Instant
  ) async -> Result<Void, LeaseStoreError> {
    await result(until: end) { store throws(LeaseStoreError) in
      try store.write(lease, bytes, expecting: revision)
    }
  }

  func names(
    until end: ContinuousClock.Instant
  ) async -> Result<(names: [String], isComplete: Bool), LeaseStoreError> {
    await result(until: end) { store throws(LeaseStoreError) in try store.names() }
  }

  /// Skips work that has not started by `end`, so requests to a slow NATS do not add up.
  private func result<Value: Sendable>(
    until end: ContinuousClock.Instant,
    of work: @escaping @Sendable (LeaseStore) throws(LeaseStoreError) -> Value
  ) async -> Result<Value, LeaseStoreError> {
    guard let client = publisher.client else {
      return .failure(
        LeaseStoreError(.transient, "cluster unreachable: \(publisher.lack ?? "there is no connection")"))
    }
    return await queue.result { [current] () throws(LeaseStoreError) in
      guard ContinuousClock.now < end else {
        throw LeaseStoreError(.transient, "NATS is too slow for all that is asked about leases")
      }
      return try work(try current.store(at: client))
    }
  }
}
