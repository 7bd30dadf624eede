// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

protocol FlowControlled: AnyObject, Sendable {
  /// How many elements may wait in the stream; at least one.
  var limit: Int { get }
  /// How many more elements the stream takes now.
  var room: Int { get }
}

/// The limit that the link sends to the bus (`room`): the total number of notifications and traffic frames
/// that the bus may send over this socket. All of these frames may go to one stream, so the link raises the
/// limit only to what the fullest stream can take.
///
/// While the program reads every stream, the flow never stops. If each stream has room for at least `step`
/// notifications beyond the limit, the link's thread raises the limit. If not, each reader that has made room
/// in its stream (`makesRoom`) tries to raise the limit. The last of these readers succeeds.
struct FlowControl {
  private var streams: [any FlowControlled] = []
  private var leastLimit = 0
  /// The number of notifications and traffic frames that came over this socket or were reported as lost.
  private var received: UInt64 = 0
  /// The limit that the link sent last; nil before the first `room`.
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

  /// Returns the limit for a new socket. Without streams, this is 0, until the link adds the first stream.
  mutating func restart() -> UInt64 {
    received = 0
    let limit = fitting ?? 0
    self.limit = limit
    return limit
  }

  mutating func receive(_ received: UInt64) { self.received = received }

  /// Returns the new limit, or nil if the limit cannot rise by `step`. To save time, does not examine the
  /// streams if even empty streams would lack room for `step` notifications.
  mutating func raiseBySteps() -> UInt64? {
    canRise(to: received.saturatingAdding(UInt64(leastLimit)), by: step) ? raise(by: step) : nil
  }

  mutating func raise(by step: UInt64 = 1) -> UInt64? {
    guard let fitting, canRise(to: fitting, by: step) else { return nil }
    limit = fitting
    return fitting
  }

  /// `received` can exceed the limit: it also counts losses and delegates' notifications, which need no room.
  private func canRise(to other: UInt64, by step: UInt64) -> Bool {
    guard let limit else { return true }
    let used = max(limit, received)
    return other > used && other - used >= step
  }

  /// Returns the limit for a restarted bus, which no longer knows the limit.
  mutating func limitAfterRestart() -> UInt64 {
    let confirmed = max(limit ?? 0, fitting ?? 0)
    limit = confirmed
    return confirmed
  }
}

extension LinkState {
  /// The link's thread calls this method each time before it looks for new frames.
  mutating func receive(upTo received: UInt64) -> Outbox.Duty {
    flow.receive(received)
    guard case .open = phase, let limit = flow.raiseBySteps() else { return .none }
    return outbox.append(Room(limit: limit), serial: 0)
  }

  /// The link calls this method when a reader has made room (`makesRoom`), and when a stream ends.
  mutating func raiseRoom() -> Outbox.Duty {
    guard case .open = phase, let limit = flow.raise() else { return .none }
    return outbox.append(Room(limit: limit), serial: 0)
  }

  /// Adds the stream. If the limit can then rise, stages a `room` frame. The outbox writes the staged frame
  /// together with the next frame, which registers the stream.
  mutating func stageRoom(for stream: any FlowControlled) {
    flow.add(stream)
    if case .open = phase, let limit = flow.raise() { outbox.stage(Room(limit: limit)) }
  }

  mutating func confirmRoom() -> Outbox.Duty {
    isServing ? outbox.append(Room(limit: flow.limitAfterRestart()), serial: 0) : .none
  }
}

extension Link {
  func raiseRoom() { perform(state.withLock { $0.raiseRoom() }) }
}
