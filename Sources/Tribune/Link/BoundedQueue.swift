// SPDX-License-Identifier: Apache-2.0

/// What can stand in a queue for elements that were dropped.
protocol LossReporting: Sendable {
  static func lost(_ count: Int) -> Self
  /// How many were dropped, when this is what the element tells.
  var lostCount: Int? { get }
  /// Bytes of payload that the element holds.
  var byteCount: Int { get }
  /// Whether somebody waits for what its reader makes of it.
  var isAwaited: Bool { get }
  /// Tells whoever waits that nobody will read it.
  func noteUnread()
}

extension LossReporting {
  var isAwaited: Bool { false }
  func noteUnread() {}
}

/// Elements that wait for a reader who may be slow.
///
/// It holds at most so many elements, and at most so many bytes of payload, but for the newest element,
/// which it always holds. Past either limit the oldest elements go, so that what is missing always lies
/// before all that is held: one number at the head tells of it.
struct BoundedQueue<Element: LossReporting> {
  /// Bytes of payload, in all elements that are held.
  static var byteLimit: Int { 64 << 20 }

  private let limit: Int
  private var held = Ring<Element>()
  private var heldBytes = 0
  /// Dropped before the first that is held.
  private var lost = 0

  init(limit: Int) { self.limit = max(limit, 1) }

  /// - Returns: what was dropped and is awaited, which is to be told once no lock is held.
  mutating func append(_ element: Element) -> [Element] {
    var unread: [Element] = []
    heldBytes += element.byteCount
    while held.count == limit || heldBytes > Self.byteLimit, let oldest = held.popFirst() {
      heldBytes -= oldest.byteCount
      let (sum, isTooMany) = lost.addingReportingOverflow(oldest.lostCount ?? 1)
      lost = isTooMany ? .max : sum
      if oldest.isAwaited { unread.append(oldest) }
    }
    held.append(element)
    return unread
  }

  mutating func popFirst() -> Element? {
    if lost > 0 {
      defer { lost = 0 }
      return .lost(lost)
    }
    guard let element = held.popFirst() else { return nil }
    heldBytes -= element.byteCount
    return element
  }
}

/// A queue in an array that wraps around.
struct Ring<Element> {
  private var places: [Element?] = []
  private var start = 0
  private(set) var count = 0

  mutating func append(_ element: Element) {
    if count == places.count { grow() }
    var end = start + count
    if end >= places.count { end -= places.count }
    places[end] = element
    count += 1
  }

  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    defer {
      places[start] = nil
      start = start + 1 == places.count ? 0 : start + 1
      count -= 1
    }
    return places[start]
  }

  private mutating func grow() {
    var grown: [Element?] = []
    grown.reserveCapacity(max(8, count * 2))
    grown.append(contentsOf: places[start...])
    grown.append(contentsOf: places[..<start])
    grown.append(contentsOf: repeatElement(nil, count: max(8, count * 2) - count))
    places = grown
    start = 0
  }
}
