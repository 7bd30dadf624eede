// SPDX-License-Identifier: Apache-2.0

import Tribune

/// The questions that a person at a terminal answers one by one. This type does no I/O.
///
/// Each typed line answers the first question. When another question becomes the first, input that was typed
/// before is discarded, because it was for the previous one. The asking users take turns, one question each.
struct QuestionQueue: Sendable {
  typealias Ticket = Int

  struct Entry: Sendable {
    /// Identifies the entry. A ticket is never used again.
    var ticket: Ticket
    var user: UInt32
    /// Complete lines, each with a line feed.
    var text: String
    var end: Duration
  }

  enum Effect: Equatable, Sendable {
    /// Show this text, which ends in a line feed.
    case show(String)
    case prompt
    /// Discard the typed input: the user typed it before the next question was shown.
    case discardTyped
    /// Discard the typed input, and replace the prompt and the typed line by this text.
    case takeBack(String)
    case answer(Ticket, Answer)
  }

  enum Withdrawal: String, Sendable {
    case withdrawn
    case timedOut = "timed out"
  }

  static let prompt = "Allow it? [y, n, n REASON, ?] "
  static let help = """
      y         approve
      n         veto
      n REASON  veto, with this reason
    If a question is not answered in time, or is open when the delegate ends, --on-failure decides.

    """

  /// How long a person takes to notice that another question has replaced the first one.
  private static let reading = Duration.milliseconds(500)

  private var queue: [(entry: Entry, round: Int)] = []
  /// Answers before this time are refused, because they can be meant for a question that was withdrawn.
  private var readableAt = Duration.zero
  private var hasEnded = false

  mutating func ask(_ entry: Entry, at now: Duration) -> [Effect] {
    if hasEnded { return [.answer(entry.ticket, Self.unanswered)] }
    let current = queue.first?.round ?? 0
    let own = queue.last { $0.entry.user == entry.user }?.round
    let round = own.map { $0 + 1 } ?? current
    queue.insert((entry, round), at: queue.firstIndex { $0.round > round } ?? queue.count)
    return queue.count == 1 ? showFirst(at: now) : []
  }

  mutating func withdraw(_ ticket: Ticket, _ why: Withdrawal, at now: Duration) -> [Effect] {
    guard let place = queue.firstIndex(where: { $0.entry.ticket == ticket }) else { return [] }
    queue.remove(at: place)
    if place == 0 { readableAt = now + Self.reading }
    return place == 0 ? [.takeBack(why.rawValue)] + showFirst(at: now) : []
  }

  mutating func read(_ line: String, at now: Duration) -> [Effect] {
    let words = line.trimmed
    guard let first = queue.first?.entry else { return words.isEmpty ? [] : [.show("no question is open\n")] }
    guard now >= readableAt else { return [.show("the question has changed: answer again\n"), .prompt] }
    guard let answer = Self.answer(in: words) else {
      return [
        .show(words == "?" ? Self.help : "answer \"y\", \"n\" or \"n REASON\"; \"?\" shows help\n"), .prompt,
      ]
    }
    queue.removeFirst()
    return [.answer(first.ticket, answer)] + (queue.isEmpty ? [] : [.discardTyped]) + showFirst(at: now)
  }

  func show(_ line: String) -> [Effect] {
    queue.isEmpty ? [.show(line + "\n")] : [.show("\n\(line)\n"), .prompt]
  }

  mutating func end() -> [Effect] {
    hasEnded = true
    let open = queue
    queue = []
    return (open.isEmpty ? [] : [.takeBack("not answered")])
      + open.map { .answer($0.entry.ticket, Self.unanswered) }
  }

  private static let unanswered = Answer.failed("the delegate at the terminal has ended")

  private static func answer(in words: String) -> Answer? {
    if words == "y" { return .approve }
    if words == "n" { return .veto("") }
    guard words.first == "n", words.dropFirst().first?.isWhitespace == true else { return nil }
    return .veto(String(words.dropFirst()).trimmed)
  }

  private func showFirst(at now: Duration) -> [Effect] {
    guard let first = queue.first?.entry else { return [] }
    let left = max(.zero, first.end - now).roundedToSeconds
    let others = queue.count == 1 ? "" : "; \(queue.count - 1) more wait\(queue.count == 2 ? "s" : "")"
    return [.show("\(first.text)  \(left.formatted) to answer\(others)\n"), .prompt]
  }
}

extension Duration {
  var roundedToSeconds: Duration {
    self < .seconds(1) ? self : .seconds((self + .milliseconds(500)).components.seconds)
  }
}
