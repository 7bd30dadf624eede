// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune

@Suite("What the bus itself posts", .timeLimit(.minutes(1)))
struct AnnouncementTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test("observers learn of each delegate that joins or leaves an object's chain")
  func delegates() async throws {
    let (observer, program) = (try await bus.connect(), try await bus.connect())
    var news = try await observer.observe("tribune.delegate.*", object: "window/1").makeAsyncIterator()
    let yes = AttentiveDelegate()
    let attachment = try await program.attach(
      yes, to: "window/1", respondingTo: ["window.*", "a.b"], label: "\"it\"\u{9B}")

    let (attached, userInfo) = try await next(&news)
    #expect(attached.name == "tribune.delegate.didAttach")
    #expect(attached.object == "window/1")
    #expect(attached.sender == nil)
    #expect(userInfo["delegate"] as? UInt64 == attachment.id)
    #expect(userInfo["label"] as? String == "\"it\"\u{9B}")
    #expect(userInfo["connection"] as? String == program.id)
    #expect(userInfo["respondsTo"] as? [String] == ["window.*", "a.b"])

    try await attachment.detach()
    let detached = try await next(&news).notification
    #expect(detached.name == "tribune.delegate.didDetach")
    #expect(detached.userInfo == attached.userInfo)
    #expect(await yes.all.isEmpty)
    await program.close()
    await observer.close()
  }

  @Test("observers learn who overrode vetoes, why, and which vetoes")
  func overriding() async throws {
    let (observer, program) = (try await bus.connect(), try await bus.connect())
    var news = try await observer.observe("tribune.query.didOverride", object: "o").makeAsyncIterator()
    let (yes, no) = (AttentiveDelegate(), AttentiveDelegate(vetoing: "not \"now\""))
    try await program.attach(yes, to: "o", respondingTo: ["a.shouldB"])
    // There is no veto to override yet.
    #expect(try await program.ask("a.shouldB", object: "o", override: "no matter what").isAllowed)
    try await program.attach(no, to: "o", respondingTo: ["a.shouldB"], label: "no")
    // A dry run overrides nothing.
    #expect(try await program.ask("a.shouldB", object: "o", override: "may I?", isDryRun: true).isOverridden)
    let verdict = try await program.ask("a.shouldB", object: "o", override: "I \"must\"")
    #expect(verdict.isOverridden)

    let (notification, userInfo) = try await next(&news)
    #expect(notification.sender == nil)
    #expect(userInfo["query"] as? UInt64 == verdict.query)
    #expect(userInfo["name"] as? String == "a.shouldB")
    #expect(userInfo["reason"] as? String == "I \"must\"")
    let asker = try #require(userInfo["asker"] as? [String: Any])
    #expect(asker["connection"] as? String == program.id)
    #expect(asker["pid"] as? Int32 == getpid())
    let vetoes = try #require(userInfo["vetoes"] as? [[String: Any]])
    #expect(vetoes.map { $0["label"] as? String } == ["no"])
    #expect(vetoes.map { $0["reason"] as? String } == ["not \"now\""])
    await program.close()
    await observer.close()
  }

  @Test("observers learn of each hold, its end, and each query's end, with who and why")
  func holdsAndQueries() async throws {
    let (observer, program) = (try await bus.connect(), try await bus.connect())
    var news = try await observer.observe("tribune.*.*", object: "o").makeAsyncIterator()
    let holder = try bus.staying("hold", "a.*", "--object=o", "--why=not \"now\"")
    let taken = try await next(&news)
    #expect(taken.notification.name == "tribune.hold.didTake")
    #expect(taken.notification.object == "o")
    #expect(taken.userInfo["pattern"] as? String == "a.*")
    #expect(taken.userInfo["why"] as? String == "not \"now\"")
    #expect(taken.userInfo["pid"] as? Int32 == holder.pid)
    #expect(taken.userInfo["process"] as? String == "tribunectl")

    let verdict = try await program.ask("a.shouldB", object: "o")
    let concluded = try await next(&news)
    #expect(concluded.notification.name == "tribune.query.didConclude")
    #expect(concluded.userInfo["query"] as? UInt64 == verdict.query)
    #expect(concluded.userInfo["name"] as? String == "a.shouldB")
    #expect(concluded.userInfo["verdict"] as? String == "vetoed")
    #expect(concluded.userInfo["mode"] as? String == "parallel")
    #expect(concluded.userInfo["vetoCount"] as? Int == 1)
    #expect(concluded.userInfo["elapsed"] as? Double != nil)
    let asker = try #require(concluded.userInfo["asker"] as? [String: Any])
    #expect(asker["connection"] as? String == program.id)

    holder.signal(SIGKILL)
    let released = try await next(&news)
    #expect(released.notification.name == "tribune.hold.didRelease")
    #expect(released.userInfo["hold"] as? UInt64 == taken.userInfo["hold"] as? UInt64)
    #expect(released.userInfo["expired"] as? Bool == false)
    await program.close()
    await observer.close()
  }

  private func next(
    _ news: inout Notifications.AsyncIterator
  ) async throws -> (notification: Tribune.Notification, userInfo: [String: Any]) {
    guard case .notification(let notification)? = try await news.next() else {
      throw RawClient.Ended()
    }
    return (notification, try jsonObject(String(decoding: notification.userInfo.bytes, as: UTF8.self)))
  }
}
