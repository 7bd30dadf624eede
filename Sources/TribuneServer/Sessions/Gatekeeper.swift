// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribunePolicy
import TribuneSystem
import TribuneWire

/// Lets connections in, and ends them.
final class Gatekeeper {
  /// How long a client has to read why its connection is closed.
  private static let closingNanoseconds: UInt64 = 1_000_000_000

  private let partials: PartialFrames
  private let quota: DescriptorQuota
  private let acceptor: Acceptor
  private let context: ServerContext
  private let loop: EventLoop
  private let sessions: SessionTable
  private let recorder: Recorder
  private let sender: Sender
  private let interpreter: Interpreter
  private let replier: Replier
  private let bus: Cell<Bus>.Reference
  /// Keeps connections open while there is no daemon.
  private let keeper: KeeperLink
  private let spare = SpareDescriptor()
  /// Limits the journal's lines about connections that the bus closes.
  private var closingLines = LineBudget(linesPerSecond: 20)

  init(
    bus: Cell<Bus>.Reference, sessions: SessionTable, recorder: Recorder, sender: Sender,
    replier: Replier, interpreter: Interpreter, acceptor: Acceptor, partials: PartialFrames,
    quota: DescriptorQuota, loop: EventLoop, keeper: KeeperLink, context: ServerContext
  ) {
    (self.bus, self.sessions, self.recorder) = (bus, sessions, recorder)
    (self.sender, self.replier, self.interpreter) = (sender, replier, interpreter)
    (self.acceptor, self.partials, self.quota) = (acceptor, partials, quota)
    (self.loop, self.keeper, self.context) = (loop, keeper, context)
  }

  // MARK: Coming

  /// Not inlined: otherwise, the check for exclusive access would be made for every wait.
  @inline(never) func accept(at listener: Int) {
    let isPaused = acceptor.accept(at: listener, admit: admit)
    guard isPaused else { return }
    context.schedule(.accept, .listener(0), afterNanoseconds: Acceptor.pauseNanoseconds)
  }

  private func admit(_ descriptor: consuming FileDescriptor) throws(Errno) {
    let credentials = try UnixSocket.peer(of: descriptor)
    let slot = sessions.nextSlot
    // The log has no counter slot for another connection. As with descriptors, one may be free later.
    guard recorder.hasSlot(slot) else { throw .tooManyDescriptors }
    let cookie = try UnixSocket.cookie(of: descriptor)
    let (peer, subject) = try identify(descriptor, credentials)
    let session = Session(
      id: sessions.nextID, slot: slot, descriptor: descriptor, cookie: cookie,
      peer: peer, subject: subject, account: sessions.accounts.account(of: peer.uid), connected: context.now,
      limits: context.configuration.frameLimits)
    try loop.add(session.descriptor.rawValue, for: session.interest, token: session.token)
    let refusal = refusal(of: session)
    session.isCharged = refusal == nil
    sessions.insert(session)
    recorder.admit(session)
    context.log.debug("connection \(session.id) from \(session.peer.summary)")
    if let refusal { return dismiss(session, refusal) }
    awaitHello(of: session)
  }

  /// Why a connection is refused; nil if it is not.
  private func refusal(of session: Session) -> WireError? {
    do throws(WireError) {
      try sessions.accounts.require(1, of: .connections, for: session.account)
      // While too many of the user's descriptors are not closed yet, nothing is read from the connection.
      try quota.requireClosed(of: session.account.descriptors)
      return nil
    } catch {
      return error
    }
  }

  /// Needs a descriptor for a moment. The last one of this process may just have been accepted.
  private func identify(
    _ descriptor: borrowing FileDescriptor, _ credentials: PeerCredentials
  ) throws(Errno) -> (PeerIdentity, Subject) {
    let groups = try UnixSocket.groups(ofPeer: descriptor)
    do throws(Errno) {
      return PeerIdentity.identify(credentials, groups, try PeerProcess(peerOf: descriptor))
    } catch {
      spare.giveUp()
      defer { spare.refill() }
      return PeerIdentity.identify(credentials, groups, try PeerProcess(peerOf: descriptor))
    }
  }

  /// Closes the connection if its hello does not come in time.
  func awaitHello(of session: Session) {
    context.schedule(.hello, session.token, afterNanoseconds: context.configuration.helloTimeoutNanoseconds)
  }

  /// Opens a session, because its hello has come.
  func welcome(_ session: Session) {
    session.state = .open
    recorder.recordConnection(session)
    interpreter.perform {
      bus.value.connect(session.slot, id: session.id, peer: session.peer, subject: session.subject)
      replier.sendHello(to: session)
      let limits = bus.value.limits
      let welcome = Welcome(
        connection: session.id, payloadMax: UInt32(session.limits.payload),
        observationsMax: UInt32(limits.observationsMax), delegatesMax: UInt32(limits.delegatesMax),
        queriesMax: UInt32(limits.queriesMax), deadlineMax: limits.deadlineMax,
        deadlineDefault: limits.deadline, busPID: ThisProcess.id, software: Version.current)
      replier.send(welcome, to: session, serial: 0)
    }
  }

  // MARK: Going

  /// Ends the connections that were marked for that during the iteration.
  func endIteration() {
    while !sessions.ending.value.isEmpty {
      let (session, error) = sessions.ending.value.removeLast()
      if let error { dismiss(session, error) } else { close(session) }
    }
  }

  /// Tells the client why the connection is closed. Closes it when the kernel has taken that, or after a second.
  func dismiss(_ session: Session, _ error: WireError) {
    guard !session.isClosing, !session.isClosed else { return }
    logClosing(of: session, error)
    session.state = .dismissing(isGreeted: session.isGreeted)
    if session.isGreeted {
      leave(session, because: error.code)
    } else {
      // If the connection was handed over before it said hello, the log has it.
      recorder.recordDisconnection(of: session.id)
      replier.sendHello(to: session)
    }
    replier.refuse(session, serial: 0, error)
    session.state = .closing
    releaseInput(of: session)
    context.schedule(.close, session.token, afterNanoseconds: Self.closingNanoseconds)
    loop.updateInterest(of: session)
  }

  /// Logs why a connection is closed. Of many such lines in one second, only the first are written, the others counted.
  private func logClosing(of session: Session, _ error: WireError) {
    // The end of the bus is not a fault of the peer.
    let level = error.code == .shuttingDown ? Log.Level.debug : .warning
    guard level == .debug || closingLines.take(at: context.now) else {
      if closingLines.omittedCount == 1 {
        context.schedule(.log, .mainQueue, afterNanoseconds: LineBudget.periodNanoseconds)
      }
      return
    }
    context.log.write(
      level, "closing connection \(session.id) of \(session.peer.summary): \(error.message)",
      session.journalFields("TRIBUNE_ERROR", "\(error.code)"))
  }

  func writeOmittedClosings() {
    let count = closingLines.takeOmittedCount()
    guard count > 0 else { return }
    context.log.warning(
      "closed \(count.counted("more connection")), without a message for each",
      ["TRIBUNE_DROPPED": "\(count)"])
  }

  /// Takes the connection off the bus.
  ///
  /// - Parameter reason: why, if the bus ends the connection.
  private func leave(_ session: Session, because reason: ErrorCode? = nil) {
    recorder.recordDisconnection(of: session.id)
    sessions.noteDeparture(of: session, because: reason, at: context.now)
    interpreter.perform {
      bus.value.disconnect(session.slot, because: reason, at: context.now)
      sender.endPacing(of: session)
    }
  }

  /// Releases the input that is not taken any more.
  private func releaseInput(of session: Session) {
    session.input.deferred = nil
    partials.release(session)
    quota.releaseWaiting(of: session)
  }

  func close(_ session: Session) {
    guard !session.isClosed else { return }
    if session.isGreeted { leave(session) } else { recorder.recordDisconnection(of: session.id) }
    releaseInput(of: session)
    forget(session)
    acceptor.resume()
  }

  /// Ends what a detached session had registered: its client has come back, or its time is over.
  func close(_ session: DetachedSession) {
    recorder.recordDisconnection(of: session.id)
    sessions.noteDeparture(of: session, at: context.now)
    interpreter.perform { bus.value.disconnect(session.slot, at: context.now) }
    sessions.remove(session)
    acceptor.resume()
  }

  /// Frees the slot, and shuts and closes the socket.
  private func forget(_ session: Session) {
    context.log.debug("connection \(session.id) closed")
    session.state = .closed
    sender.removeQueue(of: session)
    loop.unwatch(session.descriptor.rawValue)
    if session.isKept { keeper.forget(.connection(session.cookie)) }
    UnixSocket.shutdown(session.descriptor)
    sessions.remove(session)
    guard let socket = session.takeDescriptor() else { preconditionFailure("a session is closed once") }
    do throws(Errno) {
      // With unread input, closing also closes the descriptors in that, which may take long.
      if try UnixSocket.hasUnread(socket) { quota.close(socket, of: session.account.descriptors) }
    } catch {
      context.log.debug("cannot tell whether connection \(session.id) has unread input: \(error)")
    }
  }
}
