// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension LinkState {
  /// Returns the frames that follow the hello on a new connection. First comes the limit of notifications
  /// (`room`), then the suspension, registrations and bound posts in the original order. A question about
  /// each lost connection (`succeed`) comes last. Also returns the delegates, which the caller must release
  /// after unlocking, because their deinitializers can use the link.
  mutating func beginRenewal() -> (frames: [UInt8], delegates: [any Delegate]) {
    guard let interruption else { return ([], []) }
    var delegates: [any Delegate] = []
    var frames: [(serial: Serial, bytes: [UInt8])] = []
    for (serial, entry) in entries {
      if let attached = entry.attached {
        guard let delegate = attached.delegate else {
          removeRegistration(serial)
          continue
        }
        delegates.append(delegate)
      }
      guard serial <= interruption.lastSerial else { continue }
      if case .suspension(let isSuspended) = entry.subject {
        frames.append((serial, Suspend(isSuspended: isSuspended).frame(serial: serial)))
      } else if let frame = entry.frame {
        if case .registered = entry.stage { entries[serial]?.stage = .renewing }
        frames.append((serial, frame))
      }
    }
    frames += bound.values.filter { $0.serial <= interruption.lastSerial }.map { ($0.serial, $0.frame) }
    frames.sort { $0.serial < $1.serial }
    var bytes = Room(limit: flow.restart()).frame(serial: 0)
    if isSuspended { bytes += Suspend(isSuspended: true).frame(serial: nextSerial()) }
    for frame in frames { bytes += frame.bytes }
    for predecessor in interruption.predecessors {
      let serial = nextSerial()
      entries[serial] = LinkEntry(subject: .succession, stage: .requested(nil))
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
    for (serial, entry) in entries {
      if case .succession = entry.subject { entries[serial] = nil }
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

  /// During an interruption, counts the loss and returns true: the link reports the loss later, at the
  /// reserved positions. Otherwise, returns false.
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
    guard let entry = entries[serial], case .renewing = entry.stage else { return [refuse(serial, error)] }
    if let actions = endAlone(serial, error) { return actions }
    guard case .hold(let term)? = entry.confirmed, term.expiry > 0, term.expiry <= nanoseconds else {
      return end(.notRenewed(error))
    }
    removeRegistration(serial)
    return [.endHold(term, hasExpired: true)]
  }
}
