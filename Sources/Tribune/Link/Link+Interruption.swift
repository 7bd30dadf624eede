// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// What happens when a connection is lost, and when there is another. Called by the link's own thread.
extension Link {
  /// Records that the bus is gone; the thread then looks for it.
  ///
  /// - Parameter received: the number of notifications that had come.
  func interrupt(received: UInt64) {
    state.withLock { state in
      state.interrupt()
      state.notePredecessor(received: received)
      epoch.add(1, ordering: .relaxed)
    }
    UnixSocket.shutdown(socket)
  }

  /// Handles the error with which the bus closes the connection.
  ///
  /// - Returns: whether it is final. If not, reading ends now, and the thread looks for the bus.
  func noteLastWords(_ error: TribuneError, _ code: ErrorCode?) -> Bool {
    let isFinal = state.withLock { state -> Bool in
      switch (state.phase, code) {
      case (.open, .restarted) where state.patience > .zero: state.interruption.cause = error
      case (.interrupted, .restarted), (.interrupted, .shuttingDown), (.interrupted, .tooManyConnections),
        (.interrupted, .outOfMemory), (.interrupted, .helloTimeout):
        state.interruption.failure = error
      default:
        state.refusal = error
        return true
      }
      return false
    }
    if !isFinal { UnixSocket.shutdown(socket) }
    return isFinal
  }

  /// Fails what the lost connection leaves unanswered, and reports the loss.
  ///
  /// - Returns: false while a caller still writes to the old connection; that caller will wake the thread.
  func settleInterruption() -> Bool {
    let (casualties, cause) = state.withLock { ($0.settleInterruption(at: .now), $0.interruption.cause) }
    guard let casualties else { return false }
    for settlement in casualties.settlements { settlement.deliver() }
    // Nobody can learn any more how these queries end.
    for question in casualties.questions { question.conclude(.cancelled, here: false) }
    events?(.disconnected(cause))
    return true
  }

  /// Handles the end of a new connection before everything was registered again. What came over it waits behind the
  /// reserved positions and is dropped with them. So it has received nothing, and has missed all that was sent to it.
  ///
  /// - Parameter isWelcomed: whether the bus had sent its welcome, and so knows the connection.
  func abandonRenewal(isWelcomed: Bool) {
    let casualties = state.withLock { state in
      if isWelcomed { state.notePredecessor(received: 0) }
      epoch.add(1, ordering: .relaxed)
      return state.abandonRenewal()
    }
    for question in casualties.questions { question.conclude(.cancelled, here: false) }
  }

  /// Fails requests that have waited for a connection until their deadlines.
  func expireWaiting() {
    for settlement in state.withLock({ $0.expire(at: .now) }) { settlement.deliver() }
  }

  /// Resumes normal operation, once the bus has everything that was registered before.
  func reopen() {
    let reopening = state.withLock { $0.reopen(at: .now) }
    for settlement in reopening.settlements { settlement.deliver() }
    fillPlaces(lost: reopening.missed, isLossKnown: reopening.isLossKnown)
    events?(.reconnected(lost: reopening.isLossKnown ? reopening.missed : nil))
  }

  /// Reserves a position everywhere for the report of what was missed, before the deliveries of the next connection.
  func keepPlaces() {
    let (streams, trafficStreams, delegates) = state.withLock { state in
      (state.renewedStreams, state.trafficStreams, state.allReceivers)
    }
    for stream in streams { stream.keepPlace() }
    for stream in trafficStreams { stream.keepPlace() }
    for (_, attached) in delegates { attached.keepPlace() }
  }

  /// Reports what was missed, before what has come since.
  private func fillPlaces(lost: UInt64, isLossKnown: Bool) {
    var words: [Delivery] = []
    var trafficWords: [TrafficDelivery] = []
    if lost > 0 {
      words.append(.lost(Int(clamping: lost)))
      trafficWords.append(.lost(Int(clamping: lost)))
    }
    if !isLossKnown {
      words.append(.interrupted)
      trafficWords.append(.interrupted)
    }
    let (streams, liveStreams, trafficStreams, delegates) = state.withLock { state in
      (state.streams(where: { _ in true }), state.liveStreams, state.trafficStreams, state.allReceivers)
    }
    for stream in streams where !stream.fillPlace(with: words) {
      // This stream was added meanwhile, without a reserved position.
      guard liveStreams.contains(where: { $0 === stream }) else { continue }
      for word in words { stream.deliver(word) }
    }
    for stream in trafficStreams where !stream.fillPlace(with: trafficWords) {
      for word in trafficWords { stream.deliver(word) }
    }
    tell(delegates) { $0.fillPlace(with: words) }
  }

  /// Delivers a report to all that receive notifications, because it can concern any of them.
  func tell(_ delivery: Delivery, _ traffic: TrafficDelivery) {
    let (streams, trafficStreams, delegates) = state.withLock { state in
      (state.liveStreams, state.trafficStreams, state.allReceivers)
    }
    for stream in streams { stream.deliver(delivery) }
    for stream in trafficStreams { stream.deliver(traffic) }
    deliver(delivery, to: delegates)
  }
}
