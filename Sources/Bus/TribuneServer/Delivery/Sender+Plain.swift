// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// The fast path of plain posts.
extension Sender {
  /// Queues the run for all receivers, or for none.
  ///
  /// - Returns: false if a receiver must not get the run at once, or could exceed a limit.
  @inline(__always) func deliverPlain(
    _ run: ByteSlice, count: Int, to receivers: [Receiver], from poster: ConnectionSlot
  ) -> Bool {
    guard areAllPlain(receivers, run, count, from: poster) else { return false }
    let isCopied = OutboundQueue.copies(run)
    for receiver in receivers {
      guard let observer = sessions.output(at: receiver.slot) else {
        preconditionFailure("slot \(receiver.slot.index) of a receiver has no session")
      }
      if !isCopied || !observer.value.queue.extendOpenEntry(by: run, isNotification: true, count: count) {
        observer.value.queue.append(run, isNotification: true, count: count, copyingInto: queuePool)
      }
      observer.value.takeRoom(count)
      recorder.countQueued(count, at: receiver.slot, &observer.value)
      if observer.value.flush != .scheduled, let session = sessions[receiver.slot] { scheduleFlush(session) }
    }
    queuedByteCount += run.count * receivers.count
    return true
  }

  /// Checks all receivers before the first one gets the run. The receivers' memory is rarely in the cache. In
  /// this loop, the processor can fetch it for many receivers at the same time.
  private func areAllPlain(
    _ receivers: [Receiver], _ run: ByteSlice, _ count: Int, from poster: ConnectionSlot
  ) -> Bool {
    guard queuedByteCount + run.count * receivers.count <= relievedAbove else { return false }
    let queuedMax = context.configuration.queue.highMarkBytes - run.count
    for receiver in receivers {
      guard case .now = receiver.way, let observer = sessions.output(at: receiver.slot),
        observer.value.accepts(from: poster), observer.value.queue.byteCount <= queuedMax,
        observer.value.room >= count
      else { return false }
    }
    return true
  }
}
