// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import Testing
import Tribune

@Suite("The forwarding delegate", .timeLimit(.minutes(15)))
struct ForwardingDelegateTests {
  private let bus: TestBus
  private let connection: Connection
  private let forwarder: RunningProgram

  init() async throws {
    bus = try TestBus()
    connection = try await bus.connect()
    forwarder = try ExamplePrograms.start("forwarder", on: bus)
    try forwarder.read(to: "responds to window.shouldMove")
  }

  private func names() async throws -> [String] {
    try await connection.delegates().filter { $0.object == "window/1" }.flatMap(\.patterns).sorted()
  }

  private func expectUnion(_ names: String...) async throws {
    let expected = names.sorted()
    try forwarder.read(to: "responds to \(expected.joined(separator: " "))")
    #expect(try await self.names() == expected)
  }

  @Test("it responds to the names of both delegates, even after the outer one is set, replaced or killed")
  func union() async throws {
    #expect(try await names() == ["window.shouldMove"])
    #expect(try await connection.ask("window.shouldZoom", object: "window/1").isUnanswered)

    let one = AttentiveDelegate(vetoing: "not now")
    try await connection.set(
      one, to: "forwarder/1", respondingTo: ["window.shouldZoom", "window.didZoom"], label: "one")
    try await expectUnion("window.shouldMove", "window.shouldZoom", "window.didZoom")
    let zoom = try await connection.ask("window.shouldZoom", object: "window/1")
    #expect(zoom.outcomes.map(\.label) == ["forwarder"])
    #expect(zoom.outcomes.map(\.reason) == ["not now"])

    let killed = try bus.staying("delegate", "window.shouldClose", "--object=forwarder/1", "--veto=never")
    try await expectUnion("window.shouldMove", "window.shouldZoom", "window.didZoom", "window.shouldClose")
    #expect(try await !connection.ask("window.shouldClose", object: "window/1").isAllowed)
    killed.signal(SIGKILL)
    try await expectUnion("window.shouldMove", "window.shouldZoom", "window.didZoom")
    #expect(try await connection.ask("window.shouldClose", object: "window/1").isUnanswered)

    let other = AttentiveDelegate { _ in .value(#"{"title": "Notes"}"#) }
    let attachment = try await connection.set(
      other, to: "forwarder/1", respondingTo: ["window.title"], label: "other")
    try await expectUnion("window.shouldMove", "window.title")
    #expect(try await connection.query("window.title", object: "window/1").value == #"{"title": "Notes"}"#)
    #expect(try await connection.ask("window.shouldZoom", object: "window/1").isUnanswered)
    #expect(await one.all == ["window.shouldZoom", "replaced by other"])

    try await attachment.detach()
    try await expectUnion("window.shouldMove")
  }

  @Test("it does not forward questions that it answers itself")
  func own() async throws {
    let outer = AttentiveDelegate()
    try await connection.set(
      outer, to: "forwarder/1", respondingTo: ["window.shouldMove", "window.shouldZoom"])
    try await expectUnion("window.shouldMove", "window.shouldZoom")
    let verdict = try await connection.ask("window.shouldMove", object: "window/1")
    #expect(verdict.outcomes.map(\.reason) == ["the forwarder keeps windows where they are"])
    #expect(try await connection.ask("window.shouldZoom", object: "window/1").isAllowed)
    #expect(await outer.all == ["window.shouldZoom"])
  }

  @Test("it forwards all others unchanged, with userInfo and dry runs, and passes deferrals back")
  func everything() async throws {
    let seen = AsyncStream<Void>.makeStream()
    let outer = AttentiveDelegate { question in
      guard question.isDryRun else { return .abstain }
      try await question.deferAnswer(by: .seconds(60), status: "counting windows")
      for await _ in seen.stream {}
      return .veto("dry")
    }
    try await connection.set(outer, to: "forwarder/1", respondingTo: ["window.shouldZoom", "window.didZoom"])
    try await expectUnion("window.shouldMove", "window.shouldZoom", "window.didZoom")

    let statuses = Mutex<[String]>([])
    let verdict = try await connection.ask(
      "window.shouldZoom", object: "window/1", userInfo: #"{"factor": 2}"#, isDryRun: true
    ) { step in
      guard step.stage == .deferred else { return }
      statuses.withLock { $0.append("\(step.label): \(step.status)") }
      seen.continuation.finish()
    }
    #expect(statuses.withLock { $0 } == ["forwarder: counting windows"])
    #expect(verdict.outcomes.map(\.reason) == ["dry"])
    #expect(await outer.next() == #"window.shouldZoom {"factor": 2}"#)
    #expect(try await connection.ask("window.shouldZoom", object: "window/1").isUnanswered)
    #expect(await outer.next() == "window.shouldZoom")
    try await connection.post("window.didZoom", object: "window/1", userInfo: #"{"factor": 2}"#)
    #expect(await outer.next() == #"window.didZoom {"factor": 2}"#)
  }
}
