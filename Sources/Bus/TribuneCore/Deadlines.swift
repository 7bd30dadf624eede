// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The order of deadlines that are due at the same moment. This order does not depend on the order of
/// insertion, so a restored bus handles the deadlines in the same order as the earlier bus.
package struct DeadlineRank: Comparable, Sendable {
  package enum Kind: UInt8, Sendable {
    case hold, awaitedPost, query, other
  }

  private let kind: Kind
  private let id: UInt64
  private let serial: Serial

  package init(_ kind: Kind, _ id: UInt64, _ serial: Serial = 0) {
    (self.kind, self.id, self.serial) = (kind, id, serial)
  }

  package static func < (one: DeadlineRank, other: DeadlineRank) -> Bool {
    (one.kind.rawValue, one.id, one.serial) < (other.kind.rawValue, other.id, other.serial)
  }
}

/// A binary heap that can move and remove any deadline.
package struct Deadlines<Item> {
  /// Identifies a deadline until its removal. After the removal, a new deadline can get the same handle.
  package struct Handle {
    fileprivate var index: Int
  }

  private struct Entry {
    var due: Instant
    let rank: DeadlineRank
    var handle: Int

    static func < (one: Entry, other: Entry) -> Bool {
      one.due < other.due || one.due == other.due && one.rank < other.rank
    }
  }

  private var heap: [Entry] = []
  /// The items, by handle. `position` is the index in `heap`, but is meaningless for a free handle.
  private var items: [(item: Item?, position: Int)] = []
  private var free: [Int] = []

  package init() {}

  package var nextDue: Instant? { heap.first?.due }
  package var first: (handle: Handle, item: Item)? {
    guard let first = heap.first, let item = items[first.handle].item else { return nil }
    return (Handle(index: first.handle), item)
  }

  package func firstDue(at now: Instant) -> Item? {
    guard let first = heap.first, first.due <= now else { return nil }
    return items[first.handle].item
  }

  func allDue(at now: Instant) -> [Item] {
    var items: [Item] = []
    var positions = [0]
    while let position = positions.popLast() {
      guard position < heap.count, heap[position].due <= now,
        let item = self.items[heap[position].handle].item
      else { continue }
      items.append(item)
      positions += [2 * position + 1, 2 * position + 2]
    }
    return items
  }

  package mutating func insert(
    _ item: Item, due: Instant, rank: DeadlineRank = DeadlineRank(.other, 0)
  ) -> Handle {
    let index = free.popLast() ?? items.count
    if index == items.count { items.append((item, heap.count)) } else { items[index] = (item, heap.count) }
    heap.append(Entry(due: due, rank: rank, handle: index))
    siftUp(heap.count - 1)
    return Handle(index: index)
  }

  package mutating func remove(_ handle: Handle) {
    let position = position(of: handle)
    swap(position, heap.count - 1)
    heap.removeLast()
    items[handle.index].item = nil
    free.append(handle.index)
    if position < heap.count {
      siftDown(position)
      siftUp(position)
    }
    if heap.isEmpty, items.count > 64 { self = Deadlines() }
  }

  mutating func set(_ handle: Handle, due: Instant) {
    let position = position(of: handle)
    heap[position].due = due
    siftDown(position)
    siftUp(items[handle.index].position)
  }

  func due(of handle: Handle) -> Instant { heap[position(of: handle)].due }

  private func position(of handle: Handle) -> Int {
    let position = items[handle.index].position
    precondition(
      position < heap.count && heap[position].handle == handle.index, "the deadline is already removed")
    return position
  }

  private mutating func swap(_ one: Int, _ other: Int) {
    heap.swapAt(one, other)
    items[heap[one].handle].position = one
    items[heap[other].handle].position = other
  }

  private mutating func siftUp(_ start: Int) {
    var position = start
    while position > 0, heap[position] < heap[(position - 1) / 2] {
      swap(position, (position - 1) / 2)
      position = (position - 1) / 2
    }
  }

  private mutating func siftDown(_ start: Int) {
    var position = start
    while true {
      var least = position
      let left = 2 * position + 1
      if left < heap.count, heap[left] < heap[least] { least = left }
      if left + 1 < heap.count, heap[left + 1] < heap[least] { least = left + 1 }
      if least == position { return }
      swap(position, least)
      position = least
    }
  }
}
