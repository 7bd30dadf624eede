// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneNATS

@Suite("Abandoned changes of leases", .timeLimit(.minutes(15)))
@MainActor
struct LeaseChangesTests {
  private typealias Change = Task<LeaseAttempt.Conclusion, Never>

  private static let unbegun = LeaseAttempt.Conclusion.failed("nobody waits for it any more")

  private let leases = LeasesInMemory()
  private let link: SteppedLeases
  private let changes: LeaseChanges
  private let db1 = LeaseOwner(host: "db1", id: String(repeating: "1", count: 32), boot: "b", since: 1)

  init() {
    link = SteppedLeases(leases)
    changes = LeaseChanges(in: link, span: .seconds(3_600)) { _ in true }
  }

  private func start(_ change: LeaseRecord.Change) async -> Change {
    let task = Change { [changes] in await changes.make(change, of: "db") }
    await settle()
    return task
  }

  private func acquire() async -> Change { await start(.acquire(db1, slots: 1)) }

  private func abandoned() async -> Change {
    let change = await acquire()
    await link.answer()
    change.cancel()
    return change
  }

  @Test("A host that asks again with the same id keeps its confirmed lease", arguments: [true, false])
  func again(isDone: Bool) async throws {
    let first = await abandoned()
    if isDone { link.perform() }
    let second = await acquire()
    await link.answerAll()
    #expect(await first.value == .undone)
    #expect(await second.value == .made(db1, again: false))
    #expect(try leases.owners("db") == [db1])
  }

  @Test("It keeps the lease even if the confirmation of the first undo was lost")
  func undoingUnheard() async throws {
    let first = await abandoned()
    await link.answer()
    await link.answer()
    let second = await acquire()
    link.perform()
    await link.lose()
    await link.answerAll()
    #expect(await first.value == .undone)
    #expect(await second.value == .made(db1, again: false))
    #expect(try leases.owners("db") == [db1])
  }

  @Test("It keeps the lease even if the result of the first undo is unknown")
  func undoingUnknown() async throws {
    let first = await abandoned()
    await link.answer()
    await link.answer()
    let second = await acquire()
    for _ in 0..<LeaseAttempt.failuresMax { await link.lose() }
    await link.answer()
    while link.strayCount > 0 { link.performStray(at: 0) }
    await link.answerAll()
    #expect(await first.value == .unknown("lost"))
    #expect(await second.value == .made(db1, again: false))
    #expect(try leases.owners("db") == [db1])
  }

  @Test("A release comes before a later acquisition")
  func release() async throws {
    let earlier = await acquire()
    await link.answerAll()
    #expect(await earlier.value == .made(db1, again: false))
    let release = await start(.release(host: "db1", machine: "", id: db1.id))
    let next = await acquire()
    #expect(link.callCount == 1)
    await link.answerAll()
    #expect(await release.value == .made(db1, again: true))
    #expect(await next.value == .made(db1, again: false))
    #expect(try leases.owners("db") == [db1])
  }

  @Test("An abandoned change that has not begun does not begin")
  func unbegun() async throws {
    let first = await acquire()
    let second = await acquire()
    second.cancel()
    first.cancel()
    await link.answerAll()
    #expect(await [first.value, second.value] == [Self.unbegun, Self.unbegun])
    #expect(try leases.owners("db").isEmpty)
  }

  @Test("The host keeps its earlier lease")
  func kept() async throws {
    let first = await acquire()
    await link.answerAll()
    #expect(await first.value == .made(db1, again: false))
    let second = await abandoned()
    await link.answerAll()
    #expect(await second.value == .made(db1, again: true))
    #expect(try leases.owners("db") == [db1])
  }

  @Test("Changes of different owners or leases do not wait for each other")
  func lines() async {
    _ = await acquire()
    var db2 = db1
    db2.host = "db2"
    let other = await start(.acquire(db2, slots: 1))
    let otherLease = Change { [changes, db1] in await changes.make(.acquire(db1, slots: 1), of: "x") }
    await settle()
    #expect(link.callCount == 3)
    await link.answerAll()
    #expect(await otherLease.value == .made(db1, again: false))
    _ = await other.value
  }
}
