// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

/// Value queries, `will` and `did`, and replaced delegates, against the real daemon.
@Suite("Delegates of objects", .timeLimit(.minutes(2)))
struct ValueTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test("a value query returns the first value of the chain; collecting returns all")
  func values() async throws {
    let connection = try await bus.connect()
    let sources = [nil, "2", "3"].map { (value: UserInfo?) in
      AttentiveDelegate { _ in value.map { Answer.value($0) } ?? .abstain }
    }
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
    #expect(none.errors.contains("has no value: no delegate answered"))
    #expect(try TestBus.tribunectl(["query", "a"], address: "unix:/nonexistent/bus").status == 255)
    await connection.close()
  }

  @Test("a delegate receives its object's `will` and `did`, and learns who replaces it")
  func willDidAndReplaced() async throws {
    let connection = try await bus.connect()
    let window = AttentiveDelegate()
    let attachment = try await connection.attach(
      window, to: "window/1", respondingTo: ["window.*"], label: "first")
    for name in ["window.willClose", "window.moved", "window.didClose"] {
      try await connection.postAcknowledged(name, object: "window/1")
    }
    try await connection.postAcknowledged("window.didClose", object: "window/2")
    let replacement = AttentiveDelegate()
    let other = try await bus.connect()
    try await other.set(replacement, to: "window/1", respondingTo: ["window.*"], label: "heir")
    for expected in ["window.willClose", "window.didClose", "replaced by heir"] {
      #expect(await window.next() == expected)
    }
    #expect(
      try await other.explain("window.shouldClose", object: "window/1").delegates.map(\.label) == ["heir"])
    try await attachment.detach()
    #expect(try await connection.delegates().map(\.label) == ["heir"])
    await other.close()
    await connection.close()
  }

  @Test("a delegate's command can defer with tribunectl")
  func deferring() throws {
    let tribunectl = try Programs.path(of: "tribunectl")
    try bus.staying(
      "delegate", "a.*", "--timeout=5s", "--exec", "sh", "-c",
      "\(tribunectl) defer $TRIBUNE_QUERY 20s --status='half done'")
    let result = try bus.tribunectl("ask", "a.shouldB")
    #expect(result.status == 0)
    #expect(result.errors.contains("half done"))
    #expect(try bus.tribunectl("defer", "1000000", "20s").status == 1)
  }

  @Test("a query that would ask itself is refused, and a dry run stays one")
  func recursionAndDryRun() async throws {
    let connection = try await bus.connect()
    let asker = AttentiveDelegate { question in
      let error = try await failure {
        _ = try await connection.ask(question.name, object: question.object, parent: question.query)
      }
      return .veto("dry \(question.isDryRun): \(error.map { "\($0.code)" } ?? "asked")")
    }
    try await connection.attach(asker, respondingTo: ["a.shouldB"])
    let verdict = try await connection.ask("a.shouldB", isDryRun: true)
    #expect(verdict.isDryRun)
    #expect(verdict.outcomes.map(\.reason) == ["dry true: recursion"])
    await connection.close()
  }
}
