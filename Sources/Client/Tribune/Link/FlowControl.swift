// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

protocol FlowControlled: AnyObject, Sendable {
  /// How many elements may wait in the stream; at least one.
  var limit: Int { get }
  /// How many more elements the stream takes now.
  var room: Int { get }
}

/// The limit that the connection sends to the bus (`room`): how many notifications fit into every stream.
///
/// The flow never stops while the program reads every stream. The link's thread raises the limit when every stream has
/// room for a `step`. If a stream lacks this room, its reader makes the room later (`makesRoom`). The last of these
/// readers raises the limit.
struct FlowControl {
  private var streams: [any FlowControlled] = []
  private var leastLimit = 0
  /// How many notifications and traffic frames came over this socket, including lost ones.
  private var received: UInt64 = 0
  /// The limit that was sent last; nil before the first `room`.
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

  /// Returns the limit for a new socket. Without streams, the limit is 0 until an observation raises it.
  mutating func restart() -> UInt64 {
    received = 0
    let limit = fitting ?? 0
    self.limit = limit
    return limit
  }

  mutating func receive(_ received: UInt64) { self.received = received }

  /// Raises the limit if it can rise by a step; else returns nil. To save time, skips the streams if even empty streams
  /// would have no room for a step.
  mutating func raiseBySteps() -> UInt64? {
    canRise(to: received.saturatingAdding(UInt64(leastLimit)), by: step) ? raise(by: step) : nil
  }

  mutating func raise(by step: UInt64 = 1) -> UInt64? {
    guard let fitting, canRise(to: fitting, by: step) else { return nil }
    limit = fitting
    return fitting
  }

  /// `received` can exceed the limit, because losses count but need no room.
  private func canRise(to other: UInt64, by step: UInt64) -> Bool {
    guard let limit else { return true }
    let used = max(limit, received)
    return other > used && other - used >= step
  }

  /// Returns the limit for a bus that has lost it in a restart.
  mutating func confirm() -> UInt64 {
    let confirmed = max(limit ?? 0, fitting ?? 0)
    limit = confirmed
    return confirmed
  }
}

extension LinkState {
  /// The link's thread calls this after each batch of frames.
  mutating func receive(upTo received: UInt64) -> Outbox.Duty {
    flow.receive(received)
    guard case .open = phase, let limit = flow.raiseBySteps() else { return .none }
    return outbox.append(Room(limit: limit), serial: 0)
  }

  /// Called when a reader has made room in a stream (`makesRoom`), and when a stream ends.
  mutating func raiseRoom() -> Outbox.Duty {
    guard case .open = phase, let limit = flow.raise() else { return .none }
    return outbox.append(Room(limit: limit), serial: 0)
  }

  /// Adds the stream, and stages the new limit. The bus reads the limit right before the next frame, which registers
  /// the stream.
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
