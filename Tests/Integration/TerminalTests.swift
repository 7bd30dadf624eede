// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import Tribune

@Suite("tribunectl at a terminal", .timeLimit(.minutes(15)))
struct TerminalTests {
  private static let prompt = "Allow it? [y, n, n REASON, ?] "

  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private func delegate(_ options: String...) throws -> TerminalSession {
    let delegate = try bus.terminal(["delegate", "**"] + options)
    try delegate.read(to: "attached ** (any object")
    return delegate
  }

  @Test("a delegate shows the question and its asker, and the typed line is the answer")
  func answers() throws {
    let delegate = try delegate()
    let first = try bus.start("ask", "window.shouldClose", "{\"x\":\"\u{9B}\"}", "--object=w/1")
    let shown = try delegate.read(to: Self.prompt)
    #expect(shown.contains("window.shouldClose  w/1  {\"x\":\"\\u{9b}\"}"))
    #expect(shown.contains("asked by tribunectl (pid \(first.pid), uid \(getuid())"))
    #expect(shown.contains("30s to answer") || shown.contains("29s to answer"))
    try delegate.type("maybe\n")
    try delegate.read(to: Self.prompt)
    try delegate.type("?\n")
    #expect(try delegate.read(to: Self.prompt).contains("n REASON  veto, with this reason"))
    try delegate.type("n not ")
    try delegate.type("yet\n")
    #expect(first.status() == 1)
    #expect(try first.output.rest().contains("): not yet"))
    let second = try bus.start("ask", "a.shouldB")
    try delegate.read(to: Self.prompt)
    try delegate.type("y\n")
    #expect(second.status() == 0)
  }

  @Test("a question that timed out is withdrawn from the screen, even if the query continues")
  func timesOut() throws {
    let delegate = try delegate("--timeout=100ms", "--on-failure=abstain")
    let other = try bus.staying("delegate", "a.shouldB", "--timeout=1h", "--exec", "sleep", "1000")
    let asker = try bus.start("ask", "a.shouldB")
    #expect(try delegate.read(to: "timed out").contains(Self.prompt))
    try delegate.type("y\n")
    try delegate.read(to: "no question is open")
    other.signal(SIGTERM)
    #expect(asker.status() == 1)
    #expect(try asker.output.rest().contains("timedOut"))
  }

  @Test(
    "the end of input or a signal ends it, with an answer by its failure policy; the screen reports a signal",
    arguments: [("veto", nil, 1), ("abstain", nil, 0), ("veto", SIGINT, 1)] as [(String, CInt?, Int32)])
  func ends(policy: String, signal: CInt?, status: Int32) throws {
    let delegate = try delegate("--on-failure=\(policy)")
    let asker = try bus.start("ask", "a.shouldB")
    try delegate.read(to: Self.prompt)
    if let signal {
      delegate.signal(signal)
      #expect(try delegate.rest().contains("not answered"))
    } else {
      try delegate.type("\u{4}")
    }
    #expect(delegate.status() == 0)
    #expect(asker.status() == status)
  }

  @Test("without a terminal, it is wrong usage, and the message lists other ways to answer")
  func noTerminal() throws {
    let result = try bus.tribunectl("delegate", "a")
    #expect(result.status == 2)
    for option in ["--approve", "--veto", "--exec"] { #expect(result.errors.contains(option)) }
  }

  private static let long = (0..<10).map { "name\($0)" }.joined(separator: ".")

  @Test(
    "tables fit the terminal, and are whole in a pipe",
    arguments: [
      ["list"], ["list", "--retained"], ["holds"], ["explain", "a.shouldB", "--object=\(long)/\(long)"],
      ["accounts"], ["status", ":1"],
    ])
  func tables(arguments: [String]) throws {
    let long = Self.long
    let object = "--object=\(long)/\(long)"
    try bus.staying("delegate", "a.shouldB", "\(long).*", "--veto=no", "--label=\(long)", object)
    try bus.staying("hold", "a.**", "--why=\(long) \(long)", object)
    #expect(try bus.tribunectl("post", long, "\"\(long)\"", "--retain", object).status == 0)
    let lines = try bus.terminal(arguments).rest().split(separator: "\r\n")
    #expect(lines.count > 1)
    for line in lines { #expect(line.count <= 80, "\(line)") }
    #expect(try !TestBus.tribunectl(arguments, address: bus.address).output.contains("…"))
  }

  private static func slow(until releases: AsyncStream<Void>) -> AttentiveDelegate {
    AttentiveDelegate { question in
      try await question.deferAnswer(by: .seconds(60), status: "at 40 %\u{1B}[2J")
      for await _ in releases {}
      return .approve
    }
  }

  @Test(
    "the asker's terminal shows the delegates that it waits for, until the verdict",
    arguments: [["ask", "a.shouldB"], ["guard", "a.b", "--", "echo", "allowed:"]])
  func waiting(arguments: [String]) async throws {
    let connection = try await bus.connect()
    let (releases, release) = AsyncStream<Void>.makeStream()
    let slow = Self.slow(until: releases)
    try await connection.attach(slow, respondingTo: ["a.shouldB"], label: "slow")
    let asker = try bus.terminal(arguments)
    #expect(try asker.read(to: "waiting for slow (") == "waiting for slow (")
    #expect(try asker.read(to: "\r\n").contains(": at 40 %\\u{1b}[2J"))
    #expect(try asker.read(to: "waiting for slow (") == "\u{1B}[1A\r\u{1B}[Jwaiting for slow (")
    try asker.read(to: "\r\n")
    release.finish()
    // The lines can have been written once more in between.
    #expect(try asker.read(to: "allowed:").hasSuffix("\u{1B}[1A\r\u{1B}[Jallowed:"))
    #expect(try !asker.rest().contains("waiting"))
    #expect(asker.status() == 0)
    await connection.close()
  }

  @Test(
    "with -q, with JSON, or on a dumb terminal, no text is overwritten",
    arguments: [["-q"], ["-j"], ["--json=off"]])
  func noScreen(options: [String]) async throws {
    let connection = try await bus.connect()
    let (releases, release) = AsyncStream<Void>.makeStream()
    let slow = Self.slow(until: releases)
    try await connection.attach(slow, respondingTo: ["a.shouldB"], label: "slow")
    release.finish()
    let terminal = options == ["--json=off"] ? "dumb" : "xterm"
    let written = try bus.terminal(["ask", "a.shouldB"] + options, environment: ["TERM": terminal]).rest()
    #expect(!written.contains("\u{1B}"))
    for text in ["waiting for slow (pid", ": at 40 %\\u{1b}[2J"] {
      #expect(written.contains(text) == (options != ["-q"]))
    }
    await connection.close()
  }
}
