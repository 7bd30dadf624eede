// SPDX-License-Identifier: Apache-2.0

/// Deadlines of numbered items: a binary heap that knows the index of each item, so that a removed item leaves
/// nothing behind.
package struct DeadlineHeap {
  private struct Entry {
    var due: Instant
    var item: Int
  }

  private var heap: [Entry] = []
  /// Indices in the heap, by item. That of an item that is not in the heap is meaningless.
  private var places: [Int] = []

  package init() {}

  /// The item with the earliest deadline.
  package var first: (item: Int, due: Instant)? { heap.first.map { ($0.item, $0.due) } }

  /// Adds an item that is not in the heap. Item numbers are small and dense.
  package mutating func insert(_ item: Int, due: Instant) {
    while places.count <= item { places.append(0) }
    places[item] = heap.count
    heap.append(Entry(due: due, item: item))
    siftUp(heap.count - 1)
  }

  package mutating func remove(_ item: Int) {
    let place = places[item]
    precondition(place < heap.count && heap[place].item == item, "item \(item) has no deadline")
    swap(place, heap.count - 1)
    heap.removeLast()
    if place < heap.count {
      siftDown(place)
      siftUp(place)
    }
  }

  mutating func set(_ item: Int, due: Instant) {
    let place = places[item]
    precondition(place < heap.count && heap[place].item == item, "item \(item) has no deadline")
    heap[place].due = due
    siftDown(place)
    siftUp(places[item])
  }

  /// The deadline of an item, which must be in the heap.
  func due(of item: Int) -> Instant {
    let place = places[item]
    precondition(place < heap.count && heap[place].item == item, "item \(item) has no deadline")
    return heap[place].due
  }

  private mutating func swap(_ one: Int, _ other: Int) {
    heap.swapAt(one, other)
    places[heap[one].item] = one
    places[heap[other].item] = other
  }

  private mutating func siftUp(_ start: Int) {
    var place = start
    while place > 0, heap[place].due < heap[(place - 1) / 2].due {
      swap(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  private mutating func siftDown(_ start: Int) {
    var place = start
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2]
      where child < heap.count && heap[child].due < heap[least].due {
        least = child
      }
      if least == place { return }
      swap(place, least)
      place = least
    }
  }
}
