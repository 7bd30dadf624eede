// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

extension LinkState {
  enum Request {
    case okay(Reply<Okay>)
    case registration(Reply<Serial>, Registration)
    case amendment(Reply<Okay>, of: Serial, why: [UInt8])
    case observation(ObservationKey)
    /// The taking back of an awaited observation. The bus can send awaited notifications before it reads the
    /// `cancel`. To report a failure for these, the link keeps the observation's matcher until the bus
    /// replies.
    case retirement
    case suspension(Reply<Void>, Bool)
    case awaited(Reply<AwaitedReply>)
    /// A query. If `beginning` is not nil, an allowing verdict begins the action with this key.
    case verdict(Reply<Verdict>, progress: (@Sendable (Progress) -> Void)?, beginning: ActionKey?)
    case entries(Reply<[Entry]>, [Entry])
    /// The taking back of a registration. If the connection is lost before the reply, the link does not renew
    /// the registration, so the request succeeds.
    case takingBack(Reply<Okay>)
    /// The renewal of a registration. The key is nil unless the registration is an observation.
    case renewal(ObservationKey?)
    case succession
  }

  enum Registration {
    case attachment(AttachedDelegate)
    case hold(HoldTerm)
    case action
    case declaration
    case monitor(DeliveryStream<TrafficDelivery>)

    var attached: AttachedDelegate? { if case .attachment(let attached) = self { attached } else { nil } }

    func store(_ okay: Okay) {
      switch self {
      case .attachment(let attached): attached.id.store(okay.delegate, ordering: .relaxed)
      case .hold(let term): term.begin(id: okay.delegate, late: Int(okay.late))
      case .action, .declaration, .monitor: break
      }
    }
  }

  enum Action {
    case none
    case send(Outbox.Duty)
    case disconnect
    case work(WorkQueue.Work)
    case discard([OutgoingBatch])
    /// Ends the question as cancelled, because the bus will not tell the delegate how the query ended.
    case cancel(OpenQuestion)
    /// Ends the question without telling the delegate, because the attachment was taken back.
    case withdraw(OpenQuestion)
    case endAttachment(AttachedDelegate)
    case refuse(AttachedDelegate, TribuneError)
    case endHold(HoldTerm, hasExpired: Bool)
    case late(HoldTerm, Int)
    case finish(DeliveryStream<Delivery>, TribuneError?)
    case finishTraffic(DeliveryStream<TrafficDelivery>, TribuneError?)
    case endClosing(Reply<TribuneError?>, TribuneError?)

    case welcome(Reply<Welcome>, Result<Welcome, TribuneError>)
    case okay(Reply<Okay>, Result<Okay, TribuneError>)
    case registration(Reply<Serial>, Result<Serial, TribuneError>)
    case plain([Reply<Void>], Result<Void, TribuneError>)
    case verdict(Reply<Verdict>, Result<Verdict, TribuneError>)
    case entries(Reply<[Entry]>, Result<[Entry], TribuneError>)
    case awaited(Reply<AwaitedReply>, Result<AwaitedReply, TribuneError>)
  }

  // MARK: Sending

  mutating func enqueue(
    _ request: Request, _ fields: some FrameFields, _ message: Link.Message, flags: FrameFlags = .none,
    serial: Serial, at now: @autoclosure () -> Instant
  ) throws(TribuneError) -> Outbox.Duty {
    try requireOpen()
    try requireFitting(message)
    requests[serial] = request
    keep(fields, serial, message)
    if let post = fields as? Post, post.options.contains(.retain) { keepBound(post, serial, message) }
    if case .registration(_, .monitor(let stream)) = request { stageRoom(for: stream) }
    let duty = outbox.append(fields, message, flags: flags, serial: serial)
    guard fields.deadline > 0 else { return duty }
    let now = now()
    deadlineStarts[serial] = now
    guard isInterrupted else { return duty }
    addWaiting(serial, fields.deadline, at: now)
    return .wake
  }

  mutating func cancel(_ serial: Serial, tellsBus: Bool) -> [Action] {
    let action = refuse(serial, .taskCancelled)
    if case .none = action { return [] }
    changeInterruption { $0.waiting[serial] = nil }
    return tellsBus ? [.send(appendCancel(serial)), action] : [action]
  }

  /// Returns nil if the outbox is full.
  ///
  /// - Parameter tick: the time of the coarse clock, in nanoseconds.
  mutating func post(
    _ fields: Post, _ message: Link.Message, at tick: @autoclosure () -> Int64?
  ) throws(TribuneError) -> Outbox.Duty? {
    try requireOpen()
    try requireFitting(message)
    if outbox.isFull { return nil }
    let serial = nextSerial()
    if fields.options.contains(.retain) { keepBound(fields, serial, message) }
    return outbox.append(fields, message, serial: serial, at: tick())
  }

  /// Reports to the bus that a notification is handled. Does nothing if the connection over which the
  /// notification came is ending or lost: the bus then reports this observer as `gone`.
  mutating func acknowledge(_ done: Done, reason: [UInt8], in epoch: Int) -> Outbox.Duty {
    guard isServing, epoch == self.epoch else { return .none }
    return outbox.append(done, .init(payload: reason), serial: nextSerial())
  }

  func takesFile(of message: Link.Message) throws(TribuneError) -> Bool {
    try requireOpen()
    try requireFitting(message)
    return session?.acceptsFiles == true
  }

  mutating func awaitCapacity(
    _ id: Serial, until deadline: Instant?, _ waiter: Reply<Void>
  ) throws(TribuneError) -> Void? {
    try requireOpen()
    guard outbox.isFull else { return () }
    outbox.awaitCapacity(id, until: deadline, waiter)
    return nil
  }

  mutating func failOverdue(at now: Instant) -> Action {
    .plain(outbox.takeOverdue(at: now), .failure(.notSentInTime))
  }

  mutating func stopAwaitingCapacity(_ id: Serial) -> Action {
    outbox.stopAwaitingCapacity(id).map { .plain([$0], .failure(.taskCancelled)) } ?? .none
  }

  mutating func appendCancel(_ target: Serial) -> Outbox.Duty {
    outbox.append(Cancel(target: target), serial: nextSerial())
  }

  mutating func keep<F: FrameFields>(_ fields: F, _ serial: Serial, _ message: Link.Message) {
    if F.kind.purpose == .registration, reconnects {
      registered[serial] = fields.renewal.frame(serial: serial, message)
    }
  }

  /// Keeps a bound post for the next connection, in place of a kept post of the same name and object. If the
  /// post is not bound, or has no userInfo, only removes the kept post.
  private mutating func keepBound(_ fields: Post, _ serial: Serial, _ message: Link.Message) {
    guard reconnects else { return }
    let key = ExactText("\(message.name)\0\(message.object)")
    let isKept = fields.options.contains(.bound) && !message.payload.isEmpty
    bound[key] = isKept ? (serial, Post(options: fields.options).frame(serial: serial, message)) : nil
  }

  func requireFitting(_ message: Link.Message) throws(TribuneError) {
    guard message.payload.count <= payloadMax else {
      throw .payloadTooLong(message.payload.count, payloadMax)
    }
  }

  // MARK: Replies

  mutating func okay(_ serial: Serial, _ okay: Okay) -> Action {
    switch requests.removeValue(forKey: serial) {
    case nil: return .none
    case .okay(let reply)?, .takingBack(let reply)?: return .okay(reply, .success(okay))
    case .registration(let reply, let registration)?:
      registration.store(okay)
      registrations[serial] = registration
      // After `set`, the renewal must not replace other delegates again.
      if let attached = registration.attached {
        keep(attached.renewal, serial, Link.Message(object: attached.object))
      }
      return .registration(reply, .success(serial))
    case .amendment(let reply, let hold, let why)?:
      if let frame = registered[hold] { registered[hold] = frame.withPayload(why) }
      return .okay(reply, .success(okay))
    case .observation(let key)?: return confirm(key, serial, okay)
    case .renewal(let key)?:
      registrations[serial]?.store(okay)
      return key.map { confirm($0, serial, okay) } ?? .none
    case .succession?:
      countSuccession(isLossKnown: true)
      return .none
    case .retirement?:
      retirements[serial] = nil
      return .none
    case .suspension(let reply, let isSuspended)?:
      self.isSuspended = isSuspended
      return .plain([reply], .success(()))
    case .awaited(let reply)?:
      return .awaited(
        reply, .failure(.violation("the bus answered an awaited post without a list of its observers")))
    case .entries(let reply, let entries)?: return .entries(reply, .success(entries))
    case .verdict(let reply, _, _)?:
      return .verdict(reply, .failure(.violation("the bus answered a query without a verdict")))
    }
  }

  mutating func refuse(_ serial: Serial, _ error: TribuneError) -> Action {
    guard let request = requests.removeValue(forKey: serial) else { return .none }
    registered[serial] = nil
    deadlineStarts[serial] = nil
    if let key = bound.first(where: { $0.value.serial == serial })?.key { bound[key] = nil }
    switch request {
    case .okay(let reply), .takingBack(let reply), .amendment(let reply, _, _):
      return .okay(reply, .failure(error))
    case .renewal(let key): return key.map { .plain(takeWaiting($0), .failure(error)) } ?? .none
    case .succession:
      countSuccession(isLossKnown: false)
      return .none
    case .registration(let reply, _): return .registration(reply, .failure(error))
    case .observation(let key):
      guard observations[key]?.serial == serial else { return .none }
      let waiting = takeWaiting(key)
      observations[key] = nil
      return .plain(waiting, .failure(error))
    case .retirement:
      retirements[serial] = nil
      return .none
    case .suspension(let reply, _): return .plain([reply], .failure(error))
    case .awaited(let reply): return .awaited(reply, .failure(error))
    case .verdict(let reply, _, _): return .verdict(reply, .failure(error))
    case .entries(let reply, _): return .entries(reply, .failure(error))
    }
  }

  mutating func verdict(_ serial: Serial, _ verdict: TribuneWire.Verdict) -> Action {
    guard let place = requests.index(forKey: serial),
      case .verdict(let reply, _, let action) = requests.values[place]
    else { return .none }
    requests.remove(at: place)
    deadlineStarts[serial] = nil
    if let action, case .allowed = verdict.verdict {
      registrations[serial] = .action
      keep(
        Begin(query: verdict.query).renewal, serial, Link.Message(name: action.name, object: action.object))
    }
    return .verdict(reply, .success(Verdict(verdict)))
  }

  func progress(of serial: Serial) -> (@Sendable (Progress) -> Void)? {
    if case .verdict(_, let progress, _) = requests[serial] { progress } else { nil }
  }

  mutating func awaited(_ serial: Serial, _ awaited: Awaited) -> Action {
    guard case .awaited(let reply) = requests[serial] else { return .none }
    requests[serial] = nil
    deadlineStarts[serial] = nil
    return .awaited(reply, .success(AwaitedReply(awaited)))
  }

  mutating func add(_ entry: Entry, to serial: Serial) {
    guard case .entries(let reply, var entries) = requests[serial] else { return }
    // The array grows in place only while it has a single reference.
    requests[serial] = nil
    entries.append(entry)
    requests[serial] = .entries(reply, entries)
  }

  private mutating func confirm(_ key: ObservationKey, _ serial: Serial, _ okay: Okay) -> Action {
    guard observations[key]?.serial == serial else { return .none }
    observations[key]?.isLive = true
    if okay.retained > 0 { observations[key]?.streams.first?.addRetained(Int(okay.retained)) }
    return .plain(takeWaiting(key), .success(()))
  }

  private mutating func takeWaiting(_ key: ObservationKey) -> [Reply<Void>] {
    defer { observations[key]?.waiting = [] }
    return observations[key]?.waiting.map(\.reply) ?? []
  }
}

extension [UInt8] {
  fileprivate func withPayload(_ payload: [UInt8]) -> [UInt8] {
    guard let header = FrameHeader.peek(rawBytes, at: 0, limits: .fromBus) else {
      preconditionFailure("a registration was kept that is no frame")
    }
    let buffer = ByteBuffer(holding: ([UInt8](prefix(header.payloadStart)) + payload).rawBytes)
    buffer.setFrameLength(buffer.count, frameAt: 0)
    return [UInt8](buffer.bytes)
  }
}
