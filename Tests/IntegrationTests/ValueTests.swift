// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

/// Queries for values, will and did, and replacing, against the real daemon.
@Suite("Delegation, whole", .timeLimit(.minutes(2)))
struct ValueTests {
  @Test("the first value down the chain is the answer, and collecting brings all")
  func values() async throws {
    let bus = try TestBus()
    let connection = try await bus.connect()
    let sources = [DataSource(nil), DataSource("2"), DataSource("3")]
    for (order, source) in sources.enumerated() {
      try await connection.attach(
        source, to: "browser/1", respondingTo: ["browser.rows"], order: Int32(order), label: "\(order)")
    }
    let first = try await connection.query("browser.rows", object: "browser/1")
    #expect(first.value == "2")
    #expect(first.outcomes.map(\.kind) == [.abstained, .answered])
    let all = try await connection.collect("browser.rows", object: "browser/1")
    #expect(all.values == ["2", "3"])

    let printed = try bus.tribunectl("query", "browser.rows", "--object=browser/1")
    #expect(printed.status == 0)
    #expect(printed.output == "2\n")
    #expect(try bus.tribunectl("query", "browser.rows", "--object=browser/1", "--collect").output == "2\n3\n")
    #expect(
      try bus.tribunectl("-j", "query", "browser.rows", "--object=browser/1").object()["value"] as? Int == 2)
    let none = try bus.tribunectl("query", "browser.columns", "--object=browser/1")
    #expect(none.status == 1)
    #expect(none.output == "")
    #expect(none.errors.contains("has no value: nobody was there to answer"))
    #expect(
      try TestBus.tribunectl(["query", "a"], address: "unix:/nonexistent/bus").status == 255)
    await connection.close()
  }

  @Test("a delegate is told what its object will do and did, and who replaces it")
  func willDidAndReplaced() async throws {
    let bus = try TestBus()
    let connection = try await bus.connect()
    let window = Observer()
    let attachment = try await connection.attach(
      window, to: "window/1", respondingTo: ["window.*"], label: "first")
    for name in ["window.willClose", "window.moved", "window.didClose"] {
      try await connection.postAcknowledged(name, object: "window/1")
    }
    try await connection.postAcknowledged("window.didClose", object: "window/2")
    let replacement = Observer()
    let other = try await bus.connect()
    try await other.set(replacement, to: "window/1", respondingTo: ["window.*"], label: "heir")
    #expect(await window.next(3) == ["window.willClose", "window.didClose", "replaced by heir"])
    #expect(
      try await other.explain("window.shouldClose", object: "window/1").delegates.map(\.label) == ["heir"])
    try await attachment.detach()
    #expect(try await connection.delegates().map(\.label) == ["heir"])
    await other.close()
    await connection.close()
  }

  @Test("what runs under a delegate's command defers for it")
  func deferring() throws {
    let bus = try TestBus()
    let tribunectl = try Programs.path(of: "tribunectl")
    let delegate = try bus.staying(
      "delegate", "a.*", "--timeout=5s", "--exec", "sh", "-c",
      "\(tribunectl) defer $TRIBUNE_QUERY 20s --status='half done'")
    let result = try bus.tribunectl("ask", "a.shouldB")
    #expect(result.status == 0)
    #expect(result.errors.contains("half done"))
    #expect(try bus.tribunectl("defer", "1000000", "20s").status == 1)
    withExtendedLifetime(delegate) {}
  }

  @Test("a query that would ask itself is refused, and a dry run says that it is one")
  func recursionAndDryRun() async throws {
    let bus = try TestBus()
    let connection = try await bus.connect()
    let asker = SelfAsker(connection)
    try await connection.attach(asker, respondingTo: ["a.shouldB"])
    let verdict = try await connection.ask("a.shouldB", isDryRun: true)
    #expect(verdict.isDryRun)
    #expect(verdict.outcomes.map(\.reason) == ["dry true: recursion"])
    await connection.close()
  }
}

/// Gives always the same value, or none.
final class DataSource: Delegate {
  private let value: UserInfo?

  init(_ value: UserInfo?) { self.value = value }

  func answer(_ question: Question) -> Answer {
    guard question.wantsValue, let value else { return .abstain }
    return .value(value)
  }
}

/// Notes what it is told.
private final class Observer: Delegate {
  private let told = AsyncStream<String>.makeStream()

  func answer(_ question: Question) -> Answer { .abstain }

  func received(_ delivery: Delivery) {
    if case .notification(let notification) = delivery { told.continuation.yield(notification.name) }
  }

  func replaced(by delegate: DelegateInfo) { told.continuation.yield("replaced by \(delegate.label)") }

  func next(_ count: Int) async -> [String] {
    var next: [String] = []
    for await line in told.stream {
      next.append(line)
      if next.count == count { break }
    }
    return next
  }
}

/// Asks what it is asked.
private final class SelfAsker: Delegate {
  private let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  func answer(_ question: Question) async -> Answer {
    do throws(TribuneError) {
      _ = try await connection.ask(question.name, object: question.object, parent: question.query)
      return .approve
    } catch {
      return .veto("dry \(question.isDryRun): \(error.code)")
    }
  }
}
