// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// What holds for all that one event causes. An event is a frame, the end of a connection, or a moment at which something
/// is due or is delivered: what the core takes in one go.
///
/// Nothing of it is sent before all of it is queued and written into the state, and all of that becomes visible with one
/// store. So the next daemon knows of all that anybody has read, and what it knows of has been said, or lies in the log
/// to be said. If half of an event could be seen, replaying it would do the other half where nobody hears it. For the
/// same reason no sweep begins in the middle of one, since it commits; but for that of a take-over, which ends it.
///
/// Plain posts are none: what they cause is in the cells as soon as it is queued.
extension BusServer {
  var isInEvent: Bool { pass.eventDepth > 0 }

  /// The core is about to take something. What is written of that itself has been written.
  func beginEvent() { pass.eventDepth += 1 }

  /// All that it has caused is queued.
  func endEvent() {
    pass.eventDepth -= 1
    guard !isInEvent else { return }
    noteHeldOfAll()
    commitState()
    if !pass.crowded.isEmpty { sendToCrowded() }
    if queuedByteCount > relievedAbove { relieveQueues() }
  }

  // MARK: Sending before the pass ends

  /// With more than that in its queue, who reads is sent it before the pass ends: so there is room for questions.
  var crowdedAbove: Int { configuration.hardLimitBytes / 8 }

  /// One pass can cause any number of replies and questions: the hard limit cannot wait for its end.
  func limitQueue(of connection: Connection, isNotification: Bool) {
    if !isNotification, !connection.isBlocked {
      guard !isInEvent else {
        if pass.crowded.last !== connection { pass.crowded.append(connection) }
        return
      }
      flushEarly(connection)
    }
    guard connection.queue.byteCount > configuration.hardLimitBytes else { return }
    // Notifications may go first; what is left then is what must not be dropped.
    if connection.flow != .flowing || connection.isBlocked {
      drop(from: connection, downTo: configuration.highMarkBytes)
    }
    if connection.queue.byteCount > configuration.hardLimitBytes, connection.isBlocked {
      doom(connection, WireError(.tooSlow, "\(connection.queue.byteCount) bytes waited to be read"))
    }
  }

  private func sendToCrowded() {
    while let connection = pass.crowded.popLast() {
      if connection.isServed, connection.queue.byteCount > crowdedAbove {
        limitQueue(of: connection, isNotification: false)
      }
    }
  }

  /// Sends what waits before the pass ends. What is to be delivered before anything is written comes first.
  func flushEarly(_ connection: Connection) {
    if bus.hasSoonPosts { deliverSoon() }
    if !connection.isBlocked { flush(connection) }
  }
}
