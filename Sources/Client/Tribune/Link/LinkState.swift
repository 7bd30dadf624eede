// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// The requests and registrations of a connection. This value does no I/O and reads no clock. The link's lock
/// protects it.
///
/// Each event has a method, which returns actions. The link carries out these actions after unlocking.
struct LinkState {
  typealias Instant = ContinuousClock.Instant

  /// The phase of the link. Each arrow lists the phases that can follow.
  enum Phase {
    /// The link waits for the bus's welcome. The reply resumes the call of `connect`. → open, ended
    case connecting(Reply<Welcome>?)
    /// The bus has welcomed the connection. → interrupted, closing, ended
    case open(Departure?)
    /// The link's thread looks for the bus. → open, closing, ended
    case interrupted(Interruption)
    /// The link writes the rest of the outbox, then waits for the bus to close the connection. → ended
    case closing(Closing)
    /// Final. The error is nil after `close()`.
    case ended(TribuneError?)
  }

  /// The reason for which the link expects the end of an open connection.
  enum Departure {
    case restart(TribuneError)
    case failedWrite(TribuneError)
  }

  struct Closing {
    let deadline: Instant
    var failure: TribuneError?
    var isHalfClosed = false
  }

  struct Session {
    let connection: ConnectionID
    let bus: BusInfo
    let payloadMax: Int
    let acceptsFiles: Bool
  }

  /// How long the link looks for a lost bus: zero for not at all, nil for no limit.
  let reconnectTimeout: Duration?
  private(set) var phase = Phase.connecting(nil)
  /// The session remains after the end of the link, because `Connection.id` must stay readable.
  private(set) var session: Session?
  private var lastSerial: Serial = 0
  private var closers: [Serial: Reply<TribuneError?>] = [:]

  // Only methods of this type change the properties below. The properties are not private, because these
  // methods are in several files.

  var outbox: Outbox
  /// Counts lost connections. Ids from the bus are valid in one epoch only.
  var epoch = 0
  /// The requests without a response, and the registrations.
  var entries: [Serial: LinkEntry] = [:]
  var observations: [ObservationKey: Observation] = [:]
  /// The streams of confirmed monitors. They have a list of their own, because each frame of traffic goes to
  /// all of them.
  var trafficStreams: [DeliveryStream<TrafficDelivery>] = []
  /// Awaited observations that are being taken back, by the serial of the `cancel`. They have a dictionary of
  /// their own, because the link searches them for each notification that its cached route does not cover.
  var retirements: [Serial: ObservationMatcher] = [:]
  var isSuspended = false
  /// Bound posts by name and object, as frames for the next connection.
  var bound: [ExactText: (serial: Serial, frame: [UInt8])] = [:]
  var questions: [QuestionKey: OpenQuestion] = [:]
  var flow = FlowControl()

  init(reconnectTimeout: Duration?) {
    self.reconnectTimeout = reconnectTimeout
    outbox = Outbox(survives: reconnectTimeout.map { $0 > .zero } ?? true)
  }

  var reconnects: Bool { outbox.survives }

  /// The link never reuses a serial, not even over another connection. 0 means none.
  mutating func nextSerial() -> Serial {
    lastSerial += 1
    return lastSerial
  }

  func requireOpen() throws(TribuneError) {
    switch phase {
    case .connecting, .open: return
    case .interrupted(let interruption):
      guard interruption.closingDeadline == nil else { throw .closed }
    case .closing: throw .closed
    case .ended(let error): throw error ?? .closed
    }
  }

  /// True if the link accepts requests, for this bus or for the next.
  var isAsking: Bool { isServing && interruption?.closingDeadline == nil }

  /// True if the bus can send requests to this side, now or after reconnecting.
  var isServing: Bool {
    switch phase {
    case .open, .interrupted: true
    case .connecting, .closing, .ended: false
    }
  }

  var isInterrupted: Bool { if case .interrupted = phase { true } else { false } }
  var hasEnded: Bool { if case .ended = phase { true } else { false } }

  var payloadMax: Int { session?.payloadMax ?? WireLimits.payloadLengthFloor }

  var interruption: Interruption? {
    if case .interrupted(let interruption) = phase { interruption } else { nil }
  }

  mutating func changeInterruption(_ change: (inout Interruption) -> Void) {
    guard case .interrupted(var interruption) = phase else { return }
    // If `phase` still referred to the interruption, `change` would copy the interruption's arrays.
    phase = .ended(nil)
    change(&interruption)
    phase = .interrupted(interruption)
  }

  // MARK: Beginning

  mutating func connect(_ greeting: Reply<Welcome>) throws(TribuneError) {
    try requireOpen()
    phase = .connecting(greeting)
  }

  /// After an interruption, the phase becomes `open` later, when the renewal has ended.
  mutating func receive(_ welcome: Welcome, acceptsFiles: Bool) -> Action {
    switch phase {
    case .connecting, .interrupted: session = Session(welcome, acceptsFiles: acceptsFiles)
    case .open, .closing, .ended: return .none
    }
    guard case .connecting(let greeting) = phase else { return .none }
    phase = .open(nil)
    return greeting.map { .welcome($0, .success(welcome)) } ?? .none
  }

  /// Ends the link if the bus has not welcomed it yet. Called when the task that connects is cancelled.
  mutating func stopConnecting() -> [Action] {
    if case .connecting = phase { end(.taskCancelled) } else { [] }
  }

  // MARK: The thread

  enum Step {
    case greet
    case receive
    case reconnect
    case close(by: Instant, endsWriting: Bool)
    case end
  }

  mutating func nextStep(at now: @autoclosure () -> Instant) -> Step {
    switch phase {
    case .connecting: return .greet
    case .open: return .receive
    case .interrupted: return .reconnect
    case .closing(var closing):
      guard closing.deadline > now() else { return .end }
      let endsWriting = outbox.isIdle && !closing.isHalfClosed
      if endsWriting { closing.isHalfClosed = true }
      phase = .closing(closing)
      return .close(by: closing.deadline, endsWriting: endsWriting)
    case .ended: return .end
    }
  }

  /// Returns an action that resumes the calls waiting for capacity. If `wake` is true, the caller of this
  /// method must wake the link's thread.
  mutating func wrote(
    _ batch: OutgoingBatch, bytes: Int, _ progress: OutgoingBatch.Progress
  ) -> (action: Action, wake: Bool) {
    var written = outbox.wrote(batch, bytes: bytes, progress)
    // If the link is closing, its thread must learn when no caller writes any more: the thread then shuts the
    // socket down for writing.
    if case .closing = phase { written.wake = true }
    return (.resumeAll(written.waiters, .success(())), written.wake)
  }

  /// Records the first error of a failed write. Ignores errors before the welcome, and after the loss of the
  /// connection.
  mutating func handleFailedWrite(_ error: TribuneError) {
    switch phase {
    case .open(.failedWrite): break
    case .open: phase = .open(.failedWrite(error))
    case .closing(var closing):
      closing.failure = closing.failure ?? error
      phase = .closing(closing)
    case .connecting, .interrupted, .ended: break
    }
  }

  /// Handles an error with which the bus closes the connection. Returns true if the error ends the link;
  /// false if the link's thread must look for a bus.
  mutating func handleClosingError(_ error: TribuneError, _ code: ErrorCode?) -> Bool {
    switch phase {
    case .open(let departure)
    where code == .restarted && reconnects || code == .shuttingDown && reconnectTimeout == nil:
      phase = .open(departure ?? .restart(error))
      return false
    case .interrupted:
      guard let code, Self.passingErrors.contains(code) else { return true }
      changeInterruption { $0.failure = error }
      return false
    case .connecting, .open, .closing, .ended: return true
    }
  }

  private static let passingErrors: [ErrorCode] = [
    .restarted, .shuttingDown, .tooManyConnections, .outOfMemory, .helloTimeout,
  ]

  enum StreamEnd {
    case connectAgain, reconnect
    case end(TribuneError?)
  }

  mutating func endOfStream(received: UInt64) -> StreamEnd {
    let lost = TribuneError(.connectionLost, "the bus closed the connection")
    let cause: TribuneError
    switch phase {
    case .connecting: return .connectAgain
    case .open(.failedWrite(let error)?): return .end(error)
    case .open(_) where !reconnects: return .end(lost)
    case .open(.restart(let error)?): cause = error
    case .open(nil): cause = lost
    case .interrupted: preconditionFailure("the stream of a lost connection ended twice")
    case .closing(let closing): return .end(closing.failure)
    case .ended(let error): return .end(error)
    }
    phase = .interrupted(Interruption(lastSerial: lastSerial, cause: cause))
    invalidateObservations()
    outbox.interrupt()
    addPredecessor(received: received)
    return .reconnect
  }

  mutating func reopen(at now: Instant) -> Reopening? {
    guard let interruption else { return nil }
    let reopening = finish(interruption, at: now)
    phase = interruption.closingDeadline.map { .closing(Closing(deadline: $0)) } ?? .open(nil)
    return reopening
  }

  // MARK: Ending

  /// Begins to close the link. During an interruption, the link still tries until the deadline to send
  /// waiting posts to a bus. Returns false if the link is connecting, or already closing or ended.
  mutating func close(by deadline: Instant) -> Bool {
    switch phase {
    case .open(let departure):
      var closing = Closing(deadline: deadline)
      if case .failedWrite(let error) = departure { closing.failure = error }
      phase = .closing(closing)
    case .interrupted(let interruption) where interruption.closingDeadline == nil:
      changeInterruption { $0.closingDeadline = deadline }
    case .connecting, .interrupted, .closing, .ended: return false
    }
    return true
  }

  /// Returns the reason if the link has ended. If not, stores `closer`. When the link ends, `end` returns an
  /// action that resumes `closer`.
  mutating func awaitEnd(_ id: Serial, _ closer: Reply<TribuneError?>) -> TribuneError?? {
    if case .ended(let error) = phase { return .some(error) }
    closers[id] = closer
    return nil
  }

  mutating func stopAwaitingEnd(_ id: Serial) -> Reply<TribuneError?>? { closers.removeValue(forKey: id) }

  mutating func end(_ error: TribuneError?) -> [Action] {
    if hasEnded { return [] }
    let failure = error ?? .closed
    var actions: [Action] = [.disconnect]
    if case .connecting(let greeting?) = phase { actions.append(.welcome(greeting, .failure(failure))) }
    phase = .ended(error)
    actions += Array(entries.keys).map { refuse($0, failure) }
    actions.append(.resumeAll(outbox.takeAllWaiters(), .failure(failure)))
    // `refuse` does not resume the calls that joined a confirmed observation and wait for its renewal.
    let waiting = observations.values.flatMap(\.waiting).map(\.reply)
    actions.append(.resumeAll(waiting, .failure(failure)))
    actions.append(.discard(outbox.end()))
    actions += observations.values.flatMap(\.streams).map { .finish($0, error) }
    actions += trafficStreams.map { .finishTraffic($0, error) }
    actions += takeQuestions()
    for case .hold(let term)? in entries.values.map(\.confirmed) {
      actions.append(.endHold(term, hasExpired: false))
    }
    actions += closers.values.map { .endClosing($0, error) }
    (observations, trafficStreams, entries, closers) = ([:], [], [:], [:])
    flow = FlowControl()
    return actions
  }
}

extension LinkState.Session {
  init(_ welcome: Welcome, acceptsFiles: Bool) {
    self.init(
      connection: welcome.connection,
      bus: BusInfo(
        pid: Int32(clamping: welcome.busPID), software: welcome.software,
        payloadMax: Int(welcome.payloadMax), observationsMax: Int(welcome.observationsMax),
        delegatesMax: Int(welcome.delegatesMax), queriesMax: Int(welcome.queriesMax),
        deadlineMax: .milliseconds(Int(welcome.deadlineMax)),
        deadlineDefault: .milliseconds(Int(welcome.deadlineDefault))),
      payloadMax: min(Int(welcome.payloadMax), WireLimits.payloadLengthCeiling), acceptsFiles: acceptsFiles)
  }
}

extension TribuneError {
  static let closed = TribuneError(.connectionLost, "the connection was closed")
  static let taskCancelled = TribuneError(.cancelled, "the task was cancelled")

  static func payloadTooLong(_ length: Int, _ limit: Int) -> TribuneError {
    TribuneError(
      .payloadTooLong, "userInfo of \(length) bytes is over the bus's limit of \(limit) (PayloadMax=)")
  }

  static func violation(_ message: String) -> TribuneError { TribuneError(.protocolViolation, message) }
}
