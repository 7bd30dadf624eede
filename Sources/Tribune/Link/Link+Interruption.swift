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

  /// The connection that was to follow has ended, too.
  ///
  /// - Parameter received: how many notifications had come over it; nil if it had not come to that.
  func abandonRenewal(received: UInt64?) {
    let casualties = state.withLock { state in
      if let received { state.notePredecessor(received: received) }
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
    if reopening.lost == nil { tell(.interrupted, .interrupted) }
    events?(.reconnected(lost: reopening.lost))
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
