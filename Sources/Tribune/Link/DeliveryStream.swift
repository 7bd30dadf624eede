// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What can stand in a stream for elements that were dropped.
protocol LossReporting: Sendable {
  static func lost(_ count: Int) -> Self
  /// How many were dropped, when this is what the element tells.
  var lostCount: Int? { get }
  /// Bytes of payload that the element holds.
  var byteCount: Int { get }
}

/// A bounded queue between the connection's thread and the tasks that read.
///
/// It holds at most so many elements, and at most so many bytes of payload, but for the newest element,
/// which it always holds. Past either limit the oldest elements go, so that what is missing always lies before all that is held: one
/// number at the head tells of it. The queue's own lock is all that the two sides share; neither is ever
/// resumed under it.
final class DeliveryStream<Element: LossReporting>: Sendable {
  typealias Reader = CheckedContinuation<Result<Element?, TribuneError>, Never>

  private struct State {
    var held = Ring<Element>()
    var heldBytes = 0
    /// Dropped before the first that is held.
    var lost = 0
    /// Set once, when nothing more will come; a nil inside is a clean end.
    var ending: TribuneError??
    /// Those who wait, in order. They do so only while nothing is held.
    var readers: [(id: UInt64, reader: Reader)] = []
    var lastReader: UInt64 = 0
  }

  /// Bytes of payload, in all elements that are held.
  static var byteLimit: Int { 64 << 20 }

  private let limit: Int
  private let state = Mutex(State())

  init(limit: Int) { self.limit = max(limit, 1) }

  /// Adds an element, unless the stream has ended.
  func deliver(_ element: Element) {
    let reader = state.withLock { state -> Reader? in
      guard state.ending == nil else { return nil }
      if !state.readers.isEmpty { return state.readers.removeFirst().reader }
      state.heldBytes += element.byteCount
      while state.held.count == limit || state.heldBytes > Self.byteLimit,
        let oldest = state.held.popFirst()
      {
        state.heldBytes -= oldest.byteCount
        let (sum, isTooMany) = state.lost.addingReportingOverflow(oldest.lostCount ?? 1)
        state.lost = isTooMany ? .max : sum
      }
      state.held.append(element)
      return nil
    }
    reader?.resume(returning: .success(element))
  }

  /// Nothing more will come. What is held can still be read.
  func finish(_ error: TribuneError?) {
    let readers = state.withLock { state -> [(id: UInt64, reader: Reader)] in
      guard state.ending == nil else { return [] }
      state.ending = .some(error)
      defer { state.readers = [] }
      return state.readers
    }
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
    if state.lost > 0 {
      defer { state.lost = 0 }
      return .success(.lost(state.lost))
    }
    if let element = state.held.popFirst() {
      state.heldBytes -= element.byteCount
      return .success(element)
    }
    guard let ending = state.ending else { return nil }
    return ending.map { .failure($0) } ?? .success(nil)
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
