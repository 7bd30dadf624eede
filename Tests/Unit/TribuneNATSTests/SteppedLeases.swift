// SPDX-License-Identifier: Apache-2.0

@testable import TribuneNATS

/// As in JetStream, a write succeeds only against the revision that it expects.
@MainActor
final class LeasesInMemory {
  private var stored: [String: StoredLease] = [:]
  private var revision: UInt64 = 0

  func perform(_ request: SteppedLeases.Request) -> Result<StoredLease, LeaseStoreError> {
    switch request {
    case .read(let lease):
      return .success(stored[lease] ?? StoredLease(nil, revision: 0))
    case .write(let lease, let bytes, let expected):
      guard expected == stored[lease]?.revision ?? 0 else {
        return .failure(LeaseStoreError(.conflict, "it has changed"))
      }
      revision += 1
      let new = StoredLease(bytes, revision: revision)
      stored[lease] = new
      return .success(new)
    }
  }

  func owners(_ lease: String) throws -> [LeaseOwner] {
    guard let bytes = stored[lease]?.bytes else { return [] }
    return try LeaseRecord(bytes).owners
  }
}

@MainActor
final class SteppedLeases: LeaseStorage {
  enum Request {
    case read(String)
    case write(String, [UInt8], expecting: UInt64)
  }

  private struct Call {
    let request: Request
    let answer: CheckedContinuation<Result<StoredLease, LeaseStoreError>, Never>
    var result: Result<StoredLease, LeaseStoreError>?
  }

  private let leases: LeasesInMemory
  private var calls: [Call] = []
  /// May be performed, but are not answered.
  private var stray: [Request] = []
  private var isCut = false

  init(_ leases: LeasesInMemory) { self.leases = leases }

  func read(
    _ lease: String, after pause: Duration, until end: ContinuousClock.Instant
  ) async -> Result<StoredLease, LeaseStoreError> {
    await result(of: .read(lease))
  }

  func write(
    _ lease: String, _ bytes: [UInt8], expecting revision: UInt64, until end: ContinuousClock.Instant
  ) async -> Result<Void, LeaseStoreError> {
    await result(of: .write(lease, bytes, expecting: revision)).map { _ in }
  }

  private func result(of request: Request) async -> Result<StoredLease, LeaseStoreError> {
    guard !isCut else { return .failure(LeaseStoreError(.final, "cut")) }
    return await withCheckedContinuation { calls.append(Call(request: request, answer: $0)) }
  }

  // MARK: What a test has it do

  var callCount: Int { calls.count }

  var strayCount: Int { stray.count }

  func perform(at index: Int = 0) {
    if calls[index].result == nil { calls[index].result = leases.perform(calls[index].request) }
  }

  func answer(at index: Int = 0) async {
    perform(at: index)
    let call = calls.remove(at: index)
    if let result = call.result { call.answer.resume(returning: result) }
    await settle()
  }

  func lose(at index: Int = 0) async {
    let call = calls.remove(at: index)
    var kind = LeaseStoreError.Kind.transient
    if case .write = call.request { kind = .inFlight }
    if call.result == nil { stray.append(call.request) }
    call.answer.resume(returning: .failure(LeaseStoreError(kind, "lost")))
    await settle()
  }

  func duplicate(at index: Int) { stray.append(calls[index].request) }

  func performStray(at index: Int) { _ = leases.perform(stray.remove(at: index)) }

  func dropStray(at index: Int) { stray.remove(at: index) }

  func answerAll() async {
    await settle()
    while !calls.isEmpty { await answer() }
  }

  func cut() async {
    isCut = true
    while !calls.isEmpty { await lose() }
  }
}

/// Lets the main actor's tasks run until they wait for answers.
@MainActor
func settle() async { for _ in 0..<12 { await Task.yield() } }
