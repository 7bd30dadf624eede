// SPDX-License-Identifier: Apache-2.0

import Tribune

/// The questions that somebody at a terminal answers, one after the other. Questions and lines go in; what
/// to show and what to answer comes out.
///
/// The first of the queue is on the screen, with a prompt behind it, and a line that is read is about that
/// one alone. So a question that goes takes what was typed for it along, and no answer meets the next.
struct QuestionDesk: Sendable {
  typealias Ticket = Int

  struct Entry: Sendable {
    /// What it is known by here; no other has it.
    var ticket: Ticket
    /// Who asks, and what for: lines, each with its end.
    var text: String
    /// When an answer is too late, on the clock of `now`.
    var end: Duration
  }

  enum Effect: Equatable, Sendable {
    /// Write these lines; the cursor is at the start of one.
    case show(String)
    /// Ask for a line.
    case prompt
    /// Put these words in the place of the prompt and of what was typed behind it, and forget what was
    /// typed and not read.
    case takeBack(String)
    case answer(Ticket, Answer)
  }

  /// Why a question needs no answer any more.
  enum Withdrawal: String, Sendable {
    case withdrawn
    case timedOut = "timed out"
  }

  static let prompt = "Allow it? [y, n, n REASON, ?] "
  static let help = """
      y         yes, as far as this delegate is concerned
      n         no
      n REASON  no, and why
    What is not answered in time counts as --on-failure says, and so does what is open when this ends.

    """

  private var queue: [Entry] = []
  private var hasEnded = false

  mutating func ask(_ entry: Entry, at now: Duration) -> [Effect] {
    if hasEnded { return [.answer(entry.ticket, Self.unanswered)] }
    queue.append(entry)
    return queue.count == 1 ? showFirst(at: now) : []
  }

  /// A question needs no answer any more; one that has its answer already is left alone.
  mutating func withdraw(_ ticket: Ticket, _ why: Withdrawal, at now: Duration) -> [Effect] {
    guard let place = queue.firstIndex(where: { $0.ticket == ticket }) else { return [] }
    queue.remove(at: place)
    return place == 0 ? [.takeBack(why.rawValue)] + showFirst(at: now) : []
  }

  /// Takes a line, without its end.
  mutating func read(_ line: String, at now: Duration) -> [Effect] {
    let words = line.trimmed
    guard let first = queue.first else {
      return words.isEmpty ? [] : [.show("nothing is being asked\n")]
    }
    guard let answer = Self.answer(in: words) else {
      return [.show(words == "?" ? Self.help : "\"y\", \"n\" or \"n REASON\"; \"?\" explains\n"), .prompt]
    }
    queue.removeFirst()
    return [.answer(first.ticket, answer)] + showFirst(at: now)
  }

  /// Something is to be shown that is no question; one that is on the screen is prompted for again.
  func tell(_ line: String) -> [Effect] {
    queue.isEmpty ? [.show(line + "\n")] : [.show("\n\(line)\n"), .prompt]
  }

  /// Nobody answers any more: what is open has failed.
  mutating func end() -> [Effect] {
    hasEnded = true
    let open = queue
    queue = []
    return (open.isEmpty ? [] : [.takeBack("not answered")])
      + open.map { .answer($0.ticket, Self.unanswered) }
  }

  private static let unanswered = Answer.failed("nobody is at the terminal any more")

  private static func answer(in words: String) -> Answer? {
    if words == "y" { return .approve }
    if words == "n" { return .veto("") }
    guard words.first == "n", words.dropFirst().first?.isWhitespace == true else { return nil }
    return .veto(String(words.dropFirst()).trimmed)
  }

  private func showFirst(at now: Duration) -> [Effect] {
    guard let first = queue.first else { return [] }
    let left = max(.zero, first.end - now).roundedToSeconds
    let others = queue.count == 1 ? "" : "; \(queue.count - 1) more wait\(queue.count == 2 ? "s" : "")"
    return [.show("\(first.text)  \(left.inWords) to answer\(others)\n"), .prompt]
  }
}

extension Duration {
  /// To the nearest second, and what is less than a second as it is.
  var roundedToSeconds: Duration {
    self < .seconds(1) ? self : .seconds((self + .milliseconds(500)).components.seconds)
  }
}
