// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A bounded queue between the connection's thread and the tasks that read.
///
/// No reader is resumed and no element released under its lock: a released awaited element reports a failure.
final class DeliveryStream<Element: LossReporting>: Sendable {
  typealias Reader = Reply<Element?>

  private struct State {
    var queue: BoundedQueue<Element>
    /// Elements behind an incomplete snapshot.
    var changes: BoundedQueue<Element>?
    /// Elements behind the reserved position of a loss report.
    var behind: BoundedQueue<Element>?
    /// An inner nil is an end without an error.
    var ending: TribuneError??
    var readers: [(id: UInt64, reader: Reader)] = []
    var lastReader: UInt64 = 0

    /// Returns the reader that gets the element, or dropped awaited elements.
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

  func deliver(_ element: Element) {
    let (reader, unread) = state.withLock { state -> (Reader?, [Element]) in
      guard state.ending == nil else { return (nil, []) }
      if state.behind != nil { return (nil, state.behind?.append(element) ?? []) }
      return state.add(element)
    }
    reader?.resume(returning: .success(element))
    for element in unread { element.failUnread() }
  }

  /// Elements of the first snapshot precede all changes; those of later snapshots are queued like changes.
  func deliverSnapshot(_ element: Element) {
    let unread = state.withLock { state -> [Element]? in
      // Readers never wait before the first snapshot is complete.
      guard state.changes != nil else { return nil }
      return state.ending == nil ? state.queue.append(element) : []
    }
    guard let unread else { return deliver(element) }
    for element in unread { element.failUnread() }
  }

  /// Discards an incomplete snapshot, because the next connection sends it again.
  func restartSnapshot() {
    let discarded = state.withLock { state -> [BoundedQueue<Element>] in
      guard let changes = state.changes else { return [] }
      defer {
        state.queue = BoundedQueue(limit: limit)
        state.changes = BoundedQueue(limit: limit)
      }
      return [state.queue, changes]
    }
    withExtendedLifetime(discarded) {}
  }

  func bufferChanges() {
    state.withLock { $0.changes = BoundedQueue(limit: limit) }
  }

  func addChanges() {
    let unread = state.withLock { state -> [Element] in
      var unread: [Element] = []
      while let element = state.changes?.popFirst() { unread += state.queue.append(element) }
      state.changes = nil
      return unread
    }
    for element in unread { element.failUnread() }
  }

  /// Reserves this position for a loss report: later elements wait behind it until `fillPosition`. Those behind an
  /// earlier position are dropped.
  func reservePosition() {
    let dropped = state.withLock { state -> BoundedQueue<Element>? in
      guard state.ending == nil else { return nil }
      defer { state.behind = BoundedQueue(limit: limit) }
      return state.behind
    }
    withExtendedLifetime(dropped) {}
  }

  func fillPosition(with reports: [Element]) -> Bool {
    var read: [(reader: Reader, element: Element)] = []
    var unread: [Element] = []
    let wasReserved = state.withLock { state -> Bool in
      guard var behind = state.behind else { return false }
      state.behind = nil
      var reports = reports[...]
      while let element = reports.popFirst() ?? behind.popFirst() {
        let added = state.add(element)
        if let reader = added.reader { read.append((reader, element)) }
        unread += added.unread
      }
      return true
    }
    for (reader, element) in read { reader.resume(returning: .success(element)) }
    for element in unread { element.failUnread() }
    return wasReserved
  }

  func discard() {
    let discarded = state.withLock { state -> [BoundedQueue<Element>] in
      defer {
        state.queue = BoundedQueue(limit: limit)
        state.changes = nil
        state.behind = nil
      }
      return [state.queue] + [state.changes, state.behind].compactMap { $0 }
    }
    withExtendedLifetime(discarded) {}
  }

  /// Queued elements stay readable up to a reserved position, whose report will never be known.
  func finish(_ error: TribuneError?) {
    let (readers, dropped) = state.withLock {
      state -> ([(id: UInt64, reader: Reader)], BoundedQueue<Element>?) in
      guard state.ending == nil else { return ([], nil) }
      state.ending = .some(error)
      defer { (state.readers, state.behind) = ([], nil) }
      return (state.readers, state.behind)
    }
    withExtendedLifetime(dropped) {}
    for (_, reader) in readers { reader.resume(returning: error.map { .failure($0) } ?? .success(nil)) }
  }

  func next() async throws(TribuneError) -> Element? {
    let (ready, id) = state.withLock { state -> (Result<Element?, TribuneError>?, UInt64) in
      if let ready = Self.takeReady(&state) { return (ready, 0) }
      state.lastReader += 1
      return (nil, state.lastReader)
    }
    if let ready { return try ready.get() }
    return try await Reader.wait { reader throws(TribuneError) in
      let ready = state.withLock { state -> Result<Element?, TribuneError>? in
        if let ready = Self.takeReady(&state) { return ready }
        state.readers.append((id, reader))
        return nil
      }
      guard let ready else { return nil }
      return .some(try ready.get())
    } onCancel: {
      let reader = state.withLock { state -> Reader? in
        guard let place = state.readers.firstIndex(where: { $0.id == id }) else { return nil }
        return state.readers.remove(at: place).reader
      }
      reader?.resume(returning: .success(nil))
    }.get()
  }

  private static func takeReady(_ state: inout State) -> Result<Element?, TribuneError>? {
    if let element = state.queue.popFirst() { return .success(element) }
    guard let ending = state.ending else { return nil }
    return ending.map { .failure($0) } ?? .success(nil)
  }
}
