// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// One socket to the bus, and what is under way on it.
///
/// Two kinds of threads meet here. Callers append frames and, if nobody else is writing, write them at once, so that
/// a query is in the kernel before its caller suspends. The link's own thread blocks in the kernel until there is
/// something to read. It decodes frames, resumes the calls that wait for them, puts questions to delegates, and
/// writes what callers left. They share `state`, behind a lock: a client's callers are on any thread, so unlike the
/// bus it has no isolation to live in. Nothing is resumed and nothing is written under the lock. `work` and each
/// `OpenQuestion` have locks of their own, which are taken after it.
///
/// The receiving thread retains the link; the link is over when that thread has ended. When the bus is lost, the
/// thread looks for it and lets `socket` refer to the new connection (`LinkThread+Reconnecting`).
final class Link: Sendable {
  let socket: FileDescriptor
  let wakeup: Wakeup
  let state: Mutex<LinkState>
  /// Work for delegates, and tasks of the executor. Its lock is taken after that of `state`, if both are.
  let work = Mutex(WorkQueue())
  /// Changes with every change of an observation or an attachment, so that the thread can tell without the lock
  /// whether its cached routes are still right.
  let routesVersion = Atomic(0)
  /// Counts the connections that have been lost. The bus's ids are valid for one of them only.
  let epoch = Atomic(0)
  /// Called by the link's thread when the connection is lost and when it is back.
  let events: (@Sendable (ConnectionEvent) -> Void)?

  private init(
    _ patience: Duration, _ events: (@Sendable (ConnectionEvent) -> Void)?
  ) throws(Errno) {
    state = Mutex(LinkState(patience: patience))
    self.events = events
    socket = try UnixSocket.make(nonblocking: true)
    wakeup = try Wakeup()
  }

  /// Connects, and returns when the bus has sent its welcome.
  static func connect(
    to address: Address, within limit: Duration, reconnectingFor patience: Duration,
    events: (@Sendable (ConnectionEvent) -> Void)?
  ) async throws(TribuneError) -> Connection {
    try address.validate()
    let link: Link
    do throws(Errno) {
      link = try Link(patience, events)
    } catch {
      throw TribuneError(.unreachable, "cannot make a connection: \(error)")
    }
    let deadline = ContinuousClock.now.advanced(by: limit)
    let welcome = await withTaskCancellationHandler {
      await Reply<Welcome>.wait { reply in
        link.start(reply, address, greetingDeadline: deadline)
      }
    } onCancel: {
      link.end(.taskCancelled)
    }
    _ = try welcome.get()
    return Connection(link: link)
  }

  private func start(
    _ reply: Reply<Welcome>, _ address: Address, greetingDeadline: ContinuousClock.Instant
  ) {
    let error = state.withLock { state -> TribuneError? in
      do throws(TribuneError) { try state.requireOpen() } catch { return error }
      state.greeting = reply
      return nil
    }
    if let error {
      reply.resume(returning: .failure(error))
      return
    }
    do throws(Errno) {
      try Thread.start { [self] in LinkThread.run(self, address, greetingDeadline: greetingDeadline) }
    } catch {
      end(TribuneError(.unreachable, "cannot start a thread for the connection: \(error)"))
    }
  }

  // MARK: Writing

  /// Performs what appending a frame requires. Called without the lock.
  func perform(_ duty: Outbox.Duty) {
    switch duty {
    case .none: break
    case .wake: wakeup.signal()
    case .write(let batch):
      let (bytes, progress) = batch.write(to: socket)
      // Before the outbox knows of the failure: after that, `socket` can refer to the next connection.
      if case .failed(let error) = progress { endReading(after: error) }
      let (waiters, wake) = state.withLock { state -> ([Reply<Void>], Bool) in
        let (waiters, wake) = state.outbox.callerWrote(batch, bytes: bytes, progress)
        // Closing continues once nobody is writing.
        return (waiters, wake || state.phase == .closing)
      }
      if wake { wakeup.signal() }
      for waiter in waiters { waiter.resume(returning: .success(())) }
    }
  }

  /// Ends reading after a failed write: its frames will never reach the bus over this connection. The thread reads
  /// what the bus has sent before, and then handles the end of the connection.
  func endReading(after error: Errno) {
    if !error.isDisconnection {
      let failure = TribuneError(.connectionLost, "writing to the bus failed: \(error)")
      state.withLock { $0.refusal = $0.refusal ?? failure }
    }
    UnixSocket.shutdown(socket)
  }

  /// Returns when the outbox has capacity again: below its low mark, or at once if it is not over its high mark.
  func waitForRoom() async throws(TribuneError) {
    let id = try state.withLock { state throws(TribuneError) -> Serial? in
      try state.requireOpen()
      return state.outbox.isFull ? state.nextSerial() : nil
    }
    guard let id else { return }
    let result = await withTaskCancellationHandler {
      await Reply<Void>.wait { reply in
        let ready = state.withLock { state -> Result<Void, TribuneError>? in
          do throws(TribuneError) { try state.requireOpen() } catch { return .failure(error) }
          if Task.isCancelled { return .failure(.taskCancelled) }
          guard state.outbox.isFull else { return .success(()) }
          state.outbox.roomWaiters[id] = reply
          return nil
        }
        if let ready { reply.resume(returning: ready) }
      }
    } onCancel: {
      let reply = state.withLock { $0.outbox.roomWaiters.removeValue(forKey: id) }
      reply?.resume(returning: .failure(.taskCancelled))
    }
    try result.get()
  }

  // MARK: Ending

  /// Ends the connection and resumes all that wait for it; does nothing when it has ended before.
  ///
  /// - Parameter error: the reason; nil when this side closed it.
  func end(_ error: TribuneError?) {
    let (ending, failure) = state.withLock { ($0.end(error), error ?? .closed) }
    guard let ending else { return }
    UnixSocket.shutdown(socket)
    wakeup.signal()
    ending.greeting?.resume(returning: .failure(failure))
    for settlement in ending.settlements { settlement.deliver() }
    for stream in ending.notifications { stream.finish(error) }
    for stream in ending.traffic { stream.finish(error) }
    // Nobody can learn any more how these queries end.
    for question in ending.questions { question.conclude(.cancelled, here: false) }
    for term in ending.terms { term.end(expired: false) }
    for closer in ending.closers { closer.resume(returning: error) }
  }

  /// Has the thread write what is left and then end the connection. Does not wait.
  func abandon() {
    let changed = state.withLock { state -> Bool in
      switch state.phase {
      case .open: state.phase = .closing
      // Waiting frames may still reach a new bus.
      case .interrupted where state.closingDeadline == nil: break
      default: return false
      }
      state.closingDeadline = .now.advanced(by: Self.closingPatience)
      return true
    }
    if changed { wakeup.signal() }
  }

  /// Returns the reason when the connection has ended; nil if this side closed it, and when the task is cancelled.
  func ended() async -> TribuneError? {
    let id = state.withLock { $0.nextSerial() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (closer: CheckedContinuation<TribuneError?, Never>) in
        let ready = state.withLock { state -> TribuneError?? in
          if case .ended(let error) = state.phase { return .some(error) }
          if Task.isCancelled { return .some(nil) }
          state.closers[id] = closer
          return nil
        }
        if let ready { closer.resume(returning: ready) }
      }
    } onCancel: {
      state.withLock { $0.closers.removeValue(forKey: id) }?.resume(returning: nil)
    }
  }

  /// Closes and waits for the end, even if the task has been cancelled: closing takes a bounded time.
  func close() async {
    abandon()
    _ = await withCheckedContinuation { (closer: CheckedContinuation<TribuneError?, Never>) in
      let hasEnded = state.withLock { state -> Bool in
        if case .ended = state.phase { return true }
        state.closers[state.nextSerial()] = closer
        return false
      }
      if hasEnded { closer.resume(returning: nil) }
    }
  }

  /// How long closing waits for a bus that does not read.
  static let closingPatience = Duration.seconds(5)
}
