// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// The client's side of a delegate's attachment, with the deliveries that wait for the delegate.
///
/// The delegate receives one notification at a time. A notification waits until all questions that arrived
/// before the notification have reached the delegate. Questions do not wait for notifications. This class
/// resumes waiting calls only after it has unlocked `state`.
final class AttachedDelegate: Sendable {
  private enum Item: LossReporting {
    case delivery(Delivery, behind: UInt64)
    case replaced(DelegateInfo, behind: UInt64)

    static func lost(_ count: Int) -> Item { .delivery(.lost(count), behind: 0) }
    static var interrupted: Item { .delivery(.interrupted, behind: 0) }

    var lostCount: Int? {
      if case .delivery(let delivery, _) = self { delivery.lostCount } else { nil }
    }

    var isInterrupted: Bool {
      if case .delivery(.interrupted, _) = self { true } else { false }
    }

    var byteCount: Int {
      if case .delivery(let delivery, _) = self { delivery.byteCount } else { 0 }
    }

    /// The number of the last question that arrived before the item (`numberQuestion()`).
    var behind: UInt64 {
      switch self {
      case .delivery(_, let behind), .replaced(_, let behind): behind
      }
    }
  }

  private struct State {
    static let itemsMax = 4096

    var items = BoundedQueue<Item>(limit: State.itemsMax)
    /// The deliveries behind the position that `reservePosition()` reserved for a loss report; nil without a
    /// reserved position.
    var behind: BoundedQueue<Item>?
    var isDelivering = false
    var isOver = false
    var lastQuestion: UInt64 = 0
    var unstarted: Set<UInt64> = []
    var waiting: (number: UInt64, continuation: CheckedContinuation<Void, Never>)?

    func hasStarted(upTo number: UInt64) -> Bool { !unstarted.contains { $0 <= number } }
  }

  weak let delegate: (any Delegate)?
  let id = Atomic<UInt64>(0)
  /// The fields for renewing the attachment. A renewal never replaces other delegates, not even after `set`.
  let renewal: Attach
  let object: String
  private let patterns: [Pattern]
  let receivesNotifications: Bool
  /// Called if the policy ends the attachment, or if the bus refuses to renew the attachment. If `onRefusal`
  /// is nil, the connection ends in these cases.
  let onRefusal: (@Sendable (TribuneError) -> Void)?
  private let state = Mutex(State())

  init(
    _ delegate: any Delegate, object: String, patterns: [Pattern], renewal: Attach,
    onRefusal: (@Sendable (TribuneError) -> Void)? = nil
  ) {
    self.delegate = delegate
    self.onRefusal = onRefusal
    self.renewal = renewal
    self.object = object
    self.patterns = patterns
    receivesNotifications = patterns.contains(where: \.matchesWillOrDid)
  }

  func receives(name: String, object: String) -> Bool {
    guard receivesNotifications,
      object.isEmpty || self.object.isEmpty || ExactText(self.object) == ExactText(object)
    else { return false }
    return patterns.contains { $0.matches(name.utf8Bytes) }
  }

  // MARK: Delivering

  /// If this method, `replace` or `fillPosition` returns true, the caller must schedule `startDelivering()`.
  func deliver(_ delivery: Delivery) -> Bool {
    enqueue { .delivery(delivery, behind: $0) }
  }

  func replace(by info: DelegateInfo) -> Bool {
    // After the replacement, the link does not fill a position that this delegate has reserved. This line
    // fills the position, so that the delegate still gets the items behind it.
    let starts = state.withLock { $0.behind != nil } && fillPosition(with: [.interrupted])
    return enqueue { .replaced(info, behind: $0) } || starts
  }

  func startDelivering() {
    Task.immediate { await deliverAll() }
  }

  /// Reserves a position for a loss report, behind all deliveries. Later deliveries wait behind the position
  /// until `fillPosition`. If a position is already reserved, drops the deliveries behind that position,
  /// because the link counts them as missed.
  func reservePosition() {
    state.withLock { $0.behind = BoundedQueue(limit: State.itemsMax) }
  }

  /// Delivers `reports` at the reserved position; without a reserved position, behind all deliveries.
  func fillPosition(with reports: [Delivery]) -> Bool {
    state.withLock { state -> Bool in
      var behind = state.behind
      state.behind = nil
      guard !state.isOver else { return false }
      var added = false
      var reports = reports[...]
      while let item = reports.popFirst().map({ .delivery($0, behind: state.lastQuestion) })
        ?? behind?.popFirst()
      {
        state.items.append(item)
        added = true
      }
      guard added else { return false }
      defer { state.isDelivering = true }
      return !state.isDelivering
    }
  }

  func end() {
    state.withLock { $0.isOver = true }
  }

  private func enqueue(_ item: (UInt64) -> Item) -> Bool {
    state.withLock { state -> Bool in
      guard !state.isOver else { return false }
      if state.behind != nil {
        state.behind?.append(item(state.lastQuestion))
        return false
      }
      state.items.append(item(state.lastQuestion))
      defer { state.isDelivering = true }
      return !state.isDelivering
    }
  }

  private func deliverAll() async {
    while let item = nextItem() {
      await waitForQuestions(upTo: item.behind)
      guard let delegate else {
        end()
        continue
      }
      switch item {
      case .delivery(let delivery, _): await delegate.received(delivery)
      case .replaced(let info, _): await delegate.replaced(by: info)
      }
    }
  }

  private func nextItem() -> Item? {
    state.withLock { state in
      if !state.isOver, let item = state.items.popFirst() { return item }
      state.isDelivering = false
      return nil
    }
  }

  private func waitForQuestions(upTo number: UInt64) async {
    if state.withLock({ $0.hasStarted(upTo: number) }) { return }
    await withCheckedContinuation { continuation in
      let hasStarted = state.withLock { state -> Bool in
        if state.hasStarted(upTo: number) { return true }
        state.waiting = (number, continuation)
        return false
      }
      if hasStarted { continuation.resume() }
    }
  }

  // MARK: Questions

  /// Numbers a question. Later notifications refer to the number, because they wait until the question has
  /// reached the delegate. Returns nil if the delegate receives no notifications.
  func numberQuestion() -> UInt64? {
    guard receivesNotifications else { return nil }
    return state.withLock { state in
      state.lastQuestion += 1
      state.unstarted.insert(state.lastQuestion)
      return state.lastQuestion
    }
  }

  func markStarted(_ number: UInt64) {
    let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.unstarted.remove(number)
      guard let waiting = state.waiting, state.hasStarted(upTo: waiting.number) else { return nil }
      state.waiting = nil
      return waiting.continuation
    }
    continuation?.resume()
  }
}
