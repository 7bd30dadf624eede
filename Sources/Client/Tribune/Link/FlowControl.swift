// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

protocol FlowControlled: AnyObject, Sendable {
  /// How many elements it lets wait; at least one.
  var limit: Int { get }
  /// How many more it takes now.
  var room: Int { get }
}

/// The limit that the connection sends to the bus (`room`): what fits into all its streams.
///
/// A reader that goes on reading is never stuck. Say that the bus has used the limit, and the thread has handled all of
/// it. If every stream has room for a step, a quarter of the least limit, the thread has raised the limit. Otherwise,
/// each of the others has more than half of its own limit waiting, or is too long. So reading takes it through its mark
/// (`makesRoom`), and the last of them raises the limit.
struct FlowControl {
  private var streams: [any FlowControlled] = []
  private var leastLimit = 0
  /// Counted as in `succeed`, and in the streams already.
  private var received: UInt64 = 0
  /// Nil before the first `room` of the socket.
  private var limit: UInt64?

  private var step: UInt64 { UInt64(max(leastLimit / 4, 1)) }
  private var fitting: UInt64? { streams.map(\.room).min().map { received.saturatingAdding(UInt64($0)) } }

  mutating func add(_ stream: any FlowControlled) {
    guard !streams.contains(where: { $0 === stream }) else { return }
    streams.append(stream)
    leastLimit = streams.count == 1 ? stream.limit : min(leastLimit, stream.limit)
  }

  mutating func remove(_ stream: any FlowControlled) {
    streams.removeAll { $0 === stream }
    leastLimit = streams.map(\.limit).min() ?? 0
  }

  /// Returns the limit for a new socket. Without a stream, it is 0, because the observations in the outbox come later.
  mutating func restart() -> UInt64 {
    received = 0
    let limit = fitting ?? 0
    self.limit = limit
    return limit
  }

  mutating func receive(_ received: UInt64) { self.received = received }

  /// Nil if it rises by less than a step. Looks at the streams only if it can rise by one.
  mutating func raiseBySteps() -> UInt64? {
    canRise(to: received.saturatingAdding(UInt64(leastLimit)), by: step) ? raise(by: step) : nil
  }

  mutating func raise(by step: UInt64 = 1) -> UInt64? {
    guard let fitting, canRise(to: fitting, by: step) else { return nil }
    limit = fitting
    return fitting
  }

  /// Losses, which need no room, can be received beyond the limit.
  private func canRise(to other: UInt64, by step: UInt64) -> Bool {
    guard let limit else { return true }
    let used = max(limit, received)
    return other > used && other - used >= step
  }

  /// Returns the limit for a bus that has lost it.
  mutating func confirm() -> UInt64 {
    let confirmed = max(limit ?? 0, fitting ?? 0)
    limit = confirmed
    return confirmed
  }
}

extension LinkState {
  /// On the thread, after a batch.
  mutating func receive(upTo received: UInt64) -> Outbox.Duty {
    flow.receive(received)
    guard case .open = phase, let limit = flow.raiseBySteps() else { return .none }
    return outbox.append(Room(limit: limit), serial: 0)
  }

  /// After a reader took a stream over its mark, and when streams come or go.
  mutating func raiseRoom() -> Outbox.Duty {
    guard case .open = phase, let limit = flow.raise() else { return .none }
    return outbox.append(Room(limit: limit), serial: 0)
  }

  /// Makes the bus read the limit before the next frame.
  mutating func stageRoom(for stream: any FlowControlled) {
    flow.add(stream)
    if case .open = phase, let limit = flow.raise() { outbox.stage(Room(limit: limit)) }
  }

  mutating func confirmRoom() -> Outbox.Duty {
    isServing ? outbox.append(Room(limit: flow.confirm()), serial: 0) : .none
  }
}

extension Link {
  func raiseRoom() { perform(state.withLock { $0.raiseRoom() }) }
}
