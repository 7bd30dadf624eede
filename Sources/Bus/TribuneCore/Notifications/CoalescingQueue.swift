// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A FIFO queue. A caller can also remove elements by key, such as those that a new element replaces.
///
/// A removed element leaves an empty entry, to which `numbers` can still refer. When most entries are empty,
/// the queue *compacts*: it drops the empty entries.
struct CoalescingQueue<Element> {
  private struct Entry {
    var element: Element
    var keys: [ExactText]
    var byteCount: Int
  }

  private static var emptyMin: Int { 64 }

  private let stagger: Int
  /// An entry is nil if its element was removed.
  private var entries: [Entry?] = []
  private var head = 0
  /// The number of `entries[0]`. Numbers are consecutive, and unique while the queue has elements.
  private var firstNumber = 0
  private var numbers: [ExactText: [Int]] = [:]

  private(set) var count = 0
  private(set) var byteCount = 0

  /// - Parameter number: queues with different numbers compact at different times. With equal numbers, the
  ///   buffers of connections that get the same notifications would all compact in one loop iteration.
  init(number: Int = 0) { stagger = number & 0xFF }

  var isEmpty: Bool { count == 0 }

  var first: Element? { isEmpty ? nil : entries[head]?.element }

  mutating func append(_ element: Element, keys: [ExactText], byteCount: Int) {
    compactIfDue()
    let number = firstNumber + entries.count
    entries.append(Entry(element: element, keys: keys, byteCount: byteCount))
    for key in keys { numbers[key, default: []].append(number) }
    count += 1
    self.byteCount += byteCount
  }

  mutating func popFirst() -> Element? { isEmpty ? nil : take(at: head)?.element }

  mutating func remove(under key: ExactText) -> [Element] {
    guard let found = numbers.removeValue(forKey: key) else { return [] }
    return found.compactMap { number in
      // When `take` removes the last element, it resets the queue, so the remaining numbers are invalid.
      guard !isEmpty, number >= firstNumber + head else { return nil }
      return take(at: number - firstNumber)?.element
    }
  }

  mutating func remove(where isRemoved: (Element) -> Bool) -> [Element] {
    var removed: [Element] = []
    // When `take` removes the last element, it also empties `entries`, so `place` is then invalid.
    for place in entries.indices where !isEmpty {
      guard let entry = entries[place], isRemoved(entry.element) else { continue }
      _ = take(at: place)
      removed.append(entry.element)
    }
    return removed
  }

  func visit(_ body: (Element, [ExactText]) -> Void) {
    for case let entry? in entries[(isEmpty ? entries.count : head)...] { body(entry.element, entry.keys) }
  }

  var placeCount: Int { max(entries.count, numbers.values.reduce(0) { $0 + $1.count }) }

  private mutating func take(at place: Int) -> Entry? {
    guard let entry = entries[place] else { return nil }
    entries[place] = nil
    count -= 1
    byteCount -= entry.byteCount
    if count == 0 {
      self = CoalescingQueue(number: stagger)
    } else {
      while entries[head] == nil { head += 1 }
    }
    return entry
  }

  private mutating func compactIfDue() {
    let most = max(Self.emptyMin, count)
    guard entries.count - count > most + most * stagger / 256 else { return }
    firstNumber += entries.count
    entries = entries[head...].filter { $0 != nil }
    head = 0
    numbers = [:]
    for (place, entry) in entries.enumerated() {
      for key in entry?.keys ?? [] { numbers[key, default: []].append(firstNumber + place) }
    }
  }
}
