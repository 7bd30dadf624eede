// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension LinkState {
  /// Returns the frames that follow the hello on a new connection: the limit, then the suspension,
  /// registrations and bound posts in the original order, then the predecessors. Also returns the delegates,
  /// which the caller must release after unlocking.
  mutating func beginRenewal() -> (frames: [UInt8], delegates: [any Delegate]) {
    guard let interruption else { return ([], []) }
    var delegates: [any Delegate] = []
    var keys: [Serial: ObservationKey] = [:]
    for (key, observation) in observations where observation.serial <= interruption.lastSerial {
      keys[observation.serial] = key
    }
    for case (let serial, .attachment(let attached)) in registrations {
      if let delegate = attached.delegate {
        delegates.append(delegate)
      } else {
        removeRegistration(serial)
      }
    }
    var frames: [(serial: Serial, bytes: [UInt8])] = []
    for (serial, bytes) in registered where serial <= interruption.lastSerial {
      if requests[serial] == nil { requests[serial] = .renewal(keys[serial]) }
      frames.append((serial, bytes))
    }
    frames += bound.values.filter { $0.serial <= interruption.lastSerial }.map { ($0.serial, $0.frame) }
    for (serial, request) in requests where serial <= interruption.lastSerial {
      guard case .suspension(_, let isSuspended) = request else { continue }
      frames.append((serial, Suspend(isSuspended: isSuspended).frame(serial: serial)))
    }
    frames.sort { $0.serial < $1.serial }
    var bytes = Room(limit: flow.restart()).frame(serial: 0)
    if isSuspended { bytes += Suspend(isSuspended: true).frame(serial: nextSerial()) }
    for frame in frames { bytes += frame.bytes }
    for predecessor in interruption.predecessors {
      let serial = nextSerial()
      requests[serial] = .succession
      bytes += predecessor.frame(serial: serial)
    }
    changeInterruption {
      $0.successions = interruption.predecessors.count
      $0.failure = nil
    }
    return (bytes, delegates)
  }

  /// - Parameter isWelcomed: true if the bus has welcomed the connection, which then becomes a predecessor.
  mutating func abandonRenewal(isWelcomed: Bool, because error: TribuneError) -> [Action] {
    guard isInterrupted else { return [] }
    invalidateObservations()
    // The streams drop the deliveries behind the reserved positions, so everything that came over this
    // connection counts as missed.
    if isWelcomed { addPredecessor(received: 0) }
    let actions = sift { frame in
      switch frame.purpose {
      case .answer: .dropped
      case .deferral: frame.wantsReply ? .kept : .dropped
      case .post, .request, .registration, .suspension, .cancel, .other: .kept
      }
    }
    for (serial, request) in requests {
      if case .succession = request { requests[serial] = nil }
    }
    changeInterruption {
      $0.failure = $0.failure ?? error
      $0.successions = nil
      // The link asks the next bus about the same predecessors, and that bus reports these losses again.
      $0.missed = 0
    }
    return actions + takeQuestions()
  }

  mutating func countSuccession(isLossKnown: Bool) {
    changeInterruption {
      $0.successions? -= 1
      if !isLossKnown { $0.isLossKnown = false }
    }
  }

  /// Returns true during an interruption: the link then reports the loss later, at the reserved positions.
  mutating func deferLoss(of count: UInt64) -> Bool {
    changeInterruption { $0.missed = $0.missed.saturatingAdding(count) }
    return isInterrupted
  }

  /// Handles a refusal. A refused renewal ends the connection, except for an expired hold and for an
  /// attachment with `onRefusal`.
  ///
  /// - Parameter nanoseconds: the time of the host's monotonic clock.
  mutating func receiveRefusal(of serial: Serial, _ error: TribuneError, now nanoseconds: UInt64) -> [Action]
  {
    // The registration may have been taken back before the refusal arrived.
    guard case .renewal = requests[serial], registered[serial] != nil else { return [refuse(serial, error)] }
    if let actions = endAlone(serial, error) {
      requests[serial] = nil
      return actions
    }
    guard case .hold(let term) = registrations[serial], term.expiry > 0, term.expiry <= nanoseconds else {
      return end(.notRenewed(error))
    }
    requests[serial] = nil
    removeRegistration(serial)
    return [.endHold(term, hasExpired: true)]
  }
}
