// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A bounded queue between the connection's thread and the tasks that read.
///
/// What is not read in time is dropped, oldest first, and told in its place. The queue's own lock is all that
/// the two sides share; neither is ever resumed under it.
final class DeliveryStream<Element: LossReporting>: Sendable {
  typealias Reader = CheckedContinuation<Result<Element?, TribuneError>, Never>

  private struct State {
    var queue: BoundedQueue<Element>
    /// What comes before the snapshot is whole, and is to come behind it; nil when nothing is held back.
    var changes: BoundedQueue<Element>?
    /// What comes behind a place that is kept for what is to be told there; nil while none is.
    var behind: BoundedQueue<Element>?
    /// Set once, when nothing more will come; a nil inside is a clean end.
    var ending: TribuneError??
    /// Those who wait, in order. They do so only while nothing is held before a place that is kept.
    var readers: [(id: UInt64, reader: Reader)] = []
    var lastReader: UInt64 = 0

    /// - Returns: whoever waits for it, or what was dropped for it.
    mutating func add(_ element: Element) -> (reader: Reader?, unread: [Element]) {
      if changes != nil { return (nil, changes?.append(element) ?? []) }
      if !readers.isEmpty { return (readers.removeFirst().reader, []) }
      return (nil, queue.append(element))
    }
  }

  private let state: Mutex<State>

  private let limit: Int

  init(limit: Int) {
    self.limit = limit
    state = Mutex(State(queue: BoundedQueue(limit: limit)))
  }

  /// Adds an element, unless the stream has ended.
  func deliver(_ element: Element) {
    let (reader, unread) = state.withLock { state -> (Reader?, [Element]) in
      guard state.ending == nil else { return (nil, []) }
      if state.behind != nil { return (nil, state.behind?.append(element) ?? []) }
      return state.add(element)
    }
    reader?.resume(returning: .success(element))
    for element in unread { element.noteUnread() }
  }

  /// Adds an element of the snapshot, before all changes; one of a later snapshot, where it comes.
  func deliverSnapshot(_ element: Element) {
    let unread = state.withLock { state -> [Element]? in
      // Until the first is whole, nobody reads.
      guard state.changes != nil else { return nil }
      return state.ending == nil ? state.queue.append(element) : []
    }
    guard let unread else { return deliver(element) }
    for element in unread { element.noteUnread() }
  }

  /// Forgets a snapshot that is not whole, which comes again.
  func restartSnapshot() {
    let held = state.withLock { state -> [BoundedQueue<Element>] in
      guard let changes = state.changes else { return [] }
      defer {
        state.queue = BoundedQueue(limit: limit)
        state.changes = BoundedQueue(limit: limit)
      }
      return [state.queue, changes]
    }
    // What goes may be awaited, and says so once the lock is free.
    withExtendedLifetime(held) {}
  }

  /// From now on, what is delivered waits for the snapshot to be whole.
  func holdChangesBack() {
    state.withLock { $0.changes = BoundedQueue(limit: limit) }
  }

  /// The snapshot is whole.
  func letChangesCome() {
    let unread = state.withLock { state -> [Element] in
      var unread: [Element] = []
      while let element = state.changes?.popFirst() { unread += state.queue.append(element) }
      state.changes = nil
      return unread
    }
    for element in unread { element.noteUnread() }
  }

  /// From now on, what is delivered waits behind this place, until it is known what is to be told here. What waits
  /// behind a place that was kept before is dropped.
  func keepPlace() {
    let dropped = state.withLock { state -> BoundedQueue<Element>? in
      guard state.ending == nil else { return nil }
      defer { state.behind = BoundedQueue(limit: limit) }
      return state.behind
    }
    // What goes may be awaited, and says so once the lock is free.
    withExtendedLifetime(dropped) {}
  }

  /// Tells what there is to tell in the place that was kept, if anything, and then what waits behind it.
  ///
  /// - Returns: whether a place was kept.
  func fillPlace(with words: [Element]) -> Bool {
    var read: [(reader: Reader, element: Element)] = []
    var unread: [Element] = []
    let wasKept = state.withLock { state -> Bool in
      guard var behind = state.behind else { return false }
      state.behind = nil
      var words = words[...]
      while let element = words.popFirst() ?? behind.popFirst() {
        let added = state.add(element)
        if let reader = added.reader { read.append((reader, element)) }
        unread += added.unread
      }
      return true
    }
    for (reader, element) in read { reader.resume(returning: .success(element)) }
    for element in unread { element.noteUnread() }
    return wasKept
  }

  /// Lets go of what is held, when there is nobody to read it.
  func discard() {
    // What goes may be awaited, and says so once the lock is free.
    let held = state.withLock { state -> [BoundedQueue<Element>] in
      defer {
        state.queue = BoundedQueue(limit: limit)
        state.changes = nil
        state.behind = nil
      }
      return [state.queue] + [state.changes, state.behind].compactMap { $0 }
    }
    withExtendedLifetime(held) {}
  }

  /// Nothing more will come. What is held can still be read, up to a place that is kept: what is to be told there is
  /// never known.
  func finish(_ error: TribuneError?) {
    let (readers, dropped) = state.withLock {
      state -> ([(id: UInt64, reader: Reader)], BoundedQueue<Element>?) in
      guard state.ending == nil else { return ([], nil) }
      state.ending = .some(error)
      defer { (state.readers, state.behind) = ([], nil) }
      return (state.readers, state.behind)
    }
    // What goes may be awaited, and says so once the lock is free.
    withExtendedLifetime(dropped) {}
    for (_, reader) in readers { reader.resume(returning: error.map { .failure($0) } ?? .success(nil)) }
  }

  /// The next element; nil after a clean end, and when the task is cancelled.
  func next() async throws(TribuneError) -> Element? {
    let (ready, id) = state.withLock { state -> (Result<Element?, TribuneError>?, UInt64) in
      if let ready = Self.takeReady(&state) { return (ready, 0) }
      state.lastReader += 1
      return (nil, state.lastReader)
    }
    if let ready { return try ready.get() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (reader: Reader) in
        let ready = state.withLock { state -> Result<Element?, TribuneError>? in
          if Task.isCancelled { return .success(nil) }
          if let ready = Self.takeReady(&state) { return ready }
          state.readers.append((id, reader))
          return nil
        }
        if let ready { reader.resume(returning: ready) }
      }
    } onCancel: {
      let reader = state.withLock { state -> Reader? in
        guard let place = state.readers.firstIndex(where: { $0.id == id }) else { return nil }
        return state.readers.remove(at: place).reader
      }
      reader?.resume(returning: .success(nil))
    }
    return try result.get()
  }

  private static func takeReady(_ state: inout State) -> Result<Element?, TribuneError>? {
    if let element = state.queue.popFirst() { return .success(element) }
    guard let ending = state.ending else { return nil }
    return ending.map { .failure($0) } ?? .success(nil)
  }
}
