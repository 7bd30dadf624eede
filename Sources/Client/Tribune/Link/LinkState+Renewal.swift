// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension LinkState {
  /// Prepares to send every registration over a new connection, in the original order. Returns also the delegates,
  /// because the last reference to one must not end under the lock.
  mutating func beginRenewal() -> (streams: [DeliveryStream<Delivery>], delegates: [any Delegate]) {
    guard let interruption else { return ([], []) }
    var streams: [DeliveryStream<Delivery>] = []
    var delegates: [any Delegate] = []
    var keys: [Serial: ObservationKey] = [:]
    for (key, observation) in observations where observation.serial <= interruption.lastSerial {
      keys[observation.serial] = key
      if key.snapshotStream != nil { streams += observation.streams }
    }
    for case (let serial, .attachment(let attached)) in registrations {
      if let delegate = attached.delegate {
        delegates.append(delegate)
      } else {
        removeRegistration(serial)
      }
    }
    var frames: [RenewalFrame] = []
    for (serial, bytes) in registered where serial <= interruption.lastSerial {
      if requests[serial] == nil { requests[serial] = .renewal(keys[serial]) }
      frames.append(
        RenewalFrame(serial: serial, bytes: bytes, bringsSnapshot: keys[serial]?.snapshotStream != nil))
    }
    for (serial, request) in requests where serial <= interruption.lastSerial {
      guard case .suspension(_, let isSuspended) = request else { continue }
      frames.append(RenewalFrame(Suspend(isSuspended: isSuspended), serial: serial))
    }
    frames.sort { $0.serial < $1.serial }
    if isSuspended { frames.insert(RenewalFrame(Suspend(isSuspended: true), serial: nextSerial()), at: 0) }
    for predecessor in interruption.predecessors {
      let serial = nextSerial()
      requests[serial] = .succession
      frames.append(RenewalFrame(predecessor, serial: serial))
    }
    changeInterruption {
      $0.renewal = Renewal(frames: frames[...], successions: interruption.predecessors.count)
      $0.failure = nil
    }
    return (streams, delegates)
  }

  /// - Parameter isWelcomed: true if the bus knows the connection.
  mutating func abandonRenewal(isWelcomed: Bool, because error: TribuneError) -> [Action] {
    guard isInterrupted else { return [] }
    invalidateObservations()
    // That connection's deliveries, behind the reserved positions, are dropped. So it has received nothing.
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
      $0.renewal = nil
      // These losses were reported over the lost connection, and the report is void with it.
      $0.missed = 0
    }
    return actions + takeQuestions()
  }

  mutating func nextRenewals() -> [UInt8] {
    var bytes: [UInt8] = []
    changeInterruption {
      guard $0.renewal?.awaited == nil else { return }
      while let frame = $0.renewal?.frames.popFirst() {
        bytes += frame.bytes
        if frame.bringsSnapshot {
          $0.renewal?.awaited = frame.serial
          break
        }
      }
    }
    return bytes
  }

  mutating func markRenewed(_ serial: Serial) {
    changeInterruption { if $0.renewal?.awaited == serial { $0.renewal?.awaited = nil } }
  }

  mutating func countSuccession(isLossKnown: Bool) {
    changeInterruption {
      $0.renewal?.successions -= 1
      if !isLossKnown { $0.isLossKnown = false }
    }
  }

  /// True if the loss is reported later, at the reserved positions.
  mutating func deferLoss(of count: UInt64) -> Bool {
    changeInterruption { $0.missed = $0.missed.saturatingAdding(count) }
    return isInterrupted
  }

  /// A refused renewal ends the connection, unless it was of an expired hold.
  ///
  /// - Parameter nanoseconds: the host's monotonic clock.
  mutating func receiveRefusal(of serial: Serial, _ error: TribuneError, now nanoseconds: UInt64) -> [Action]
  {
    // The registration may have been taken back by then.
    guard case .renewal = requests[serial], registered[serial] != nil else { return [refuse(serial, error)] }
    guard case .hold(let term) = registrations[serial], term.expiry > 0, term.expiry <= nanoseconds else {
      return end(.notRenewed(error))
    }
    requests[serial] = nil
    removeRegistration(serial)
    return [.endHold(term, hasExpired: true)]
  }
}

extension LinkState.RenewalFrame {
  fileprivate init(_ fields: some FrameFields, serial: Serial) {
    self.init(serial: serial, bytes: fields.frame(serial: serial), bringsSnapshot: false)
  }
}
