// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A queue in which later elements can replace earlier ones.
///
/// Elements are found by their keys. A key can lead to entries that were removed. Their number is at most a few for
/// each element in the queue. So memory is proportional to the queue's length, and the cost of an operation does not
/// depend on it.
struct CoalescingQueue<Element> {
  private struct Entry {
    var element: Element
    var keys: [ExactText]
    var byteCount: Int
  }

  /// Removed entries are compacted once there are more of them than this, and more than elements.
  private static var emptyMin: Int { 64 }

  /// Delays the compaction by so many 256ths of its threshold.
  private let stagger: Int
  /// nil where an element was removed.
  private var entries: [Entry?] = []
  /// Index of the first element, if there is one.
  private var head = 0
  /// The number of `entries[0]`. While the queue has elements, no number is used twice.
  private var firstNumber = 0
  private var numbers: [ExactText: [Int]] = [:]

  private(set) var count = 0
  /// Bytes of all elements.
  private(set) var byteCount = 0

  /// - Parameter number: differs between queues that get the same elements, so that not all compact at once.
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

  /// Removes and returns all elements with the key, in order.
  mutating func remove(under key: ExactText) -> [Element] {
    guard let found = numbers.removeValue(forKey: key) else { return [] }
    return found.compactMap { number in
      // When the last element is removed, all numbers become invalid.
      guard !isEmpty, number >= firstNumber + head else { return nil }
      return take(at: number - firstNumber)?.element
    }
  }

  /// Removes and returns all elements that meet a condition, in order.
  mutating func remove(where isRemoved: (Element) -> Bool) -> [Element] {
    var removed: [Element] = []
    // With the last element, the entries go, too.
    for place in entries.indices where !isEmpty {
      guard let entry = entries[place], isRemoved(entry.element) else { continue }
      _ = take(at: place)
      removed.append(entry.element)
    }
    return removed
  }

  /// Calls `body` with each element and its keys, in order.
  func visit(_ body: (Element, [ExactText]) -> Void) {
    for case let entry? in entries[(isEmpty ? entries.count : head)...] { body(entry.element, entry.keys) }
  }

  /// Entries that take up memory, removed ones included.
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
