// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

// Between two connections, the link renews registrations, keeps requests waiting and counts losses.
//
// Serials continue over all connections of a link, so the link never mistakes a reply to an old request for a
// reply to a new one. A registration keeps its serial on each new connection.

extension LinkState {
  struct Interruption {
    /// The last serial before the interruption. Registrations with higher serials wait in the outbox, and
    /// need no renewal.
    let lastSerial: Serial
    let cause: TribuneError
    var failure: TribuneError?
    var closingDeadline: Instant?
    /// The lost connections, with the number of notifications that each had received.
    var predecessors: [Succeed] = []
    /// The number of predecessors about which the bus has not replied yet; nil outside a renewal.
    var successions: Int?
    /// False if the number of notifications that a predecessor missed is unknown.
    var isLossKnown = true
    var missed: UInt64 = 0
  }

  /// The number of predecessors that the link remembers. The losses of older predecessors remain unknown.
  private static let predecessorsMax = 4

  /// Begins a new epoch. Marks all observations as unknown to the bus, until the link renews them.
  mutating func invalidateObservations() {
    epoch += 1
    for key in observations.keys { observations[key]?.isLive = false }
  }

  mutating func addPredecessor(received: UInt64) {
    guard let connection = session?.connection else { return }
    changeInterruption {
      $0.predecessors.append(Succeed(predecessor: connection, received: received))
      guard $0.predecessors.count > Self.predecessorsMax else { return }
      $0.predecessors.removeFirst()
      $0.isLossKnown = false
    }
  }

  /// Fails the requests that the bus has possibly received. Requests that register, suspend, or take a
  /// registration back do not fail: the link completes them on the next connection. Unsent requests wait for
  /// the next connection. Returns nil while a caller still writes to the old connection.
  mutating func finishOldConnection() -> [Action]? {
    guard let lastSerial = interruption?.lastSerial, outbox.isInterrupted else { return nil }
    var unsent: [Serial: UInt32] = [:]
    let (before, patience) = (entries, defaultPatience)
    var actions = sift { frame in
      let serial = frame.header.serial
      switch frame.purpose {
      case .post where !frame.wantsReply: return .kept
      case .post, .request:
        guard before[serial] != nil else { return .dropped }
        unsent[serial] = frame.deadline > 0 ? frame.deadline : patience
        return .kept
      // The renewal replaces the frames with serials up to `lastSerial`. The others wait for the next
      // connection.
      case .registration, .suspension, .cancel: return serial > lastSerial ? .kept : .dropped
      // These frames refer to ids of the old bus, which a new bus does not know.
      case .answer, .deferral, .other: return .dropped
      }
    }
    retirements = [:]
    for (serial, entry) in before {
      if let deadline = unsent[serial] {
        entries[serial]?.setEnd(after: deadline)
        continue
      }
      switch entry.subject {
      case .registration, .suspension, .takingBack: continue
      case .retirement, .succession: entries[serial] = nil
      case .plain, .awaitedPost, .query, .list, .amendment: actions.append(refuse(serial, .unknownOutcome))
      }
    }
    return actions + takeQuestions()
  }

  mutating func sift(_ fate: (FrameView) -> OutgoingBatch.Fate) -> [Action] {
    let waiters = outbox.sift(fate)
    return waiters.isEmpty ? [] : [.resumeAll(waiters, .success(()))]
  }

  mutating func takeQuestions() -> [Action] {
    defer { questions = [:] }
    return questions.values.map { .cancel($0) }
  }

  // MARK: Waiting requests

  struct Due {
    var actions: [Action] = []
    /// True if the link has ended. Also true if the link is closing and must end now, because either no post
    /// waits or the deadline has passed.
    var isOver = false
    var next: Instant?
  }

  mutating func takeDue(at now: Instant) -> Due {
    guard let interruption else { return Due(isOver: true) }
    var due = Due()
    if let deadline = outbox.nextCapacityDeadline, deadline <= now {
      due.actions.append(failOverdue(at: now))
    }
    due.next = [interruption.closingDeadline, outbox.nextCapacityDeadline].compactMap { $0 }.min()
    for (serial, entry) in entries {
      guard let end = entry.deadline?.end else { continue }
      if end <= now {
        due.actions.append(refuse(serial, .notSentInTime))
      } else {
        due.next = min(due.next ?? end, end)
      }
    }
    if let deadline = interruption.closingDeadline {
      due.actions += sift { $0.header.kind == .post ? .kept : .dropped }
      due.isOver = deadline <= now || !outbox.hasUnsent
    }
    return due
  }

  // MARK: Going on

  struct Reopening {
    var actions: [Action] = []
    var missed: UInt64
    var isLossKnown: Bool
  }

  /// Ends an interruption. Refuses waiting frames that are too long for the new bus, or have a file that the
  /// new bus does not accept: for such a frame, the bus would end the connection.
  mutating func finish(_ interruption: Interruption, at now: Instant) -> Reopening {
    var reopening = Reopening(missed: interruption.missed, isLossKnown: interruption.isLossKnown)
    let before = entries
    for (serial, entry) in before {
      entries[serial]?.deadline?.end = nil
      // The link did not renew the registration that this request takes back. The new bus therefore does not
      // have the registration, and the request succeeds.
      if case .takingBack = entry.subject, serial <= interruption.lastSerial {
        entries[serial] = nil
        reopening.actions.append(entry.resume(.success(.okay(Okay()))))
      }
    }
    let (payloadMax, acceptsFiles) = (payloadMax, session?.acceptsFiles == true)
    var dropped: Set<Serial> = []
    var shortened: Set<Serial> = []
    var refused: [(Serial, TribuneError)] = []
    reopening.actions += sift { frame in
      let serial = frame.header.serial
      let length = frame.userInfoLength
      if length > payloadMax || (!acceptsFiles && frame.header.flags.contains(.descriptor)) {
        refused.append((serial, length > payloadMax ? .payloadTooLong(length, payloadMax) : .fileNotAccepted))
        dropped.insert(serial)
        return .dropped
      }
      switch frame.purpose {
      case .post where !frame.wantsReply, .deferral where !frame.wantsReply: return .kept
      case .registration, .post, .request, .deferral:
        guard let entry = before[serial] else {
          dropped.insert(serial)
          return .dropped
        }
        guard frame.deadline > 0, let deadline = entry.deadline, deadline.end != nil else { return .kept }
        shortened.insert(serial)
        return .shortened(frame.deadline.shortened(by: deadline.start.duration(to: now)))
      // The bus never sees the frame that this `cancel` refers to, because the link dropped that frame.
      case .cancel where before[serial] == nil && frame.cancelledSerial.map(dropped.contains) == true:
        return .dropped
      case .suspension, .answer, .cancel, .other: return .kept
      }
    }
    for serial in shortened { entries[serial]?.deadline?.start = now }
    reopening.actions += refused.map { refuse($0, $1) }
    reopening.actions.append(.resumeAll(outbox.resume(), .success(())))
    return reopening
  }
}

extension FrameFields {
  func frame(serial: Serial, _ message: Link.Message = Link.Message()) -> [UInt8] {
    let buffer = ByteBuffer(capacity: 256)
    buffer.appendFrame(
      self, serial: serial, name: message.name, object: message.object, payload: message.payload.rawBytes)
    return [UInt8](buffer.bytes)
  }

  func shortened(by span: Duration) -> Self {
    guard deadline > 0 else { return self }
    var fields = self
    fields.deadline = deadline.shortened(by: span)
    return fields
  }
}

extension UInt32 {
  fileprivate func shortened(by span: Duration) -> UInt32 {
    guard self > 0 else { return 0 }
    let (seconds, attoseconds) = span.components
    let elapsed = seconds.multipliedReportingOverflow(by: 1000)
    guard !elapsed.overflow, elapsed.partialValue < Int64(self) else { return 1 }
    return UInt32(Swift.max(1, Int64(self) - elapsed.partialValue - attoseconds / 1_000_000_000_000_000))
  }
}

extension TribuneError {
  static let unknownOutcome = TribuneError(
    .connectionLost, "the connection to the bus was lost, and the outcome of this request is unknown")
  /// The error of a waiting frame whose file the new bus does not accept. The link could encode the frame
  /// again without the file, but does not.
  static let fileNotAccepted = TribuneError(.payloadTooLong, "the new bus accepts no userInfo in a file")
  static func notRenewed(_ error: TribuneError) -> TribuneError {
    TribuneError(error.code, "after an interruption, the bus refuses a registration: \(error.message)")
  }

  static let notSentInTime = TribuneError(
    .connectionLost, "the deadline of this request passed before it could be sent to the bus")
}
