// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// A delegate's attachment on this side: who it is, and what it has still to be told.
///
/// Notifications are told one at a time and in order, and each only once the questions before it have reached
/// the delegate; questions wait for nothing. Who tells is a task that lives for as long as there is something
/// to tell; it starts on the link's thread, as questions do. The lock inside is taken for moments, and nothing is
/// resumed under it.
final class AttachedDelegate: Sendable {
  /// What waits to be told.
  private enum News: LossReporting {
    case delivery(Delivery, behind: UInt64)
    case replaced(DelegateInfo, behind: UInt64)

    static func lost(_ count: Int) -> News { .delivery(.lost(count), behind: 0) }

    var lostCount: Int? {
      if case .delivery(let delivery, _) = self { delivery.lostCount } else { nil }
    }

    var byteCount: Int {
      if case .delivery(let delivery, _) = self { delivery.byteCount } else { 0 }
    }

    /// The last question that came before it.
    var behind: UInt64 {
      switch self {
      case .delivery(_, let behind), .replaced(_, let behind): behind
      }
    }
  }

  private struct State {
    static let newsMax = 4096

    var news = BoundedQueue<News>(limit: State.newsMax)
    /// What comes behind a place that is kept for what is to be told there; nil while none is.
    var behind: BoundedQueue<News>?
    /// A task is telling.
    var isTelling = false
    /// The attachment is over: what is left is not told.
    var isOver = false
    /// Questions are numbered as they come.
    var lastQuestion: UInt64 = 0
    /// Those that have not reached the delegate yet.
    var unstarted: Set<UInt64> = []
    /// Who tells, while it waits for all questions up to that one to have started.
    var waiting: (number: UInt64, teller: CheckedContinuation<Void, Never>)?

    func hasStarted(upTo number: UInt64) -> Bool { !unstarted.contains { $0 <= number } }
  }

  weak let delegate: (any Delegate)?
  /// The delegate's id, which is another over another connection.
  let id = Atomic<UInt64>(0)
  /// The frame that attaches it again: beside whoever is there, though it was set.
  let renewal: [UInt8]
  private let object: String
  private let patterns: [Pattern]
  /// Whether there is a name under which it is told of what happens.
  let receivesNotifications: Bool
  private let state = Mutex(State())

  init(_ delegate: any Delegate, object: String, patterns: [Pattern], renewal: [UInt8]) {
    self.delegate = delegate
    self.renewal = renewal
    self.object = object
    self.patterns = patterns
    receivesNotifications = patterns.contains(where: \.matchesWillOrDid)
  }

  /// Whether it is told of a notification, whose name announces or reports something.
  func receives(name: String, object: String) -> Bool {
    guard receivesNotifications, self.object.isEmpty || self.object == object else { return false }
    return patterns.contains { $0.matches(name.utf8Bytes) }
  }

  // MARK: Telling

  /// - Returns: whether a task has to be started that tells.
  func deliver(_ delivery: Delivery) -> Bool {
    tell { .delivery(delivery, behind: $0) }
  }

  /// Tells that another delegate has taken its place, which is the last that it is told.
  ///
  /// - Returns: whether a task has to be started that tells.
  func replace(by info: DelegateInfo) -> Bool {
    tell { .replaced(info, behind: $0) }
  }

  /// Starts the task that tells, here and now.
  func startTelling() {
    Task.immediate { await tellAll() }
  }

  /// From now on, what is delivered waits behind this place, until it is known what is to be told here. What waits
  /// behind a place that was kept before is dropped.
  func keepPlace() {
    state.withLock { $0.behind = BoundedQueue(limit: State.newsMax) }
  }

  /// Tells what there is to tell in the place that was kept, or now if none was, and then what waits behind it.
  ///
  /// - Returns: whether a task has to be started that tells.
  func fillPlace(with words: [Delivery]) -> Bool {
    state.withLock { state -> Bool in
      var behind = state.behind
      state.behind = nil
      guard !state.isOver else { return false }
      var added = false
      var words = words[...]
      while let news = words.popFirst().map({ .delivery($0, behind: state.lastQuestion) })
        ?? behind?.popFirst()
      {
        _ = state.news.append(news)
        added = true
      }
      guard added else { return false }
      defer { state.isTelling = true }
      return !state.isTelling
    }
  }

  /// Tells nothing more.
  func end() {
    state.withLock { $0.isOver = true }
  }

  private func tell(_ news: (UInt64) -> News) -> Bool {
    state.withLock { state -> Bool in
      guard !state.isOver else { return false }
      // What delegates are told is never awaited.
      if state.behind != nil {
        _ = state.behind?.append(news(state.lastQuestion))
        return false
      }
      _ = state.news.append(news(state.lastQuestion))
      defer { state.isTelling = true }
      return !state.isTelling
    }
  }

  private func tellAll() async {
    while let news = nextNews() {
      await questionsStart(upTo: news.behind)
      guard let delegate else {
        end()
        continue
      }
      switch news {
      case .delivery(let delivery, _): await delegate.received(delivery)
      case .replaced(let info, _): await delegate.replaced(by: info)
      }
    }
  }

  private func nextNews() -> News? {
    state.withLock { state in
      if !state.isOver, let news = state.news.popFirst() { return news }
      state.isTelling = false
      return nil
    }
  }

  private func questionsStart(upTo number: UInt64) async {
    if state.withLock({ $0.hasStarted(upTo: number) }) { return }
    await withCheckedContinuation { teller in
      let hasStarted = state.withLock { state -> Bool in
        if state.hasStarted(upTo: number) { return true }
        state.waiting = (number, teller)
        return false
      }
      if hasStarted { teller.resume() }
    }
  }

  // MARK: Questions

  /// A question has come, which notifications behind it are not to overtake.
  ///
  /// - Returns: its number; nil when there are no notifications that could.
  func noteQuestion() -> UInt64? {
    guard receivesNotifications else { return nil }
    return state.withLock { state in
      state.lastQuestion += 1
      state.unstarted.insert(state.lastQuestion)
      return state.lastQuestion
    }
  }

  /// A question is at the delegate, or in its actor's queue.
  func noteStart(of number: UInt64) {
    let teller = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.unstarted.remove(number)
      guard let waiting = state.waiting, state.hasStarted(upTo: waiting.number) else { return nil }
      state.waiting = nil
      return waiting.teller
    }
    teller?.resume()
  }
}
