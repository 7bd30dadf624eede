// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import Tribune

/// What tribunectl does at a terminal, against the real daemon.
@Suite("tribunectl at a terminal", .timeLimit(.minutes(2)))
struct TerminalTests {
  private static let prompt = "Allow it? [y, n, n REASON, ?] "

  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private static func asker(_ bus: TestBus, _ arguments: String...) throws -> RunningProgram {
    try bus.start(arguments)
  }

  private static func delegate(_ bus: TestBus, _ options: String...) throws -> TerminalSession {
    let delegate = try TerminalSession(
      [try Programs.path(of: "tribunectl"), "delegate", "**"] + options,
      environment: ["TRIBUNE_ADDRESS": bus.address])
    try delegate.read(to: "attached ** (any object")
    return delegate
  }

  @Test("a delegate shows who asks and what for, and what is typed is the answer")
  func answers() throws {
    let delegate = try Self.delegate(bus)
    let first = try Self.asker(bus, "ask", "window.shouldClose", "{\"x\":\"\u{9B}\"}", "--object=w/1")
    let shown = try delegate.read(to: Self.prompt)
    #expect(shown.contains("window.shouldClose  w/1  {\"x\":\"\\u{9b}\"}"))
    #expect(shown.contains("asked by tribunectl (pid \(first.pid), uid \(getuid())"))
    #expect(shown.contains("30s to answer") || shown.contains("29s to answer"))
    try delegate.type("maybe\n")
    try delegate.read(to: Self.prompt)
    try delegate.type("?\n")
    #expect(try delegate.read(to: Self.prompt).contains("n REASON  no, and why"))
    // In pieces.
    try delegate.type("n not ")
    try delegate.type("yet\n")
    #expect(first.status() == 1)
    #expect(try first.output.rest().contains("): not yet"))
    let second = try Self.asker(bus, "ask", "a")
    try delegate.read(to: Self.prompt)
    try delegate.type("y\n")
    #expect(second.status() == 0)
  }

  @Test("a second question waits for the first, and a withdrawn one takes no answer along")
  func queues() async throws {
    let delegate = try Self.delegate(bus)
    let first = try Self.asker(bus, "ask", "first")
    try delegate.read(to: Self.prompt)
    let connection = try await bus.connect()
    let witness = AttentiveDelegate { _ in .abstain }
    try await connection.attach(witness, respondingTo: ["second", "third"])
    let second = try Self.asker(bus, "ask", "second")
    let third = try Self.asker(bus, "ask", "third")
    // Both have come when another delegate has been asked, too.
    for _ in 0..<2 { _ = await witness.next() }
    first.signal(SIGKILL)
    let next = try delegate.read(to: Self.prompt)
    #expect(next.contains("withdrawn"))
    #expect(next.contains("1 more waits"))
    let isSecond = next.contains("second")
    try delegate.type("n one\n")
    #expect(try delegate.read(to: Self.prompt).contains(isSecond ? "third" : "second"))
    try delegate.type("y\n")
    #expect((isSecond ? second : third).status() == 1)
    #expect((isSecond ? third : second).status() == 0)
  }

  @Test("what is not answered in time is taken back, though the query goes on")
  func timesOut() throws {
    let delegate = try Self.delegate(bus, "--timeout=100ms", "--on-failure=abstain")
    let other = try bus.staying("delegate", "a", "--timeout=1h", "--exec", "sleep", "1000")
    let asker = try Self.asker(bus, "ask", "a")
    #expect(try delegate.read(to: "timed out").contains(Self.prompt))
    try delegate.type("y\n")
    try delegate.read(to: "nothing is being asked")
    other.signal(SIGTERM)
    #expect(asker.status() == 1)
    #expect(try asker.output.rest().contains("timedOut"))
  }

  @Test(
    "the end of the input ends the delegate, and counts as its failure policy says",
    arguments: [
      ("veto", 1), ("abstain", 0),
    ] as [(String, Int32)])
  func inputEnds(policy: String, status: Int32) throws {
    let delegate = try Self.delegate(bus, "--on-failure=\(policy)")
    let asker = try Self.asker(bus, "ask", "a")
    try delegate.read(to: Self.prompt)
    try delegate.type("\u{4}")
    #expect(delegate.status() == 0)
    #expect(asker.status() == status)
  }

  @Test("a signal ends it, and the screen says what was not answered")
  func interrupted() throws {
    let delegate = try Self.delegate(bus)
    let asker = try Self.asker(bus, "ask", "a")
    try delegate.read(to: Self.prompt)
    delegate.signal(SIGINT)
    #expect(try delegate.rest().contains("not answered"))
    #expect(delegate.status() == 0)
    #expect(asker.status() == 1)
  }

  @Test("without a terminal it is wrong usage that says what else there is")
  func noTerminal() throws {
    let result = try bus.tribunectl("delegate", "a")
    #expect(result.status == 2)
    for option in ["--approve", "--veto", "--exec"] { #expect(result.errors.contains(option)) }
  }

  // MARK: Who is being waited for

  /// Defers, and answers when it is told to.
  private actor Slow: Delegate {
    private let (releases, release) = AsyncStream<Void>.makeStream()

    nonisolated func proceed() { release.finish() }

    func answer(_ question: Question) async throws -> Answer {
      try await question.deferAnswer(by: .seconds(60), status: "at 40 %\u{1B}[2J")
      for await _ in releases {}
      return .approve
    }
  }

  @Test(
    "whoever is waited for is shown, and is gone when the verdict is there",
    arguments: [["ask", "a.shouldB"], ["guard", "a.b", "--", "echo", "allowed:"]])
  func waiting(arguments: [String]) async throws {
    let connection = try await bus.connect()
    let slow = Slow()
    try await connection.attach(slow, respondingTo: ["a.shouldB"], label: "slow")
    let asker = try TerminalSession(
      [try Programs.path(of: "tribunectl")] + arguments, environment: ["TRIBUNE_ADDRESS": bus.address])
    #expect(try asker.read(to: "waiting for slow (") == "waiting for slow (")
    #expect(try asker.read(to: "\r\n").contains(": at 40 %\\u{1b}[2J"))
    // A second later, in the same place.
    #expect(try asker.read(to: "waiting for slow (") == "\u{1B}[1A\r\u{1B}[Jwaiting for slow (")
    try asker.read(to: "\r\n")
    slow.proceed()
    // It may have been shown once more meanwhile.
    #expect(try asker.read(to: "allowed:").hasSuffix("\u{1B}[1A\r\u{1B}[Jallowed:"))
    #expect(try !asker.rest().contains("waiting"))
    #expect(asker.status() == 0)
    await connection.close()
  }

  @Test(
    "what is no terminal, or wants no words, is not written over",
    arguments: [["-q"], ["-j"], ["--json=off"]])
  func noScreen(options: [String]) async throws {
    let connection = try await bus.connect()
    let slow = Slow()
    try await connection.attach(slow, respondingTo: ["a"], label: "slow")
    slow.proceed()
    let command = [try Programs.path(of: "tribunectl"), "ask", "a"] + options
    let environment = ["TRIBUNE_ADDRESS": bus.address, "TERM": options == ["--json=off"] ? "dumb" : "xterm"]
    let asker = try TerminalSession(command, environment: environment)
    let written = try asker.rest()
    #expect(!written.contains("\u{1B}"))
    #expect(written.contains("waiting for slow (pid") == (options != ["-q"]))
    await connection.close()
  }
}
