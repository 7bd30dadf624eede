// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

/// The client library against the real daemon.
@Suite("The client library", .timeLimit(.minutes(2)))
struct LibraryTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test("posts arrive once, in order, with their sender")
  func postAndObserve() async throws {
    let poster = try await bus.connect()
    let observer = try await bus.connect()
    #expect(observer.bus.pid == bus.pid)
    let notifications = try await observer.observe(anyOf: ["window.*", "window.didMove", "**"])
    let some = try await observer.observe("window.didMove", object: "window/3")
    for number in 0..<2000 {
      try await poster.post("window.didMove", object: "window/\(number)", userInfo: UserInfo("\(number)"))
    }
    await poster.close()
    var iterator = notifications.makeAsyncIterator()
    for number in 0..<2000 {
      #expect(
        try await iterator.next()
          == .notification(
            Notification(
              "window.didMove", object: "window/\(number)", sender: poster.id, userInfo: UserInfo("\(number)")
            )))
    }
    var one = some.makeAsyncIterator()
    guard case .notification(let third) = try await one.next() else {
      Issue.record("the observation of one object got no notification")
      return
    }
    #expect(third.object == "window/3")
    await observer.close()
    #expect(try await one.next() == nil)
    #expect(try await iterator.next() == nil)
  }

  @Test("a query is vetoed with every reason, then allowed, then unanswered")
  func askAndVeto() async throws {
    let connection = try await bus.connect()
    let asker = try await bus.connect()
    let steward = AttentiveDelegate(vetoing: "a restore is under way")
    let other = AttentiveDelegate(vetoing: "not on a Friday")
    let attachment = try await connection.attach(
      steward, to: "archive/photos", respondingTo: ["archive.shouldPrune"], order: 1, label: "steward")
    try await connection.attach(other, respondingTo: ["archive.*"], label: "calendar")

    let chain = try await asker.explain("archive.shouldPrune", object: "archive/photos")
    #expect(chain.delegates.map(\.label) == ["calendar", "steward"])

    let vetoed = try await asker.ask("archive.shouldPrune", object: "archive/photos", mode: .all)
    #expect(vetoed.decision == .vetoed)
    #expect(vetoed.outcomes.map(\.reason) == ["not on a Friday", "a restore is under way"])
    #expect(vetoed.outcomes.map(\.kind) == [.vetoed, .vetoed])
    #expect(vetoed.outcomes.last?.delegate == attachment.id)
    #expect(await steward.nextEnding() == .vetoed)

    await steward.set(.approve)
    await other.set(.abstain)
    let allowed = try await asker.ask("archive.shouldPrune", object: "archive/photos", mode: .order)
    #expect(allowed.isAllowed)
    #expect(!allowed.isUnanswered)
    #expect(await steward.nextEnding() == .allowed)

    try await attachment.detach()
    let unanswered = try await asker.ask(
      "archive.shouldPrune", object: "archive/photos", default: .vetoed)
    #expect(unanswered.decision == .vetoed)
    #expect(unanswered.isUnanswered)
    await asker.close()
    await connection.close()
  }
}
