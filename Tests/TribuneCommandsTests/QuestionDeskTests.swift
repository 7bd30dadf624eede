// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneCommands

/// Questions go in and lines go in; what is shown and answered comes out.
@Suite("Questions at the terminal", .timeLimit(.minutes(15)))
struct QuestionDeskTests {
  /// What can happen, a second after what was before.
  enum Event: Sendable {
    /// A question that has ten seconds.
    case ask(Int)
    case line(String)
    case withdraw(Int)
    case timeOut(Int)
    case end
  }

  private static func shown(_ ticket: Int, left: Int = 10, more: String = "") -> [QuestionDesk.Effect] {
    [.show("question \(ticket)\n  \(left)s to answer\(more)\n"), .prompt]
  }

  private static let failed = Answer.failed("nobody is at the terminal any more")
  private static let explanation: [QuestionDesk.Effect] = [
    .show("\"y\", \"n\" or \"n REASON\"; \"?\" explains\n"), .prompt,
  ]

  private static func effects(of events: [Event]) -> [[QuestionDesk.Effect]] {
    var desk = QuestionDesk()
    return events.enumerated().map { second, event in
      let now = Duration.seconds(second)
      return switch event {
      case .ask(let ticket):
        desk.ask(.init(ticket: ticket, text: "question \(ticket)\n", end: now + .seconds(10)), at: now)
      case .line(let line): desk.read(line, at: now)
      case .withdraw(let ticket): desk.withdraw(ticket, .withdrawn, at: now)
      case .timeOut(let ticket): desk.withdraw(ticket, .timedOut, at: now)
      case .end: desk.end()
      }
    }
  }

  @Test(
    "a line is an answer, or is asked for again",
    arguments: [
      ("y", .approve), (" y ", .approve), ("n", .veto("")), ("n ", .veto("")),
      ("n not now", .veto("not now")),
      ("n\tyet\t", .veto("yet")), ("n  n", .veto("n")), ("n nö\u{1B}", .veto("nö\u{1B}")), ("", nil),
      (" ", nil), ("yes", nil), ("no", nil), ("Y", nil), ("y n", nil), ("x", nil), ("ny", nil),
    ] as [(String, Answer?)])
  func lines(line: String, answer: Answer?) {
    let effects = Self.effects(of: [.ask(7), .line(line)])
    #expect(effects[0] == Self.shown(7))
    #expect(effects[1] == answer.map { [.answer(7, $0)] } ?? Self.explanation)
  }

  @Test("a question mark explains, and the question stands")
  func help() {
    let effects = Self.effects(of: [.ask(1), .line("?"), .line("y")])
    #expect(effects[1] == [.show(QuestionDesk.help), .prompt])
    #expect(effects[2] == [.answer(1, .approve)])
  }

  @Test("a second question waits for the first, and has less time left then")
  func queue() {
    let effects = Self.effects(of: [.ask(1), .ask(2), .ask(3), .line("n"), .line("y"), .line("n why")])
    #expect(effects[1] == [])
    #expect(effects[2] == [])
    #expect(effects[3] == [.answer(1, .veto(""))] + Self.shown(2, left: 8, more: "; 1 more waits"))
    #expect(effects[4] == [.answer(2, .approve)] + Self.shown(3, left: 8))
    #expect(effects[5] == [.answer(3, .veto("why"))])
  }

  @Test("all that wait are counted")
  func counted() {
    let effects = Self.effects(of: [.ask(1), .ask(2), .ask(3), .ask(4), .line("y")])
    #expect(effects[4] == [.answer(1, .approve)] + Self.shown(2, left: 7, more: "; 2 more wait"))
  }

  @Test("what is withdrawn disappears, and takes no answer from the next")
  func withdrawn() {
    let effects = Self.effects(of: [.ask(1), .ask(2), .withdraw(1), .line("y"), .line("n")])
    #expect(effects[2] == [.takeBack("withdrawn")] + Self.shown(2, left: 9))
    #expect(effects[3] == [.answer(2, .approve)])
    #expect(effects[4] == [.show("nothing is being asked\n")])
  }

  @Test("what is withdrawn while it waits is never shown")
  func withdrawnWaiting() {
    let effects = Self.effects(of: [.ask(1), .ask(2), .ask(3), .withdraw(2), .line("y"), .line("n")])
    #expect(effects[3] == [])
    #expect(effects[4] == [.answer(1, .approve)] + Self.shown(3, left: 8))
    #expect(effects[5] == [.answer(3, .veto(""))])
  }

  @Test("what nobody answered in time says so, and what was answered is withdrawn no more")
  func timedOut() {
    let effects = Self.effects(of: [.ask(1), .timeOut(1), .ask(2), .line("y"), .withdraw(2), .withdraw(9)])
    #expect(effects[1] == [.takeBack("timed out")])
    #expect(effects[3] == [.answer(2, .approve)])
    #expect(effects[4] == [])
    #expect(effects[5] == [])
  }

  @Test("lines without a question answer none")
  func unasked() {
    let effects = Self.effects(of: [.line("y"), .line(""), .ask(1), .line("n")])
    #expect(effects[0] == [.show("nothing is being asked\n")])
    #expect(effects[1] == [])
    #expect(effects[3] == [.answer(1, .veto(""))])
  }

  @Test("what is told meanwhile stands above the prompt")
  func told() {
    var desk = QuestionDesk()
    #expect(desk.tell("x") == [.show("x\n")])
    _ = desk.ask(.init(ticket: 1, text: "", end: .seconds(5)), at: .zero)
    #expect(desk.tell("x") == [.show("\nx\n"), .prompt])
    #expect(desk.read("y", at: .zero) == [.answer(1, .approve)])
  }

  @Test("what is open at the end has failed, and so has what comes later")
  func end() {
    let effects = Self.effects(of: [.ask(1), .ask(2), .end, .ask(3), .line("y")])
    #expect(effects[2] == [.takeBack("not answered"), .answer(1, Self.failed), .answer(2, Self.failed)])
    #expect(effects[3] == [.answer(3, Self.failed)])
    #expect(effects[4] == [.show("nothing is being asked\n")])
    #expect(Self.effects(of: [.end]) == [[]])
  }

  @Test("time that is over is no time, and less than a second is not rounded")
  func timeLeft() {
    var desk = QuestionDesk()
    _ = desk.ask(.init(ticket: 1, text: "", end: .seconds(5)), at: .zero)
    _ = desk.ask(.init(ticket: 2, text: "", end: .seconds(5)), at: .zero)
    _ = desk.ask(.init(ticket: 3, text: "", end: .milliseconds(6200)), at: .zero)
    #expect(desk.read("y", at: .seconds(6)).contains(.show("  0 to answer; 1 more waits\n")))
    #expect(desk.read("y", at: .seconds(6)).contains(.show("  200ms to answer\n")))
  }
}

@Suite("Lines from pieces", .timeLimit(.minutes(15)))
struct LineBufferTests {
  private static func lines(_ pieces: [String], limit: Int = 100) -> [String] {
    var buffer = LineBuffer(limit: limit)
    var lines = pieces.flatMap { buffer.append(Array($0.utf8)) }
    if let last = buffer.finish() { lines.append(last) }
    #expect(buffer.finish() == nil)
    return lines.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(
    "no line is lost or joined, however the input comes",
    arguments: [
      ([], []), ([""], []), (["\n"], [""]), (["a"], ["a"]), (["a\n"], ["a"]), (["a\nb\n"], ["a", "b"]),
      (["a", "b", "\n", "c"], ["ab", "c"]), (["a\n\n", "\nb"], ["a", "", "", "b"]), (["ä\nö\n"], ["ä", "ö"]),
    ] as [([String], [String])])
  func pieces(pieces: [String], lines: [String]) {
    #expect(Self.lines(pieces) == lines)
    let bytewise = pieces.joined().utf8.map { [$0] }
    var buffer = LineBuffer(limit: 100)
    var got = bytewise.flatMap { buffer.append($0) }
    if let last = buffer.finish() { got.append(last) }
    #expect(got == lines.map { Array($0.utf8) })
  }

  @Test("of a line that is too long the start is kept, and the next is whole")
  func long() {
    #expect(Self.lines(["abcdef\ngh\n"], limit: 4) == ["abcd", "gh"])
    #expect(Self.lines(["abc", "def", "gh\nij"], limit: 4) == ["abcd", "ij"])
    #expect(Self.lines(["abcdef"], limit: 4) == ["abcd"])
  }
}
