// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

// Between two connections: what is registered again, what waits for the bus, and what nobody knows.
//
// Serials continue over all connections of a link, and a registration keeps its own. So those who have a serial need
// not know that the registration was made again, and nothing left of an old connection can be mistaken for new.

extension LinkState {
  struct Interruption {
    /// The last serial that was given out before the connection was lost. Registrations with later serials wait in
    /// the outbox and are not renewed.
    var lastSerial: Serial = 0
    /// Why the connection was lost, and why there is no new one yet.
    var cause = TribuneError(.connectionLost, "the bus closed the connection")
    var failure: TribuneError?
    /// Connections that the next one succeeds, with the number of notifications that each had received.
    var predecessors: [Succeed] = []
    /// Frames that are still to be sent before the new connection is equivalent to the last one.
    var renewals: ArraySlice<RenewalFrame> = []
    /// The serial that the bus must confirm before more is sent.
    var awaited: Serial?
    /// The number of predecessors about which the bus has not answered yet.
    var successions = 0
    /// Whether `missed` is complete: no predecessor's loss is unknown.
    var isLossKnown = true
    var missed: UInt64 = 0
    /// Requests that wait for a connection: since when, and until when at most.
    var waiting: [Serial: (since: ContinuousClock.Instant, until: ContinuousClock.Instant)] = [:]
  }

  struct RenewalFrame {
    let serial: Serial
    let bytes: [UInt8]
    /// Retained notifications come with its confirmation, and must be read before the next frame is sent.
    let bringsSnapshot: Bool
  }

  /// What the loss of the connection ends at once.
  struct Casualties {
    var settlements: [Settlement] = []
    var questions: [OpenQuestion] = []
  }

  /// The most predecessors to ask about; what older ones missed remains unknown.
  private static let predecessorsMax = 4

  mutating func interrupt() {
    phase = .interrupted
    interruption.lastSerial = lastSerial
    outbox.interrupt()
  }

  mutating func notePredecessor(received: UInt64) {
    guard let identity else { return }
    interruption.predecessors.append(Succeed(predecessor: identity.connection, received: received))
    guard interruption.predecessors.count > Self.predecessorsMax else { return }
    interruption.predecessors.removeFirst()
    interruption.isLossKnown = false
  }

  /// Fails requests that the bus may have received and has not answered. Those that it cannot have received wait for
  /// the next connection; registrations are sent again.
  ///
  /// - Returns: nil while a caller is still writing to the old connection.
  mutating func settleInterruption(at now: ContinuousClock.Instant) -> Casualties? {
    guard outbox.isInterrupted else { return nil }
    var unsent: Set<Serial> = []
    var deadlines: [(Serial, UInt32)] = []
    let (requests, lastSerial) = (requests, interruption.lastSerial)
    outbox.sift { frame in
      let serial = frame.header.serial
      switch frame.header.kind {
      case .post where !frame.wantsReply: return .kept
      case .post, .ask, .list:
        guard requests[serial] != nil else { return .dropped }
        unsent.insert(serial)
        if frame.deadline > 0 { deadlines.append((serial, frame.deadline)) }
        return .kept
      case .observe, .attach, .hold, .declare, .monitor, .suspend:
        return serial > lastSerial ? .kept : .dropped
      // It refers to ids of the old bus, and the next one may be another.
      default: return .dropped
      }
    }
    for (serial, deadline) in deadlines { noteWaiting(serial, deadline, at: now) }
    retirements = [:]
    var casualties = Casualties()
    for (serial, request) in requests where !unsent.contains(serial) {
      switch request {
      case .observation, .attachment, .registration, .monitor, .suspension, .takingBack, .renewal: continue
      case .retirement, .succession: self.requests[serial] = nil
      case .okay, .awaited, .verdict, .entries:
        if let settlement = refuse(serial, .unknownOutcome) { casualties.settlements.append(settlement) }
      }
    }
    casualties.questions = takeQuestions()
    return casualties
  }

  /// Removes all open questions; nobody will report how their queries end.
  private mutating func takeQuestions() -> [OpenQuestion] {
    defer { questions = [:] }
    return Array(questions.values)
  }

  // MARK: What waits

  /// - Parameter deadline: milliseconds from now.
  private mutating func noteWaiting(_ serial: Serial, _ deadline: UInt32, at now: ContinuousClock.Instant) {
    interruption.waiting[serial] = (now, now.advanced(by: .milliseconds(Int(deadline))))
  }

  /// Bounds the waiting of a request by its own deadline.
  ///
  /// - Returns: whether the thread must be woken.
  mutating func noteWaiting(_ serial: Serial, _ fields: some FrameFields) -> Bool {
    let deadline =
      switch fields {
      case let ask as Ask: ask.deadline
      case let post as Post: post.deadline
      default: UInt32(0)
      }
    guard deadline > 0 else { return false }
    noteWaiting(serial, deadline, at: .now)
    return true
  }

  var nextExpiry: ContinuousClock.Instant? { interruption.waiting.values.lazy.map(\.until).min() }

  /// Fails requests that have waited until their deadlines.
  mutating func expire(at now: ContinuousClock.Instant) -> [Settlement] {
    let over = interruption.waiting.filter { $0.value.until <= now }.map(\.key)
    return over.compactMap { serial in
      interruption.waiting[serial] = nil
      return refuse(serial, .neverSent)
    }
  }

  /// Whether a connection that is closing has nothing more to do, or has waited long enough. Posts still wait for a
  /// bus; all other frames are dropped.
  mutating func isOver(at now: ContinuousClock.Instant) -> Bool {
    guard let closingDeadline else { return false }
    outbox.sift { $0.header.kind == .post ? .kept : .dropped }
    return closingDeadline <= now || !outbox.hasUnsent
  }

  // MARK: Renewing

  /// Prepares to send every registration over a new connection, in the original order.
  ///
  /// - Returns: the streams whose snapshots come again.
  mutating func beginRenewal() -> [DeliveryStream<Delivery>] {
    var streams: [DeliveryStream<Delivery>] = []
    var keys: [Serial: ObservationKey] = [:]
    for (key, observation) in observations where observation.serial <= interruption.lastSerial {
      keys[observation.serial] = key
      observations[key]?.isLive = false
      if key.snapshotStream != nil { streams += observation.streams }
    }
    for (serial, attached) in attachments where attached.delegate == nil {
      attachments[serial] = nil
      registered[serial] = nil
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
    interruption.successions = interruption.predecessors.count
    interruption.renewals = frames[...]
    interruption.awaited = nil
    return streams
  }

  /// Handles the end of the new connection before it was equivalent to the last one.
  mutating func abandonRenewal() -> Casualties {
    outbox.sift { frame in
      switch frame.header.kind {
      case .answer, .done: .dropped
      case .defer where !frame.wantsReply: .dropped
      default: .kept
      }
    }
    for (serial, request) in requests {
      if case .succession = request { requests[serial] = nil }
    }
    interruption.renewals = []
    interruption.awaited = nil
    interruption.successions = 0
    // The report came over the connection that has ended, and counts among what that one missed.
    interruption.missed = 0
    return Casualties(questions: takeQuestions())
  }

  /// The frames to send next, up to the first one that must be confirmed before the rest.
  mutating func nextRenewals() -> [UInt8] {
    guard interruption.awaited == nil else { return [] }
    var bytes: [UInt8] = []
    while let frame = interruption.renewals.popFirst() {
      bytes += frame.bytes
      if frame.bringsSnapshot {
        interruption.awaited = frame.serial
        break
      }
    }
    return bytes
  }

  var isRenewed: Bool {
    interruption.renewals.isEmpty && interruption.awaited == nil && interruption.successions == 0
  }

  /// The bus has confirmed the renewal of a registration.
  mutating func noteRenewal(of serial: Serial, _ key: ObservationKey?, _ okay: Okay) -> Settlement? {
    attachments[serial]?.id.store(okay.delegate, ordering: .relaxed)
    holds[serial]?.id.store(okay.delegate, ordering: .relaxed)
    guard let key, observations[key]?.serial == serial else { return nil }
    observations[key]?.isLive = true
    return .plain(takeWaiting(key), .success(()))
  }

  /// The consequence of a refused renewal.
  enum RenewalRefusal {
    /// It was not a renewal.
    case none
    /// A hold has expired meanwhile.
    case expired(HoldTerm)
    /// The connection cannot be restored, and ends.
    case final
  }

  mutating func noteRefusal(ofRenewal serial: Serial, now nanoseconds: UInt64) -> RenewalRefusal {
    guard case .renewal = requests[serial] else { return .none }
    guard let term = holds[serial], term.expiry > 0, term.expiry <= nanoseconds else { return .final }
    requests[serial] = nil
    registered[serial] = nil
    holds[serial] = nil
    return .expired(term)
  }

  // MARK: Going on

  struct Reopening {
    var settlements: [Settlement] = []
    /// The number of notifications missed, and whether the bus could report all of them.
    var missed: UInt64
    var isLossKnown: Bool
  }

  /// Everything is registered again; what has waited is sent now.
  mutating func reopen(at now: ContinuousClock.Instant) -> Reopening {
    phase = closingDeadline == nil ? .open : .closing
    var reopening = Reopening(missed: interruption.missed, isLossKnown: interruption.isLossKnown)
    for (serial, request) in requests where serial <= interruption.lastSerial {
      // The registration was not renewed, so there is nothing to take back.
      if case .takingBack(let reply) = request {
        self.requests[serial] = nil
        reopening.settlements.append(.okay(reply, .success(Okay())))
      }
    }
    let (waiting, requests, registered) = (interruption.waiting, requests, registered)
    var dropped: Set<Serial> = []
    outbox.sift { frame in
      let serial = frame.header.serial
      switch frame.header.kind {
      case .post where !frame.wantsReply, .defer where !frame.wantsReply: return .kept
      case .observe, .attach, .hold, .declare, .monitor:
        guard registered[serial] == nil else { return .kept }
        dropped.insert(serial)
        return .dropped
      case .post, .ask, .list, .defer:
        guard requests[serial] != nil else {
          dropped.insert(serial)
          return .dropped
        }
        guard let since = waiting[serial]?.since else { return .kept }
        return .shortened(frame.deadline.shortened(by: since.duration(to: now)))
      // The bus never sees the frame that this cancels, and no caller waits for the reply.
      case .cancel where requests[serial] == nil && frame.target.map(dropped.contains) == true:
        return .dropped
      default: return .kept
      }
    }
    interruption = Interruption()
    reopening.settlements.append(.plain(outbox.resume(), .success(())))
    return reopening
  }
}

extension LinkState.RenewalFrame {
  fileprivate init(_ fields: some FrameFields, serial: Serial) {
    self.init(serial: serial, bytes: fields.frame(serial: serial), bringsSnapshot: false)
  }
}

extension FrameFields {
  /// A whole frame.
  func frame(serial: Serial, _ message: Link.Message = Link.Message()) -> [UInt8] {
    let buffer = ByteBuffer(capacity: 256)
    buffer.appendFrame(
      self, serial: serial, name: message.name, object: message.object, payload: message.payload.rawBytes)
    return [UInt8](buffer.bytes)
  }
}

extension FrameKind {
  /// Whether a frame of this kind registers something that lasts until it is taken back.
  var registers: Bool {
    switch self {
    case .observe, .attach, .hold, .declare, .monitor: true
    default: false
    }
  }
}

extension UInt32 {
  /// The rest of this number of milliseconds; at least 1.
  fileprivate func shortened(by span: Duration) -> UInt32 {
    let (seconds, attoseconds) = span.components
    let gone = seconds.multipliedReportingOverflow(by: 1000)
    guard !gone.overflow, gone.partialValue < Int64(self) else { return 1 }
    return UInt32(Swift.max(1, Int64(self) - gone.partialValue - attoseconds / 1_000_000_000_000_000))
  }
}

extension TribuneError {
  /// The bus may have received the request, or not.
  static let unknownOutcome = TribuneError(
    .connectionLost, "the connection to the bus was lost, and nobody knows what came of this")
  /// A registration is no longer in force.
  static func notRenewed(_ error: TribuneError) -> TribuneError {
    TribuneError(
      error.code, "the bus, which was away, refuses now what was registered before: \(error.message)")
  }

  static let neverSent = TribuneError(
    .connectionLost, "there was no connection to the bus in time: this was never sent")
}
