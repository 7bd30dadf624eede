// SPDX-License-Identifier: Apache-2.0

import TribuneWire

protocol LossReporting: Sendable {
  static func lost(_ count: Int) -> Self
  static var interrupted: Self { get }
  var lostCount: Int? { get }
  var isInterrupted: Bool { get }
  var byteCount: Int { get }
}

/// A queue of a delegate's notifications, with a limit of elements and a limit of payload bytes.
///
/// A full queue drops its oldest elements, never the newest. After a drop, `popFirst()` first returns a
/// `lost` with the number of dropped notifications. If the queue has dropped an `interrupted`, `popFirst()`
/// then returns an `interrupted`, before the remaining elements.
struct BoundedQueue<Element: LossReporting> {
  static var byteLimit: Int { 64 << 20 }

  private let limit: Int
  private var elements = Ring<Element>()
  private var byteCount = 0
  private var lost = 0
  private var isLossUnknown = false

  init(limit: Int) { self.limit = max(limit, 1) }

  mutating func append(_ element: Element) {
    byteCount += element.byteCount
    while elements.count == limit || byteCount > Self.byteLimit, let oldest = elements.popFirst() {
      byteCount -= oldest.byteCount
      if oldest.isInterrupted {
        isLossUnknown = true
      } else {
        lost = lost.saturatingAdding(oldest.lostCount ?? 1)
      }
    }
    elements.append(element)
  }

  mutating func popFirst() -> Element? {
    if lost > 0 {
      defer { lost = 0 }
      return .lost(lost)
    }
    if isLossUnknown {
      isLossUnknown = false
      return .interrupted
    }
    guard let element = elements.popFirst() else { return nil }
    byteCount -= element.byteCount
    return element
  }
}

struct Ring<Element> {
  private var slots: [Element?] = []
  private var start = 0
  private(set) var count = 0

  private var end: Int { start + count < slots.count ? start + count : start + count - slots.count }

  var last: Element? {
    get { count > 0 ? slots[end == 0 ? slots.count - 1 : end - 1] : nil }
    set { slots[end == 0 ? slots.count - 1 : end - 1] = newValue }
  }

  mutating func append(_ element: Element) {
    if count == slots.count { grow() }
    slots[end] = element
    count += 1
  }

  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    defer {
      slots[start] = nil
      start = start + 1 == slots.count ? 0 : start + 1
      count -= 1
    }
    return slots[start]
  }

  private mutating func grow() {
    var grown: [Element?] = []
    grown.reserveCapacity(max(8, count * 2))
    grown.append(contentsOf: slots[start...])
    grown.append(contentsOf: slots[..<start])
    grown.append(contentsOf: repeatElement(nil, count: max(8, count * 2) - count))
    slots = grown
    start = 0
  }
}
