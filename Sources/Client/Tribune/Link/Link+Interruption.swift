// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// The link's thread calls these methods when it loses a connection, when the next connection begins, and
/// when the bus reports a loss.
extension Link {
  /// Returns false while a caller still writes to the old connection; that caller will wake the thread.
  func finishOldConnection() -> Bool {
    let (actions, cause) = state.withLock { ($0.finishOldConnection(), $0.interruption?.cause) }
    guard let actions, let cause else { return false }
    perform(actions)
    events?(.disconnected(cause))
    return true
  }

  func reopen() -> Bool {
    guard let reopening = state.withLock({ $0.reopen(at: .now) }) else { return false }
    perform(reopening.actions)
    fillPositions(lost: reopening.missed, isLossKnown: reopening.isLossKnown)
    events?(.reconnected(lost: reopening.isLossKnown ? reopening.missed : nil))
    return true
  }

  /// Reserves positions for the loss reports. Must be called before the next connection's first delivery.
  func reservePositions() {
    let (streams, trafficStreams, delegates) = state.withLock { state in
      (state.renewedStreams, state.trafficStreams, state.allReceivers)
    }
    for stream in streams { stream.reservePosition() }
    for stream in trafficStreams { stream.reservePosition() }
    for attached in delegates { attached.reservePosition() }
  }

  private func fillPositions(lost: UInt64, isLossKnown: Bool) {
    func lossReports<Element: LossReporting>() -> [Element] {
      (lost > 0 ? [.lost(Int(clamping: lost))] : []) + (isLossKnown ? [] : [.interrupted])
    }
    let (deliveries, trafficDeliveries): ([Delivery], [TrafficDelivery]) = (lossReports(), lossReports())
    let (streams, liveStreams, trafficStreams, delegates) = state.withLock { state in
      (state.streams(where: { _ in true }), state.liveStreams, state.trafficStreams, state.allReceivers)
    }
    for stream in streams where !stream.fillPosition(with: deliveries) {
      // The stream was added after the positions were reserved. Such a stream can have missed notifications
      // only if it belongs to a renewed observation.
      guard liveStreams.contains(where: { $0 === stream }) else { continue }
      for report in deliveries { stream.deliver(report) }
    }
    for stream in trafficStreams where !stream.fillPosition(with: trafficDeliveries) {
      for report in trafficDeliveries { stream.deliver(report) }
    }
    scheduleDeliveries(to: delegates) { $0.fillPosition(with: deliveries) }
  }

  func deliverLost(_ count: Int) {
    let (streams, trafficStreams, delegates) = state.withLock { state in
      (state.liveStreams, state.trafficStreams, state.allReceivers)
    }
    for stream in streams { stream.deliver(.lost(count)) }
    for stream in trafficStreams { stream.deliver(.lost(count)) }
    deliver(.lost(count), to: delegates)
  }
}
