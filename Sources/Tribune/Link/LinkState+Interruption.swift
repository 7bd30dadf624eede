// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

// Between two connections: what the bus has to be told again, what waits for it, and what nobody knows.
//
// Serials go on over all connections of a link, and a registration keeps its own. So whoever gave one out need not
// learn that it was made again, and nothing that an old connection was still to say can be taken for new.

extension LinkState {
  struct Interruption {
    /// The last serial that was given out before the connection was lost: what is registered under later ones waits
    /// in the outbox, and is not to be renewed.
    var lastSerial: Serial = 0
    /// Why the connection was lost, and why there is no other yet.
    var cause = TribuneError(.connectionLost, "the bus closed the connection")
    var failure: TribuneError?
    /// Connections whose place is taken, with how many notifications each had received.
    var predecessors: [Succeed] = []
    /// Frames that are still to be sent before the connection is as the last one was.
    var renewals: ArraySlice<RenewalFrame> = []
    /// What the bus has to have confirmed before more is sent.
    var awaited: Serial?
    /// How many predecessors the bus has not spoken of yet.
    var successions = 0
    /// Whether it has told of all others what was missed.
    var isLossKnown = true
    var missed: UInt64 = 0
    /// When what waits for a connection has waited long enough, and since when it does.
    var waiting: [Serial: (since: ContinuousClock.Instant, until: ContinuousClock.Instant)] = [:]
  }

  struct RenewalFrame {
    let serial: Serial
    let bytes: [UInt8]
    /// What is retained comes with its confirmation, and is to be read before the next comes.
    let bringsSnapshot: Bool
  }

  /// Whom the loss of the connection concerns at once.
  struct Casualties {
    var settlements: [Settlement] = []
    var questions: [OpenQuestion] = []
  }

  /// At most so many predecessors are asked for; of more, nobody knows what was missed.
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

  /// Fails what the bus may have taken and not answered. What it cannot have taken waits for the next connection;
  /// what registers is sent again.
  ///
  /// - Returns: nil while somebody is still writing to the old connection.
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
      // Said to a bus that may not be the next one, about what is known there by its own numbers.
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

  /// How these end, nobody will be told.
  private mutating func takeQuestions() -> [OpenQuestion] {
    defer { questions = [:] }
    return Array(questions.values)
  }

  // MARK: What waits

  /// - Parameter deadline: milliseconds from now.
  private mutating func noteWaiting(_ serial: Serial, _ deadline: UInt32, at now: ContinuousClock.Instant) {
    interruption.waiting[serial] = (now, now.advanced(by: .milliseconds(Int(deadline))))
  }

  /// A request that is not to wait for longer than what it asks for may take.
  ///
  /// - Returns: whether the thread has to know.
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

  /// Fails what has waited long enough.
  mutating func expire(at now: ContinuousClock.Instant) -> [Settlement] {
    let over = interruption.waiting.filter { $0.value.until <= now }.map(\.key)
    return over.compactMap { serial in
      interruption.waiting[serial] = nil
      return refuse(serial, .neverSent)
    }
  }

  /// Whether a connection that is to be closed has nothing more to do, or has waited for that long enough. What was
  /// posted has to find a bus; all else goes with the connection.
  mutating func isOver(at now: ContinuousClock.Instant) -> Bool {
    guard let closingDeadline else { return false }
    outbox.sift { $0.header.kind == .post ? .kept : .dropped }
    return closingDeadline <= now || !outbox.hasUnsent
  }

  // MARK: Renewing

  /// Has everything that is registered be sent over a new connection, in the order in which it was.
  ///
  /// - Returns: streams whose snapshots come again.
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

  /// The new connection has ended, too, before it was as the last one had been.
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
    // It was told of over the connection that is over, and is missed with all else that came there.
    interruption.missed = 0
    return Casualties(questions: takeQuestions())
  }

  /// What is to be sent next, up to what has to be confirmed first.
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

  /// The bus has what was registered before.
  mutating func noteRenewal(of serial: Serial, _ key: ObservationKey?, _ okay: Okay) -> Settlement? {
    attachments[serial]?.id.store(okay.delegate, ordering: .relaxed)
    holds[serial]?.id.store(okay.delegate, ordering: .relaxed)
    guard let key, observations[key]?.serial == serial else { return nil }
    observations[key]?.isLive = true
    return .plain(takeWaiting(key), .success(()))
  }

  /// What comes of a refusal of something that was registered before.
  enum RenewalRefusal {
    /// It was none of those.
    case none
    /// A hold's time was over meanwhile.
    case expired(HoldTerm)
    /// The connection cannot be what it was.
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
    /// How many notifications were missed, and whether the bus could tell of all.
    var missed: UInt64
    var isLossKnown: Bool
  }

  /// All is as it was before; what has waited is sent now.
  mutating func reopen(at now: ContinuousClock.Instant) -> Reopening {
    phase = closingDeadline == nil ? .open : .closing
    var reopening = Reopening(missed: interruption.missed, isLossKnown: interruption.isLossKnown)
    for (serial, request) in requests where serial <= interruption.lastSerial {
      // It was not registered again.
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
  /// Makes something that lasts until it is taken back.
  var registers: Bool {
    switch self {
    case .observe, .attach, .hold, .declare, .monitor: true
    default: false
    }
  }
}

extension UInt32 {
  /// What is left of so many milliseconds: one at least.
  fileprivate func shortened(by span: Duration) -> UInt32 {
    let (seconds, attoseconds) = span.components
    let gone = seconds.multipliedReportingOverflow(by: 1000)
    guard !gone.overflow, gone.partialValue < Int64(self) else { return 1 }
    return UInt32(Swift.max(1, Int64(self) - gone.partialValue - attoseconds / 1_000_000_000_000_000))
  }
}

extension TribuneError {
  /// The bus may have taken it, and may not.
  static let unknownOutcome = TribuneError(
    .connectionLost, "the connection to the bus was lost, and nobody knows what came of this")
  /// What was registered is not any more.
  static func notRenewed(_ error: TribuneError) -> TribuneError {
    TribuneError(
      error.code, "the bus, which was away, refuses now what was registered before: \(error.message)")
  }

  static let neverSent = TribuneError(
    .connectionLost, "there was no connection to the bus in time: this was never sent")
}
