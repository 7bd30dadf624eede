// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// What is told when a connection is lost, and when there is another. Called by the link's own thread.
extension Link {
  /// The bus is gone, and is to be looked for.
  ///
  /// - Parameter received: how many notifications had come.
  func interrupt(received: UInt64) {
    state.withLock { state in
      state.interrupt()
      state.notePredecessor(received: received)
      epoch.add(1, ordering: .relaxed)
    }
    UnixSocket.shutdown(socket)
  }

  /// The bus has said why it closes the connection.
  ///
  /// - Returns: whether that is the end. Else reading comes to its end now, and the bus is looked for.
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

  /// Tells everybody whom the loss concerns.
  ///
  /// - Returns: false while somebody is still writing to the old connection, who will wake the thread.
  func settleInterruption() -> Bool {
    let (casualties, cause) = state.withLock { ($0.settleInterruption(at: .now), $0.interruption.cause) }
    guard let casualties else { return false }
    for settlement in casualties.settlements { settlement.deliver() }
    // How those queries end nobody can tell these delegates any more.
    for question in casualties.questions { question.conclude(.cancelled, here: false) }
    events?(.disconnected(cause))
    return true
  }

  /// The connection that was to follow has ended, too. What came over it waits behind the places that are kept, and
  /// is dropped with them: so it has received nothing, and what it missed is all that was sent to it.
  ///
  /// - Parameter isWelcomed: whether the bus knows it.
  func abandonRenewal(isWelcomed: Bool) {
    let casualties = state.withLock { state in
      if isWelcomed { state.notePredecessor(received: 0) }
      epoch.add(1, ordering: .relaxed)
      return state.abandonRenewal()
    }
    for question in casualties.questions { question.conclude(.cancelled, here: false) }
  }

  /// Fails what has waited for a connection for as long as it may.
  func expireWaiting() {
    for settlement in state.withLock({ $0.expire(at: .now) }) { settlement.deliver() }
  }

  /// Has all go on, once the bus has everything that was registered before.
  func reopen() {
    let reopening = state.withLock { $0.reopen(at: .now) }
    for settlement in reopening.settlements { settlement.deliver() }
    fillPlaces(lost: reopening.missed, isLossKnown: reopening.isLossKnown)
    events?(.reconnected(lost: reopening.isLossKnown ? reopening.missed : nil))
  }

  /// Has what comes over the next connection wait, for everybody, until it is known what was missed before it.
  func keepPlaces() {
    let (streams, trafficStreams, delegates) = state.withLock { state in
      (state.renewedStreams, state.trafficStreams, state.allReceivers)
    }
    for stream in streams { stream.keepPlace() }
    for stream in trafficStreams { stream.keepPlace() }
    for (_, attached) in delegates { attached.keepPlace() }
  }

  /// Tells everybody what was missed, before what has come since.
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
      // It has come meanwhile.
      guard liveStreams.contains(where: { $0 === stream }) else { continue }
      for word in words { stream.deliver(word) }
    }
    for stream in trafficStreams where !stream.fillPlace(with: trafficWords) {
      for word in trafficWords { stream.deliver(word) }
    }
    tell(delegates) { $0.fillPlace(with: words) }
  }

  /// Tells everybody who receives notifications something that can have been about anybody's.
  func tell(_ delivery: Delivery, _ traffic: TrafficDelivery) {
    let (streams, trafficStreams, delegates) = state.withLock { state in
      (state.liveStreams, state.trafficStreams, state.allReceivers)
    }
    for stream in streams { stream.deliver(delivery) }
    for stream in trafficStreams { stream.deliver(traffic) }
    deliver(delivery, to: delegates)
  }
}
