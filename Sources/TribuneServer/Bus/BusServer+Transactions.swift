// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// A transaction is what the core takes in one go, and all that it causes: a frame, the end of a connection, or a moment
/// at which something is due or is delivered.
///
/// All that a transaction causes is queued and logged before any of it is sent, and is committed by one store. So the next
/// daemon knows of everything that anybody has read; and everything that it knows of has been sent, or is in the log to be
/// sent. If half of a transaction were visible, replaying it would cause the other half where nobody hears it. For the
/// same reason no compaction begins within a transaction, since it commits; the one that ends a take-over commits it.
///
/// Plain posts are no transactions: the counter slots have what they cause as soon as it is queued.
extension BusServer {
  var isInTransaction: Bool { iteration.transactionDepth > 0 }

  /// The core is about to take something, which is in the log already.
  func beginTransaction() { iteration.transactionDepth += 1 }

  /// All that the transaction causes is queued.
  func endTransaction() {
    iteration.transactionDepth -= 1
    guard !isInTransaction else { return }
    noteBufferedOfAll()
    commit()
    if !iteration.overSoftLimit.isEmpty { flushOverSoftLimit() }
    if queuedByteCount > relievedAbove { relieveQueues() }
  }

  // MARK: Flushing before the iteration ends

  /// Bytes in a queue above which a connection that reads is flushed before the iteration ends, so that there is space
  /// for questions.
  var softLimit: Int { configuration.hardLimitBytes / 8 }

  /// One iteration can cause any number of replies and questions: the hard limit cannot wait for its end.
  func limitQueue(of connection: Connection, isNotification: Bool) {
    if !isNotification, !connection.isBlocked {
      guard !isInTransaction else {
        if iteration.overSoftLimit.last !== connection { iteration.overSoftLimit.append(connection) }
        return
      }
      flushEarly(connection)
    }
    guard connection.queue.byteCount > configuration.hardLimitBytes else { return }
    // Notifications may go first; what is left must not be dropped.
    if connection.flow != .flowing || connection.isBlocked {
      drop(from: connection, downTo: configuration.highMarkBytes)
    }
    if connection.queue.byteCount > configuration.hardLimitBytes, connection.isBlocked {
      closeLater(connection, WireError(.tooSlow, "\(connection.queue.byteCount) bytes waited to be read"))
    }
  }

  private func flushOverSoftLimit() {
    while let connection = iteration.overSoftLimit.popLast() {
      if connection.isServed, connection.queue.byteCount > softLimit {
        limitQueue(of: connection, isNotification: false)
      }
    }
  }

  /// Flushes before the iteration ends. Posts that are to be delivered before anything is written come first.
  func flushEarly(_ connection: Connection) {
    if bus.hasSoonPosts { deliverSoon() }
    if !connection.isBlocked { flush(connection) }
  }
}
