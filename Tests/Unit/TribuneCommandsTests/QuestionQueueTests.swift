// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneCommands

@Suite("Questions at the terminal", .timeLimit(.minutes(15)))
struct QuestionQueueTests {
  enum Event: Sendable {
    case ask(Int, by: UInt32 = 0)
    case line(String)
    case withdraw(Int)
    case timeOut(Int)
    case end
  }

  private static func shown(
    _ ticket: Int, left: Int = 10, more: String = "", after effect: QuestionQueue.Effect? = nil
  ) -> [QuestionQueue.Effect] {
    let shown: [QuestionQueue.Effect] = [.show("question \(ticket)\n  \(left)s to answer\(more)\n"), .prompt]
    guard let effect else { return shown }
    if case .answer = effect { return [effect, .discardTyped] + shown }
    return [effect] + shown
  }

  private static let failed = Answer.failed("the delegate at the terminal has ended")
  private static let explanation: [QuestionQueue.Effect] = [
    .show("answer \"y\", \"n\" or \"n REASON\"; \"?\" shows help\n"), .prompt,
  ]

  private static func effects(of events: [Event]) -> [[QuestionQueue.Effect]] {
    var questions = QuestionQueue()
    return events.enumerated().map { second, event in
      let now = Duration.seconds(second)
      return switch event {
      case .ask(let ticket, let user):
        questions.ask(
          .init(ticket: ticket, user: user, text: "question \(ticket)\n", end: now + .seconds(10)), at: now)
      case .line(let line): questions.read(line, at: now)
      case .withdraw(let ticket): questions.withdraw(ticket, .withdrawn, at: now)
      case .timeOut(let ticket): questions.withdraw(ticket, .timedOut, at: now)
      case .end: questions.end()
      }
    }
  }

  @Test("an answer that comes right after its question was withdrawn does not answer the next one")
  func hasty() {
    var questions = QuestionQueue()
    for ticket in [1, 2] {
      _ = questions.ask(
        .init(ticket: ticket, user: 0, text: "question \(ticket)\n", end: .seconds(10)), at: .zero)
    }
    _ = questions.withdraw(1, .timedOut, at: .seconds(1))
    #expect(
      questions.read("y", at: .milliseconds(1_499)) == [
        .show("the question has changed: answer again\n"), .prompt,
      ])
    #expect(questions.read("y", at: .milliseconds(1_500)) == [.answer(2, .approve)])
  }

  @Test(
    "a line is an answer, or the question is repeated",
    arguments: [
      ("y", .approve), (" y ", .approve), ("n", .veto("")), ("n ", .veto("")),
      ("n not now", .veto("not now")), ("n\tyet\t", .veto("yet")), ("n  n", .veto("n")),
      ("n nö\u{1B}", .veto("nö\u{1B}")), ("", nil), (" ", nil), ("yes", nil), ("no", nil), ("Y", nil),
      ("y n", nil), ("x", nil), ("ny", nil),
    ] as [(String, Answer?)])
  func lines(line: String, answer: Answer?) {
    let effects = Self.effects(of: [.ask(7), .line(line)])
    #expect(effects[0] == Self.shown(7))
    #expect(effects[1] == answer.map { [.answer(7, $0)] } ?? Self.explanation)
  }

  private static let conversations: [(promise: String, events: [Event], effects: [[QuestionQueue.Effect]])] =
    [
      (
        "a question mark explains, and the question stays", [.ask(1), .line("?"), .line("y")],
        [shown(1), [.show(QuestionQueue.help), .prompt], [.answer(1, .approve)]]
      ),
      (
        "a second question waits for the first, and has less time left then",
        [.ask(1), .ask(2), .ask(3), .line("n"), .line("y"), .line("n why")],
        [
          shown(1), [], [], shown(2, left: 8, more: "; 1 more waits", after: .answer(1, .veto(""))),
          shown(3, left: 8, after: .answer(2, .approve)), [.answer(3, .veto("why"))],
        ]
      ),
      (
        "all waiting questions are counted", [.ask(1), .ask(2), .ask(3), .ask(4), .line("y")],
        [shown(1), [], [], [], shown(2, left: 7, more: "; 2 more wait", after: .answer(1, .approve))]
      ),
      (
        "the users who ask take turns",
        [
          .ask(1, by: 1), .ask(2, by: 1), .ask(3, by: 1), .ask(4, by: 2), .line("y"), .ask(5, by: 2),
          .ask(6, by: 3), .line("y"), .line("y"), .line("y"), .line("y"), .line("y"),
        ],
        [
          shown(1), [], [], [], shown(4, left: 9, more: "; 2 more wait", after: .answer(1, .approve)), [], [],
          shown(6, left: 9, more: "; 3 more wait", after: .answer(4, .approve)),
          shown(2, left: 3, more: "; 2 more wait", after: .answer(6, .approve)),
          shown(5, left: 6, more: "; 1 more waits", after: .answer(2, .approve)),
          shown(3, left: 2, after: .answer(5, .approve)), [.answer(3, .approve)],
        ]
      ),
      (
        "a withdrawn question disappears, and takes no answer from the next",
        [.ask(1), .ask(2), .withdraw(1), .line("y"), .line("n")],
        [
          shown(1), [], shown(2, left: 9, after: .takeBack("withdrawn")), [.answer(2, .approve)],
          [.show("no question is open\n")],
        ]
      ),
      (
        "a question that is withdrawn while it waits is never shown",
        [.ask(1), .ask(2), .ask(3), .withdraw(2), .line("y"), .line("n")],
        [shown(1), [], [], [], shown(3, left: 8, after: .answer(1, .approve)), [.answer(3, .veto(""))]]
      ),
      (
        "a question that timed out says so, and an answered one cannot be withdrawn",
        [.ask(1), .timeOut(1), .ask(2), .line("y"), .withdraw(2), .withdraw(9)],
        [shown(1), [.takeBack("timed out")], shown(2), [.answer(2, .approve)], [], []]
      ),
      (
        "a line without a question answers none", [.line("y"), .line(""), .ask(1), .line("n")],
        [[.show("no question is open\n")], [], shown(1), [.answer(1, .veto(""))]]
      ),
      (
        "open questions fail at the end, and so do later ones",
        [.ask(1), .ask(2), .end, .ask(3), .line("y")],
        [
          shown(1), [], [.takeBack("not answered"), .answer(1, failed), .answer(2, failed)],
          [.answer(3, failed)], [.show("no question is open\n")],
        ]
      ),
      ("an end without a question changes nothing", [.end], [[]]),
    ]

  @Test("questions are answered in order", arguments: conversations)
  func conversation(promise: String, events: [Event], effects: [[QuestionQueue.Effect]]) {
    #expect(Self.effects(of: events) == effects, "\(promise)")
  }

  @Test("a message that arrives meanwhile is shown above the prompt")
  func told() {
    var questions = QuestionQueue()
    #expect(questions.show("x") == [.show("x\n")])
    _ = questions.ask(.init(ticket: 1, user: 0, text: "", end: .seconds(5)), at: .zero)
    #expect(questions.show("x") == [.show("\nx\n"), .prompt])
    #expect(questions.read("y", at: .zero) == [.answer(1, .approve)])
  }

  @Test("no time is left after the deadline, and less than a second is not rounded")
  func timeLeft() {
    var questions = QuestionQueue()
    _ = questions.ask(.init(ticket: 1, user: 0, text: "", end: .seconds(5)), at: .zero)
    _ = questions.ask(.init(ticket: 2, user: 0, text: "", end: .seconds(5)), at: .zero)
    _ = questions.ask(.init(ticket: 3, user: 0, text: "", end: .milliseconds(6200)), at: .zero)
    #expect(questions.read("y", at: .seconds(6)).contains(.show("  0 to answer; 1 more waits\n")))
    #expect(questions.read("y", at: .seconds(6)).contains(.show("  200ms to answer\n")))
  }
}

@Suite("Lines from pieces", .timeLimit(.minutes(15)))
struct LineBufferTests {
  private static func lines(_ pieces: [[UInt8]], limit: Int = 100) -> [String] {
    var buffer = LineBuffer(limit: limit)
    var lines = pieces.flatMap { buffer.append($0) }
    if let last = buffer.finish() { lines.append(last) }
    #expect(buffer.finish() == nil)
    return lines.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(
    "no line is lost or joined, wherever the input is split",
    arguments: [
      ([], []), ([""], []), (["\n"], [""]), (["a"], ["a"]), (["a\n"], ["a"]), (["a\nb\n"], ["a", "b"]),
      (["a", "b", "\n", "c"], ["ab", "c"]), (["a\n\n", "\nb"], ["a", "", "", "b"]), (["ä\nö\n"], ["ä", "ö"]),
    ] as [([String], [String])])
  func pieces(pieces: [String], lines: [String]) {
    #expect(Self.lines(pieces.map { Array($0.utf8) }) == lines)
    #expect(Self.lines(pieces.joined().utf8.map { [$0] }) == lines)
  }

  @Test(
    "only the start of a line that is too long is kept, and the next line is whole",
    arguments: [
      (["abcdef\ngh\n"], ["abcd", "gh"]), (["abc", "def", "gh\nij"], ["abcd", "ij"]), (["abcdef"], ["abcd"]),
    ])
  func long(pieces: [String], lines: [String]) {
    #expect(Self.lines(pieces.map { Array($0.utf8) }, limit: 4) == lines)
  }
}
