// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// The part of a `Connection` that sends and receives frames. A link has one socket at a time, and another
/// one after each interruption.
///
/// Callers append frames to the outbox. If the outbox is idle, the caller writes its frame at once, before
/// the caller suspends to wait for a reply. The link's thread reads from the socket, and writes the frames
/// that callers did not write.
///
/// Callers run on any thread, so a lock protects `state`. The link resumes waiting calls and writes frames
/// only after unlocking. A thread that also needs the lock of `work`, of a stream or of an `OpenQuestion`
/// takes the lock of `state` first.
///
/// The receiving thread retains the link, so the link lives at least as long as this thread.
final class Link: Sendable {
  let socket: FileDescriptor
  let wakeup: Wakeup
  let state: Mutex<LinkState>
  let work = Mutex(WorkQueue())
  /// Each change of the observations or attachments raises this number. The link's thread compares the number
  /// with that of its cached `NotificationRoute`, without the lock of `state`.
  let routesVersion = Atomic(0)
  let events: (@Sendable (ConnectionEvent) -> Void)?
  let capabilities: Hello.Capabilities
  let pace: Pace

  private init(
    _ reconnectTimeout: Duration?, _ capabilities: Hello.Capabilities, _ pace: Pace,
    _ events: (@Sendable (ConnectionEvent) -> Void)?
  ) throws(Errno) {
    state = Mutex(LinkState(reconnectTimeout: reconnectTimeout))
    self.capabilities = capabilities
    self.pace = pace
    self.events = events
    socket = try UnixSocket.make(nonblocking: true)
    wakeup = try Wakeup()
  }

  static func connect(
    to address: Address, within limit: Duration, reconnectingFor reconnectTimeout: Duration?,
    identifyingPosters identifiesPosters: Bool, pace: Pace, events: (@Sendable (ConnectionEvent) -> Void)?
  ) async throws(TribuneError) -> Connection {
    try address.validate()
    let link: Link
    do throws(Errno) {
      link = try Link(
        reconnectTimeout, identifiesPosters ? [.descriptors, .posters] : .descriptors, pace, events)
    } catch {
      throw TribuneError(.limitExceeded, "cannot make a connection: \(error)")
    }
    let deadline = ContinuousClock.now.advanced(by: limit)
    _ = try await Reply<Welcome>.wait { reply throws(TribuneError) in
      try link.start(reply, address, greetingDeadline: deadline)
    } onCancel: {
      link.perform(link.state.withLock { $0.stopConnecting() })
    }.get()
    return Connection(link: link)
  }

  private func start(
    _ reply: Reply<Welcome>, _ address: Address, greetingDeadline: ContinuousClock.Instant
  ) throws(TribuneError) -> Welcome? {
    try state.withLock { state throws(TribuneError) in try state.connect(reply) }
    do throws(Errno) {
      try Thread.start { [self] in LinkThread.run(self, address, greetingDeadline: greetingDeadline) }
    } catch {
      end(TribuneError(.limitExceeded, "cannot start a thread for the connection: \(error)"))
    }
    return nil
  }

  // MARK: Actions

  /// The caller must not hold the lock of `state`.
  func perform(_ actions: [LinkState.Action]) {
    for action in actions { perform(action) }
  }

  func perform(_ action: LinkState.Action) {
    switch action {
    case .none, .discard: break
    case .send(let duty): perform(duty)
    case .disconnect:
      UnixSocket.shutdown(socket)
      wakeup.signal()
    case .work(let new): work.withLock { $0.append(new) }
    case .cancel(let question): question.conclude(.cancelled, here: false)
    case .withdraw(let question): question.withdraw()
    case .endAttachment(let attached): attached.end()
    case .refuse(let attached, let error):
      attached.end()
      attached.onRefusal?(error)
    case .endHold(let term, let hasExpired): term.end(expired: hasExpired)
    case .late(let term, let count): term.setLate(count)
    case .finish(let stream, let error): stream.finish(error)
    case .finishTraffic(let stream, let error): stream.finish(error)
    case .endClosing(let closer, let error): closer.resume(returning: .success(error))
    case .welcome(let reply, let result): reply.resume(returning: result)
    case .resume(let reply, let result): reply.resume(returning: result)
    case .resumeAll(let replies, let result): for reply in replies { reply.resume(returning: result) }
    }
  }

  func perform(_ duty: Outbox.Duty) {
    switch duty {
    case .none: break
    case .wake: wakeup.signal()
    case .write(let batch):
      let (bytes, progress) = batch.write(to: socket)
      // The socket must be shut down before the outbox learns of the failure. From that moment, the link's
      // thread can replace `socket`, and a shutdown would hit the next connection's socket.
      if case .failed(let error) = progress { endReading(after: error) }
      let (action, wake) = state.withLock { $0.wrote(batch, bytes: bytes, progress) }
      if wake { wakeup.signal() }
      perform(action)
    }
  }

  /// Shuts the socket down, because after a failed write no further frames can reach the bus. The link's
  /// thread still reads the frames that have arrived, and then handles the end of the stream.
  func endReading(after error: Errno) {
    if !error.isDisconnection {
      let failure = TribuneError(.connectionLost, "writing to the bus failed: \(error)")
      state.withLock { $0.handleFailedWrite(failure) }
    }
    UnixSocket.shutdown(socket)
  }

  /// Waits until the outbox is below its low mark. Returns at once if the outbox is not over its high mark.
  ///
  /// - Parameter fields: the fields of the frame to send. Their deadline includes this wait.
  /// - Returns: the fields, with the remaining time as their deadline.
  @discardableResult
  func waitForCapacity<F: FrameFields>(for fields: F) async throws(TribuneError) -> F {
    let start = ContinuousClock.now
    let (id, patience) = state.withLock { ($0.nextSerial(), $0.patience(of: fields)) }
    let deadline = patience > 0 ? start.advanced(by: .milliseconds(Int(patience))) : nil
    try await Reply<Void>.wait { reply throws(TribuneError) in
      let ready: Void? = try state.withLock { state throws(TribuneError) in
        try state.awaitCapacity(id, until: deadline, reply)
      }
      // The link's thread enforces the deadline of this wait. The thread must wake to learn the deadline.
      if ready == nil, deadline != nil { wakeup.signal() }
      return ready
    } onCancel: {
      perform(state.withLock { $0.stopAwaitingCapacity(id) })
    }.get()
    if let deadline, deadline <= .now { throw .notSentInTime }
    return fields.shortened(by: start.duration(to: .now))
  }

  // MARK: Ending

  func end(_ error: TribuneError?) {
    perform(state.withLock { $0.end(error) })
  }

  /// Makes the link's thread write the rest of the outbox and then end the connection. Does not wait.
  func abandon() {
    if state.withLock({ $0.close(by: .now.advanced(by: Self.closeTimeout)) }) { wakeup.signal() }
  }

  /// Waits for the end of the connection, and returns the reason. Returns nil if the program closed the
  /// connection, or if the task was cancelled.
  func ended() async -> TribuneError? {
    let id = state.withLock { $0.nextSerial() }
    let outcome = await Reply<TribuneError?>.wait { reply in
      state.withLock { $0.awaitEnd(id, reply) }
    } onCancel: {
      state.withLock { $0.stopAwaitingEnd(id) }?.resume(returning: .success(nil))
    }
    if case .success(let reason) = outcome { return reason }
    return nil
  }

  /// Ignores cancellation, because closing takes at most `closeTimeout`.
  func close() async {
    abandon()
    _ = await Reply<TribuneError?>.wait { reply in
      state.withLock { $0.awaitEnd($0.nextSerial(), reply) }
    }
  }

  static let closeTimeout = Duration.seconds(5)
}
