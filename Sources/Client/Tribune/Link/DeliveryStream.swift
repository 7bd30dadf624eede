// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// A queue of elements from the connection's thread to the tasks that read them. Elements beyond the limit
/// wait on the bus.
///
/// While a stream holds its lock, it neither resumes a reader nor releases an element: releasing an awaited
/// notification takes the link's lock. A thread that takes both locks takes the link's lock first.
final class DeliveryStream<Element: LossReporting>: FlowControlled {
  typealias Reader = Reply<Element?>
  /// If `makesRoom` is true, the caller must call `Link.raiseRoom()`.
  typealias Taken = (element: Element?, makesRoom: Bool)

  private struct State {
    var queue = UnreadQueue<Element>()
    /// The elements behind the position that `reservePosition()` reserved for a loss report; nil without a
    /// reserved position.
    var behind: UnreadQueue<Element>?
    /// Three counts of retained notifications: how many the bus found, how many arrived before the reserved
    /// position, and how many arrived `behind` it.
    var retained = (found: 0, arrived: 0, behind: 0)
    /// Nil until the stream ends. An inner nil means an end without an error.
    var ending: TribuneError??
    var readers: [(id: UInt64, reader: Reader)] = []
    var lastReader: UInt64 = 0

    var count: Int { queue.count + (behind?.count ?? 0) }
    var isLong: Bool { queue.byteCount + (behind?.byteCount ?? 0) > UnreadQueue<Element>.byteMark }

    /// Returns a waiting reader, to which the caller must give the element. Without one, queues the element.
    mutating func add(_ element: Element) -> Reader? {
      if !readers.isEmpty { return readers.removeFirst().reader }
      queue.append(element)
      return nil
    }
  }

  private let state = Mutex(State())
  let limit: Int

  /// Clamps the limit, because the wire protocol allows a `room` for at most `Int32.max` notifications.
  init(limit: Int) { self.limit = min(max(limit, 1), Int(Int32.max)) }

  var room: Int { state.withLock { $0.isLong ? 0 : max(limit - $0.count, 0) } }

  var hasNext: Bool { state.withLock { $0.queue.count > 0 } }

  var retainedCount: Int { state.withLock { $0.retained.found } }

  func addRetained(_ count: Int) { state.withLock { $0.retained.found += count } }

  func deliverRetained(_ element: Element) {
    state.withLock { state in
      if state.behind == nil { state.retained.arrived += 1 } else { state.retained.behind += 1 }
    }
    deliver(element)
  }

  func deliver(_ element: Element) {
    let reader = state.withLock { state -> Reader? in
      guard state.ending == nil else { return nil }
      guard state.behind == nil else {
        state.behind?.append(element)
        return nil
      }
      return state.add(element)
    }
    reader?.resume(returning: .success(element))
  }

  /// Reserves a position for a loss report, behind all elements. Later elements wait behind the position
  /// until `fillPosition`. If a position is already reserved, drops the elements behind that position,
  /// because the link counts them as missed.
  func reservePosition() {
    let dropped = state.withLock { state -> UnreadQueue<Element>? in
      (state.retained.found, state.retained.behind) = (state.retained.arrived, 0)
      guard state.ending == nil else { return nil }
      defer { state.behind = UnreadQueue() }
      return state.behind
    }
    withExtendedLifetime(dropped) {}
  }

  func fillPosition(with reports: [Element]) -> Bool {
    var read: [(reader: Reader, element: Element)] = []
    let wasReserved = state.withLock { state -> Bool in
      guard var behind = state.behind else { return false }
      state.behind = nil
      state.retained.arrived += state.retained.behind
      state.retained.behind = 0
      var reports = reports[...]
      while let element = reports.popFirst() ?? behind.popFirst() {
        if let reader = state.add(element) { read.append((reader, element)) }
      }
      return true
    }
    for (reader, element) in read { reader.resume(returning: .success(element)) }
    return wasReserved
  }

  func discard() {
    let discarded = state.withLock { state in
      defer { (state.queue, state.behind) = (UnreadQueue(), nil) }
      return (state.queue, state.behind)
    }
    withExtendedLifetime(discarded) {}
  }

  /// Ends the stream. Queued elements stay readable. Drops the elements behind a reserved position, because
  /// the link does not fill the position of an ended stream.
  func finish(_ error: TribuneError?) {
    let (readers, dropped) = state.withLock {
      state -> ([(id: UInt64, reader: Reader)], UnreadQueue<Element>?) in
      guard state.ending == nil else { return ([], nil) }
      state.ending = .some(error)
      defer { (state.readers, state.behind) = ([], nil) }
      return (state.readers, state.behind)
    }
    withExtendedLifetime(dropped) {}
    for (_, reader) in readers { reader.resume(returning: error.map { .failure($0) } ?? .success(nil)) }
  }

  func next() async throws(TribuneError) -> Taken {
    let (ready, id) = state.withLock { state -> (Result<Taken, TribuneError>?, UInt64) in
      if let ready = takeReady(&state) { return (ready, 0) }
      state.lastReader += 1
      return (nil, state.lastReader)
    }
    if let ready { return try ready.get() }
    var makesRoom = false
    let element = try await Reader.wait { reader throws(TribuneError) in
      let ready = state.withLock { state -> Result<Taken, TribuneError>? in
        if let ready = takeReady(&state) { return ready }
        state.readers.append((id, reader))
        return nil
      }
      guard let ready = try ready?.get() else { return nil }
      makesRoom = ready.makesRoom
      return .some(ready.element)
    } onCancel: {
      let reader = state.withLock { state -> Reader? in
        guard let place = state.readers.firstIndex(where: { $0.id == id }) else { return nil }
        return state.readers.remove(at: place).reader
      }
      reader?.resume(returning: .success(nil))
    }.get()
    return (element, makesRoom)
  }

  /// Takes the first element without waiting. Nil if the stream has no element.
  func nextWaiting() -> Taken? { state.withLock { takeFirst(&$0) } }

  private func takeFirst(_ state: inout State) -> Taken? {
    let wasLong = state.isLong
    guard let element = state.queue.popFirst() else { return nil }
    return (element, state.count == limit / 2 || wasLong && !state.isLong)
  }

  private func takeReady(_ state: inout State) -> Result<Taken, TribuneError>? {
    if let taken = takeFirst(&state) { return .success(taken) }
    guard let ending = state.ending else { return nil }
    return ending.map { .failure($0) } ?? .success((nil, false))
  }
}

struct UnreadQueue<Element: LossReporting> {
  /// If more bytes of payload than this wait in a stream, the stream has no room.
  static var byteMark: Int { 32 << 20 }

  private var elements = Ring<Element>()
  private(set) var byteCount = 0

  var count: Int { elements.count }

  /// Merges consecutive losses, so that many loss reports of the bus cannot fill the memory.
  mutating func append(_ element: Element) {
    if let count = element.lostCount, let last = elements.last?.lostCount {
      elements.last = .lost(last.saturatingAdding(count))
      return
    }
    byteCount += element.byteCount
    elements.append(element)
  }

  mutating func popFirst() -> Element? {
    guard let element = elements.popFirst() else { return nil }
    byteCount -= element.byteCount
    return element
  }
}
