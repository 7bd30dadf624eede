// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// The requests and registrations of a connection: a value without I/O, which `Link` keeps under its lock.
///
/// Events change it and return what is to be done once the lock is released.
struct LinkState {
  enum Phase: Equatable {
    /// → open, ended
    case connecting
    /// → interrupted, closing, ended
    case open
    /// The thread looks for the bus. → open, closing, ended
    case interrupted
    /// Writes what is left, then waits for the bus to close. → ended
    case closing
    /// Final; nil after `close()`.
    case ended(TribuneError?)
  }

  struct Identity {
    let connection: ConnectionID
    let bus: BusInfo
  }

  /// A request that waits for the bus's reply.
  enum Request {
    case okay(Reply<Okay>)
    case attachment(Reply<Registration>, AttachedDelegate)
    case registration(Reply<Registered>, NewRegistration)
    case observation(ObservationKey)
    /// An awaited observation is being taken back; its matcher is kept until the bus has confirmed.
    case retirement
    case suspension(Reply<Void>, Bool)
    case awaited(Reply<AwaitedReply>)
    case monitor(Reply<Void>, DeliveryStream<TrafficDelivery>)
    case verdict(Reply<Verdict>, progress: (@Sendable (Progress) -> Void)?)
    case entries(Reply<[Entry]>)
    /// A registration is being taken back, which the end of the connection does, too.
    case takingBack(Reply<Okay>)
    /// A registration of an earlier connection is being renewed; an observation has its key.
    case renewal(ObservationKey?)
    /// The loss between two connections is being asked for.
    case succession
  }

  enum NewRegistration {
    case hold(HoldTerm)
    case declaration
  }

  /// A reply that has come, and the call that it resumes.
  enum Settlement {
    case okay(Reply<Okay>, Result<Okay, TribuneError>)
    case attachment(Reply<Registration>, Result<Registration, TribuneError>)
    case registration(Reply<Registered>, Result<Registered, TribuneError>)
    case plain([Reply<Void>], Result<Void, TribuneError>)
    case verdict(Reply<Verdict>, Result<Verdict, TribuneError>)
    case entries(Reply<[Entry]>, Result<[Entry], TribuneError>)
    case awaited(Reply<AwaitedReply>, Result<AwaitedReply, TribuneError>)

    func deliver() {
      switch self {
      case .okay(let reply, let result): reply.resume(returning: result)
      case .attachment(let reply, let result): reply.resume(returning: result)
      case .registration(let reply, let result): reply.resume(returning: result)
      case .plain(let replies, let result): for reply in replies { reply.resume(returning: result) }
      case .verdict(let reply, let result): reply.resume(returning: result)
      case .entries(let reply, let result): reply.resume(returning: result)
      case .awaited(let reply, let result): reply.resume(returning: result)
      }
    }
  }

  /// The result of attaching.
  enum Registration {
    case attached(Registered, AttachedDelegate)
    /// The same attachment existed, and was taken back before the bus answered: the caller tries again.
    case stale
  }

  /// What must be equal for observations to be one to the bus.
  struct ObservationKey: Hashable {
    /// Empty for any.
    var pattern: String
    /// Empty for any.
    var object: String
    var suspension: TribuneWire.SuspensionBehavior
    var isAwaited: Bool
    /// The stream that wants retained notifications. They come under the observation's serial, so the stream shares
    /// the observation with no other.
    var snapshotStream: ObjectIdentifier?
  }

  struct Observation {
    let serial: Serial
    let matcher: ObservationMatcher
    /// The bus has confirmed it.
    var isLive = false
    var streams: [DeliveryStream<Delivery>] = []
    /// The calls that wait for the bus to confirm it, each with its stream.
    var waiting: [(stream: DeliveryStream<Delivery>, reply: Reply<Void>)] = []
  }

  /// Matches the notifications of an observation.
  struct ObservationMatcher {
    /// nil for any.
    let pattern: Pattern?
    /// Empty for any.
    let object: String

    func matches(name: String, object: String) -> Bool {
      (self.object.isEmpty || self.object == object) && (pattern ?? .any).observes(name.utf8Bytes)
    }
  }

  struct QuestionKey: Hashable {
    var query: QueryID
    var delegate: DelegateID
  }

  /// How long to look for a bus that is gone; zero for not at all.
  let patience: Duration
  var phase = Phase.connecting
  var outbox: Outbox
  /// The call that connects, until the bus has sent its welcome.
  var greeting: Reply<Welcome>?
  /// Our id and the bus's description of itself, once it has sent its welcome.
  var identity: Identity?
  var payloadMax = WireLimits.payloadLengthFloor
  /// Whether the bus accepts userInfo as a file.
  var busTakesFiles = false
  /// When closing stops waiting.
  var closingDeadline: ContinuousClock.Instant?
  /// Why the connection ends: the error with which the bus closed it, or that of a failed write.
  var refusal: TribuneError?

  /// The frame that made each registration, under way or confirmed. A link that does not reconnect keeps none.
  var registered: [Serial: [UInt8]] = [:]
  /// The state of an interruption.
  var interruption = Interruption()

  var requests: [Serial: Request] = [:]
  /// Entries received so far, of the lists under way.
  var entries: [Serial: [Entry]] = [:]
  var observations: [ObservationKey: Observation] = [:]
  /// Awaited observations that are being taken back, by the serial of the `cancel`.
  var retirements: [Serial: ObservationMatcher] = [:]
  /// As the bus last confirmed.
  var isSuspended = false
  var attachments: [Serial: AttachedDelegate] = [:]
  var questions: [QuestionKey: OpenQuestion] = [:]
  var holds: [Serial: HoldTerm] = [:]
  var declarations: Set<Serial> = []
  var monitors: [Serial: DeliveryStream<TrafficDelivery>] = [:]
  var closers: [UInt64: CheckedContinuation<TribuneError?, Never>] = [:]

  /// The streams of traffic, each once, however many patterns it has.
  var trafficStreams: [DeliveryStream<TrafficDelivery>] {
    var found: [DeliveryStream<TrafficDelivery>] = []
    for stream in monitors.values where !found.contains(where: { $0 === stream }) { found.append(stream) }
    return found
  }

  private(set) var lastSerial: Serial = 0

  init(patience: Duration) {
    self.patience = patience
    outbox = Outbox(survives: patience > .zero)
  }

  /// Serials are never used again, not even over another connection; 0 is none.
  mutating func nextSerial() -> Serial {
    lastSerial += 1
    return lastSerial
  }

  /// - Throws: why no more requests are accepted.
  func requireOpen() throws(TribuneError) {
    switch phase {
    case .connecting, .open: return
    case .interrupted where closingDeadline == nil: return
    case .closing, .interrupted: throw .closed
    case .ended(let error): throw error ?? .closed
    }
  }

  /// Whether requests are accepted, for this bus or for the next.
  var isAsking: Bool { isServing && closingDeadline == nil }

  /// Whether the bus can send requests to this side, now or after reconnecting.
  var isServing: Bool {
    switch phase {
    case .open, .interrupted: true
    default: false
    }
  }

  var isInterrupted: Bool { if case .interrupted = phase { true } else { false } }

  // MARK: Replies

  mutating func okay(_ serial: Serial, _ okay: Okay) -> Settlement? {
    if interruption.awaited == serial { interruption.awaited = nil }
    switch requests.removeValue(forKey: serial) {
    case nil: return nil
    case .okay(let reply): return .okay(reply, .success(okay))
    case .attachment(let reply, let attached):
      return .attachment(reply, attach(attached, serial: serial, okay))
    case .registration(let reply, let registration):
      switch registration {
      case .hold(let term):
        term.id.store(okay.delegate, ordering: .relaxed)
        holds[serial] = term
      case .declaration: declarations.insert(serial)
      }
      return .registration(reply, .success(Registered(serial: serial, id: okay.delegate)))
    case .observation(let key):
      guard observations[key]?.serial == serial else { return nil }
      observations[key]?.isLive = true
      return .plain(takeWaiting(key), .success(()))
    case .renewal(let key):
      return noteRenewal(of: serial, key, okay)
    case .succession:
      interruption.successions -= 1
      return nil
    case .takingBack(let reply): return .okay(reply, .success(okay))
    case .retirement:
      retirements[serial] = nil
      return nil
    case .suspension(let reply, let isSuspended):
      self.isSuspended = isSuspended
      return .plain([reply], .success(()))
    case .awaited(let reply):
      return .awaited(
        reply, .failure(.violation("the bus said ok to an awaited post, and not who it waited for")))
    case .monitor(let reply, let stream):
      monitors[serial] = stream
      return .plain([reply], .success(()))
    case .entries(let reply):
      return .entries(reply, .success(entries.removeValue(forKey: serial) ?? []))
    case .verdict(let reply, _):
      return .verdict(reply, .failure(.violation("the bus said ok to a query instead of a verdict")))
    }
  }

  mutating func refuse(_ serial: Serial, _ error: TribuneError) -> Settlement? {
    if interruption.awaited == serial { interruption.awaited = nil }
    guard let request = requests.removeValue(forKey: serial) else { return nil }
    registered[serial] = nil
    switch request {
    case .okay(let reply), .takingBack(let reply): return .okay(reply, .failure(error))
    case .renewal(let key?): return .plain(takeWaiting(key), .failure(error))
    case .renewal(nil): return nil
    case .succession:
      interruption.successions -= 1
      interruption.isLossKnown = false
      return nil
    case .attachment(let reply, _): return .attachment(reply, .failure(error))
    case .registration(let reply, _): return .registration(reply, .failure(error))
    case .observation(let key):
      guard observations[key]?.serial == serial else { return nil }
      let waiting = takeWaiting(key)
      observations[key] = nil
      return .plain(waiting, .failure(error))
    case .retirement:
      retirements[serial] = nil
      return nil
    case .suspension(let reply, _): return .plain([reply], .failure(error))
    case .awaited(let reply): return .awaited(reply, .failure(error))
    case .monitor(let reply, _): return .plain([reply], .failure(error))
    case .verdict(let reply, _): return .verdict(reply, .failure(error))
    case .entries(let reply):
      entries[serial] = nil
      return .entries(reply, .failure(error))
    }
  }

  mutating func verdict(_ serial: Serial, _ verdict: TribuneWire.Verdict) -> Settlement? {
    guard let place = requests.index(forKey: serial), case .verdict(let reply, _) = requests.values[place]
    else { return nil }
    requests.remove(at: place)
    return .verdict(reply, .success(Verdict(verdict)))
  }

  mutating func awaited(_ serial: Serial, _ awaited: Awaited) -> Settlement? {
    guard case .awaited(let reply) = requests[serial] else { return nil }
    requests[serial] = nil
    return .awaited(reply, .success(AwaitedReply(awaited)))
  }

  mutating func takeWaiting(_ key: ObservationKey) -> [Reply<Void>] {
    defer { observations[key]?.waiting = [] }
    return observations[key]?.waiting.map(\.reply) ?? []
  }

  private mutating func attach(
    _ attached: AttachedDelegate, serial: Serial, _ okay: Okay
  ) -> Result<Registration, TribuneError> {
    let known = okay.registration == 0 ? serial : okay.registration
    if known != serial {
      registered[serial] = nil
      guard let existing = attachments[known] else { return .success(.stale) }
      if let other = existing.delegate {
        if other === attached.delegate {
          return .success(.attached(Registered(serial: known, id: okay.delegate), existing))
        }
        return .failure(
          TribuneError(
            .refused, "another delegate of this connection responds to the same names of that object"))
      }
    }
    attached.id.store(okay.delegate, ordering: .relaxed)
    attachments[known] = attached
    // A renewal attaches instead of setting, so that it does not replace other delegates again. If the attachment
    // existed before, the frame that made it stays.
    if known == serial, registered[serial] != nil { registered[serial] = attached.renewal }
    return .success(.attached(Registered(serial: known, id: okay.delegate), attached))
  }

  // MARK: Ending

  /// What must be notified of the end of the connection.
  struct Ending {
    var settlements: [Settlement] = []
    var greeting: Reply<Welcome>?
    var notifications: [DeliveryStream<Delivery>] = []
    var traffic: [DeliveryStream<TrafficDelivery>] = []
    var questions: [OpenQuestion] = []
    var terms: [HoldTerm] = []
    var closers: [CheckedContinuation<TribuneError?, Never>] = []
  }

  /// Ends the connection; nil if it had ended before.
  mutating func end(_ error: TribuneError?) -> Ending? {
    if case .ended = phase { return nil }
    phase = .ended(error)
    let failure = error ?? .closed
    var ending = Ending()
    ending.greeting = greeting
    greeting = nil
    for serial in Array(requests.keys) {
      if let settlement = refuse(serial, failure) { ending.settlements.append(settlement) }
    }
    ending.settlements.append(.plain(Array(outbox.roomWaiters.values), .failure(failure)))
    outbox.roomWaiters = [:]
    ending.notifications = observations.values.flatMap(\.streams)
    observations = [:]
    ending.traffic = Array(monitors.values)
    monitors = [:]
    ending.questions = Array(questions.values)
    questions = [:]
    ending.terms = Array(holds.values)
    holds = [:]
    declarations = []
    attachments = [:]
    registered = [:]
    interruption = Interruption()
    ending.closers = Array(closers.values)
    closers = [:]
    return ending
  }
}

extension TribuneError {
  static let closed = TribuneError(.connectionLost, "the connection was closed")
  static let taskCancelled = TribuneError(.cancelled, "the task was cancelled")

  static func violation(_ message: String) -> TribuneError {
    TribuneError(.protocolViolation, message)
  }
}
