// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

extension LinkState {
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
    case resume(Reply<Response>, Result<Response, TribuneError>)
    /// Resumes calls that wait for capacity or for an observation.
    case resumeAll([Reply<Void>], Result<Void, TribuneError>)
  }

  // MARK: Sending

  mutating func enqueue(
    _ subject: LinkEntry.Subject, _ reply: Reply<Response>, _ fields: some FrameFields,
    _ message: Link.Message, flags: FrameFlags = .none, serial: Serial, at now: @autoclosure () -> Instant
  ) throws(TribuneError) -> Outbox.Duty {
    try requireOpen()
    try requireFitting(message)
    var entry = LinkEntry(
      subject: subject, stage: .requested(reply), frame: renewal(of: fields, serial, message))
    if let post = fields as? Post, post.options.contains(.retain) { keepBound(post, serial, message) }
    if case .registration(.monitor(let stream)) = subject { stageRoom(for: stream) }
    var duty = outbox.append(fields, message, flags: flags, serial: serial)
    let patience = patience(of: fields)
    if patience > 0 {
      entry.deadline = LinkEntry.Deadline(start: now())
      if isInterrupted {
        entry.setEnd(after: patience)
        duty = .wake
      }
    }
    entries[serial] = entry
    return duty
  }

  /// How long a request may wait for the next connection, in milliseconds; 0 for no limit. This is the
  /// request's deadline. For an `Ask` or an awaited post without one, it is the last bus's default deadline.
  func patience(of fields: some FrameFields) -> UInt32 {
    if fields.deadline > 0 { return fields.deadline }
    guard fields is Ask || (fields as? Post)?.options.contains(.awaited) == true else { return 0 }
    return defaultPatience
  }

  var defaultPatience: UInt32 { Checked.milliseconds(session?.bus.deadlineDefault) }

  mutating func cancel(_ serial: Serial, tellsBus: Bool) -> [Action] {
    let action = refuse(serial, .taskCancelled)
    if case .none = action { return [] }
    return tellsBus ? [.send(appendCancel(serial)), action] : [action]
  }

  /// Returns nil if the outbox is full. `tick` is the time of the coarse clock, in nanoseconds.
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
    .resumeAll(outbox.takeOverdue(at: now), .failure(.notSentInTime))
  }

  mutating func stopAwaitingCapacity(_ id: Serial) -> Action {
    outbox.stopAwaitingCapacity(id).map { .resumeAll([$0], .failure(.taskCancelled)) } ?? .none
  }

  mutating func appendCancel(_ target: Serial) -> Outbox.Duty {
    outbox.append(Cancel(target: target), serial: nextSerial())
  }

  func renewal<F: FrameFields>(of fields: F, _ serial: Serial, _ message: Link.Message) -> [UInt8]? {
    guard F.kind.purpose == .registration, reconnects else { return nil }
    return fields.renewal.frame(serial: serial, message)
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

  // MARK: Responses

  /// Handles the bus's response. Ignores a response to a request that the program has cancelled, or to a
  /// registration that the program has taken back.
  mutating func receive(_ response: Response, to serial: Serial) -> Action {
    guard let place = entries.index(forKey: serial) else { return .none }
    let entry = entries.values[place]
    switch (entry.subject, response) {
    case (.registration(let registration), .okay(let okay)):
      return confirm(registration, serial, entry, okay)
    case (.query(_, let beginning), .verdict(let verdict)):
      entries.remove(at: place)
      if let beginning, case .allowed = verdict.decision { begin(beginning, under: serial) }
    case (.list(let collected), .okay):
      entries.remove(at: place)
      return entry.resume(.success(.list(collected)))
    case (.suspension(let isSuspended), .okay):
      entries.remove(at: place)
      self.isSuspended = isSuspended
    case (.amendment(let hold, let why), .okay):
      entries.remove(at: place)
      if let frame = entries[hold]?.frame { entries[hold]?.frame = frame.withPayload(why) }
    case (.retirement, .okay):
      entries.remove(at: place)
      retirements[serial] = nil
    case (.succession, .okay):
      entries.remove(at: place)
      countSuccession(isLossKnown: true)
    case (.plain, .okay), (.takingBack, .okay), (.awaitedPost, .awaited): entries.remove(at: place)
    case (.awaitedPost, .okay):
      return refuse(
        serial, .violation("the bus answered an awaited post without a list of its observers"))
    case (.query, .okay): return refuse(serial, .violation("the bus answered a query without a verdict"))
    default: return .none
    }
    return entry.resume(.success(response))
  }

  private mutating func confirm(
    _ registration: LinkEntry.Registration, _ serial: Serial, _ entry: LinkEntry, _ okay: Okay
  ) -> Action {
    if case .registered = entry.stage { return .none }
    entries[serial]?.stage = .registered
    registration.store(okay)
    switch registration {
    case .observation(let key): return confirm(key, serial, okay)
    case .attachment(let attached) where entry.isRequested:
      // After `set`, the renewal must not replace other delegates again.
      let frame = renewal(of: attached.renewal, serial, Link.Message(object: attached.object))
      entries[serial]?.frame = frame
    case .hold(let term):
      // A hold that the bus has shortened must not be longer after the renewal.
      entries[serial]?.frame = entry.frame?.withExpiry(term.expiry)
    case .monitor(let stream): trafficStreams.appendOnce(stream)
    case .attachment, .action, .declaration: break
    }
    return entry.resume(.success(.okay(okay)))
  }

  /// Adds the action that an allowing verdict has begun. The action has the serial of the query.
  private mutating func begin(_ action: ActionKey, under serial: Serial) {
    let message = Link.Message(name: action.name, object: action.object)
    entries[serial] = LinkEntry(
      subject: .registration(.action), stage: .registered,
      frame: renewal(of: Begin(query: QueryID(rawValue: 0)), serial, message))
  }

  /// Fails a request.
  mutating func refuse(_ serial: Serial, _ error: TribuneError) -> Action {
    guard let entry = entries[serial], entry.isRequested else { return .none }
    entries[serial] = nil
    if let key = bound.first(where: { $0.value.serial == serial })?.key { bound[key] = nil }
    switch entry.subject {
    case .registration(.observation(let key)):
      guard observations[key]?.serial == serial else { return .none }
      let waiting = takeWaiting(key)
      observations[key] = nil
      return .resumeAll(waiting, .failure(error))
    case .retirement: retirements[serial] = nil
    case .succession: countSuccession(isLossKnown: false)
    case .plain, .awaitedPost, .query, .list, .suspension, .amendment, .takingBack, .registration: break
    }
    return entry.resume(.failure(error))
  }

  func progress(of serial: Serial) -> (@Sendable (Progress) -> Void)? {
    if case .query(let progress, _) = entries[serial]?.subject { progress } else { nil }
  }

  mutating func collect(_ entry: Entry, for serial: Serial) {
    guard let place = entries.index(forKey: serial),
      case .list(var collected) = entries.values[place].subject
    else { return }
    // If the entry still referred to the array, `append` would copy the array.
    entries.values[place].subject = .list([])
    collected.append(entry)
    entries.values[place].subject = .list(collected)
  }

  private mutating func confirm(_ key: ObservationKey, _ serial: Serial, _ okay: Okay) -> Action {
    guard observations[key]?.serial == serial else { return .none }
    observations[key]?.isLive = true
    if okay.retained > 0 { observations[key]?.streams.first?.addRetained(Int(okay.retained)) }
    return .resumeAll(takeWaiting(key), .success(()))
  }

  private mutating func takeWaiting(_ key: ObservationKey) -> [Reply<Void>] {
    defer { observations[key]?.waiting = [] }
    return observations[key]?.waiting.map(\.reply) ?? []
  }
}

extension [UInt8] {
  /// The frame must be a `hold`.
  fileprivate func withExpiry(_ expiry: UInt64) -> [UInt8] {
    let buffer = ByteBuffer(holding: rawBytes)
    buffer.setExpiry(expiry, ofHoldAt: 0)
    return [UInt8](buffer.bytes)
  }

  fileprivate func withPayload(_ payload: [UInt8]) -> [UInt8] {
    guard let header = FrameHeader.peek(rawBytes, at: 0, limits: .fromBus) else {
      preconditionFailure("a registration was kept that is no frame")
    }
    let buffer = ByteBuffer(holding: ([UInt8](prefix(header.payloadStart)) + payload).rawBytes)
    buffer.setFrameLength(buffer.count, frameAt: 0)
    return [UInt8](buffer.bytes)
  }
}
