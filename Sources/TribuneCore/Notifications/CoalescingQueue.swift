// SPDX-License-Identifier: Apache-2.0

/// Things that wait in a row, and of which later ones can take the place of earlier ones.
///
/// Each is found again under its keys. A key may lead to places whose tenants are gone; there are never more of those
/// than a few for each that waits, so that memory follows what waits, and everything costs the same however much that
/// is.
struct CoalescingQueue<Element> {
  private struct Entry {
    var element: Element
    var keys: [ExactText]
    var byteCount: Int
  }

  /// Emptied places are cleared away once there are more of them than that, and than tenants.
  private static var emptyMin: Int { 64 }

  /// Puts off the clearing away by some, of up to 256 parts of it.
  private let stagger: Int
  /// nil where one was taken out.
  private var entries: [Entry?] = []
  /// The first that is left, if any is.
  private var head = 0
  /// The number of the first place. As long as anything waits, no number is used twice.
  private var firstNumber = 0
  private var numbers: [ExactText: [Int]] = [:]

  private(set) var count = 0
  /// Of all that wait.
  private(set) var byteCount = 0

  /// - Parameter number: differs between queues that all get the same, so that they do not all clear away at once.
  init(number: Int = 0) { stagger = number & 0xFF }

  var isEmpty: Bool { count == 0 }

  var first: Element? { isEmpty ? nil : entries[head]?.element }

  mutating func append(_ element: Element, keys: [ExactText], byteCount: Int) {
    clearAway()
    let number = firstNumber + entries.count
    entries.append(Entry(element: element, keys: keys, byteCount: byteCount))
    for key in keys { numbers[key, default: []].append(number) }
    count += 1
    self.byteCount += byteCount
  }

  mutating func popFirst() -> Element? {
    isEmpty ? nil : take(at: head)?.element
  }

  /// Takes out all that have the key, in order.
  mutating func remove(under key: ExactText) -> [Element] {
    guard let found = numbers.removeValue(forKey: key) else { return [] }
    return found.compactMap { number in
      // With the last that waits, all numbers have become worthless.
      guard !isEmpty, number >= firstNumber + head else { return nil }
      return take(at: number - firstNumber)?.element
    }
  }

  /// Calls `body` with each that waits, in order, and its keys.
  func visit(_ body: (Element, [ExactText]) -> Void) {
    for case let entry? in entries[(isEmpty ? entries.count : head)...] { body(entry.element, entry.keys) }
  }

  /// Places that are in use, and those that were and that are kept: memory follows it.
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

  private mutating func clearAway() {
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
