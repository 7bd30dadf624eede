// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune

@Suite("What the bus itself posts", .timeLimit(.minutes(1)))
struct AnnouncementTests {
  private actor Yes: Delegate {
    private(set) var received: [Delivery] = []

    func answer(_ question: Question) -> Answer { .approve }

    func received(_ delivery: Delivery) { received.append(delivery) }
  }

  private actor No: Delegate {
    func answer(_ question: Question) -> Answer { .veto("not \"now\"") }
  }

  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private func json(_ notification: Tribune.Notification) throws -> [String: Any] {
    let json = try JSONSerialization.jsonObject(with: Data(notification.userInfo.bytes))
    return try #require(json as? [String: Any])
  }

  @Test("who joins an object's chain and who leaves it is told to those who observe that, however it leaves")
  func delegates() async throws {
    let (observer, program) = (try await bus.connect(), try await bus.connect())
    var news = try await observer.observe("tribune.delegate.*", object: "window/1").makeAsyncIterator()
    // What others post, of the same connection.
    var all = try await observer.observe(object: "window/1").makeAsyncIterator()
    let yes = Yes()
    try await program.attach(yes, to: "window/2", respondingTo: ["**"])
    let attachment = try await program.attach(
      yes, to: "window/1", respondingTo: ["window.*", "a.b"], label: "\"it\"\u{9B}")

    guard case .notification(let attached) = try await news.next() else {
      Issue.record("no news of the attachment")
      return
    }
    #expect(attached.name == "tribune.delegate.didAttach")
    #expect(attached.object == "window/1")
    #expect(attached.sender == nil)
    let userInfo = try json(attached)
    #expect(userInfo["delegate"] as? UInt64 == attachment.id)
    #expect(userInfo["label"] as? String == "\"it\"\u{9B}")
    #expect(userInfo["connection"] as? String == program.id)
    #expect(userInfo["respondsTo"] as? [String] == ["window.*", "a.b"])

    try await attachment.detach()
    guard case .notification(let detached) = try await news.next() else {
      Issue.record("no news of the detachment")
      return
    }
    #expect(detached.name == "tribune.delegate.didDetach")
    #expect(detached.userInfo == attached.userInfo)

    let killed = try bus.staying("delegate", "a.b", "--object=window/1", "--approve")
    killed.signal(SIGKILL)
    let names = [try await news.next(), try await news.next()].map { delivery -> String in
      if case .notification(let notification)? = delivery { notification.name } else { "" }
    }
    #expect(names == ["tribune.delegate.didAttach", "tribune.delegate.didDetach"])
    // It responds to all names, but what the bus says is for observers.
    #expect(await yes.received.isEmpty)
    try await program.post("window.end", object: "window/1")
    #expect(
      try await all.next()
        == .notification(Tribune.Notification("window.end", object: "window/1", sender: program.id)))
    await program.close()
    await observer.close()
  }

  @Test("going past vetoes is told with who did, why, and what the vetoes were")
  func overriding() async throws {
    let (observer, program) = (try await bus.connect(), try await bus.connect())
    var news = try await observer.observe("tribune.query.didOverride", object: "o").makeAsyncIterator()
    let (yes, no) = (Yes(), No())
    try await program.attach(yes, to: "o", respondingTo: ["a.shouldB"])
    // Nothing was overridden here.
    #expect(try await program.ask("a.shouldB", object: "o", override: "no matter what").isAllowed)
    try await program.attach(no, to: "o", respondingTo: ["a.shouldB"], label: "no")
    // Nor here: it was only tried.
    #expect(try await program.ask("a.shouldB", object: "o", override: "may I?", isDryRun: true).isOverridden)
    let verdict = try await program.ask("a.shouldB", object: "o", override: "I \"must\"")
    #expect(verdict.isOverridden)

    guard case .notification(let notification) = try await news.next() else {
      Issue.record("no news of the override")
      return
    }
    #expect(notification.sender == nil)
    let userInfo = try json(notification)
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

  @Test(
    "holds and ends of queries are told with who and why, of value queries and what is taken back as well")
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
    return (notification, try json(notification))
  }
}
