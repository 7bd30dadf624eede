// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// What tribunectl does at a terminal, against the real daemon.
@Suite("tribunectl at a terminal", .timeLimit(.minutes(2)))
struct TerminalTests {
  private static let prompt = "Allow it? [y, n, n REASON, ?] "

  private static func asker(_ bus: TestBus, _ arguments: String...) throws -> RunningProgram {
    try RunningProgram([try Programs.path(of: "tribunectl"), "--address=\(bus.address)"] + arguments)
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
    let bus = try TestBus()
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
  func queues() throws {
    let bus = try TestBus()
    let delegate = try Self.delegate(bus)
    let first = try Self.asker(bus, "ask", "first")
    try delegate.read(to: Self.prompt)
    let second = try Self.asker(bus, "ask", "second")
    let third = try Self.asker(bus, "ask", "third")
    // Both have come when the bus counts three queries.
    while try !bus.tribunectl("status").output.contains("3 under way") {}
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

  @Test("what is not answered in time is taken back")
  func timesOut() throws {
    let bus = try TestBus()
    let delegate = try Self.delegate(bus, "--timeout=100ms")
    let result = try bus.tribunectl("-j", "ask", "a")
    #expect(result.status == 1)
    #expect(result.output.contains("timedOut"))
    #expect(try delegate.read(to: "timed out").contains(Self.prompt))
    try delegate.type("y\n")
    try delegate.read(to: "nothing is being asked")
  }

  @Test(
    "the end of the input ends the delegate, and counts as its failure policy says",
    arguments: [
      ("veto", 1), ("abstain", 0),
    ] as [(String, Int32)])
  func inputEnds(policy: String, status: Int32) throws {
    let bus = try TestBus()
    let delegate = try Self.delegate(bus, "--on-failure=\(policy)")
    let asker = try Self.asker(bus, "ask", "a")
    try delegate.read(to: Self.prompt)
    try delegate.type("\u{4}")
    #expect(delegate.status() == 0)
    #expect(asker.status() == status)
  }

  @Test("a signal ends it, and the screen says what was not answered")
  func interrupted() throws {
    let bus = try TestBus()
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
    let bus = try TestBus()
    let result = try bus.tribunectl("delegate", "a")
    #expect(result.status == 2)
    for option in ["--approve", "--veto", "--exec"] { #expect(result.errors.contains(option)) }
  }
}
