// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribunePolicy
import TribuneSystem
import TribuneVarlink
import TribuneWire

/// Admits and ends connections.
final class Gatekeeper {
  private static let closingNanoseconds: UInt64 = 1_000_000_000

  private let partials: PartialFrames
  let quota: DescriptorQuota
  private let acceptor: Acceptor
  private let arrivals: Arrivals
  let timeShares: TimeShares
  private let context: ServerContext
  private let loop: EventLoop
  private let sessions: SessionTable
  let recorder: Recorder
  let sender: Sender
  private let interpreter: Interpreter
  private let replier: Replier
  private let bus: Cell<Bus>.Reference
  private let keeper: KeeperLink
  private let spare = SpareDescriptor()
  private var closingLines = LineBudget(linesPerSecond: 20)

  init(
    _ interpreter: Interpreter, _ acceptor: Acceptor, _ partials: PartialFrames, _ quota: DescriptorQuota,
    _ timeShares: TimeShares, _ context: ServerContext
  ) {
    arrivals = Arrivals(context.sessions.accounts, timeShares)
    (bus, sessions) = (context.bus, context.sessions)
    (recorder, sender, replier) = (interpreter.recorder, interpreter.sender, interpreter.replier)
    (loop, keeper) = (sender.loop, recorder.keeper)
    (self.interpreter, self.acceptor, self.partials) = (interpreter, acceptor, partials)
    (self.quota, self.timeShares, self.context) = (quota, timeShares, context)
  }

  // MARK: Coming

  /// Not inlined: inlining would make the event loop check for exclusive access after every wait.
  @inline(never) func accept(at listener: Int) {
    acceptor.accept(at: listener, receive)
    admitArrivals()
  }

  var hasArrivals: Bool { !arrivals.isEmpty && !acceptor.isPaused }

  func admitArrivals() {
    do throws(Errno) { try arrivals.admit(admit) } catch { acceptor.handleFailure(error) }
  }

  private func receive(_ socket: consuming FileDescriptor, _ listener: Listener) throws(Errno) {
    let credentials = try UnixSocket.peer(of: socket)
    let user = sessions.users[credentials.uid]
    timeShares.beginCharging(user)
    sessions.accounts.countConnections()
    do throws(WireError) {
      try sessions.accounts.require(1, of: .connections, for: user.account)
      // While too many descriptors of a user await closing, the bus admits no connection of this user.
      try quota.requireClosed(of: user.account.descriptors)
    } catch {
      refuse(socket, error, isVarlink: listener.isVarlink)
      logClosing(of: "a connection of process \(credentials.pid)", error)
      return close(socket, of: user.account, isCharged: false)
    }
    arrivals.append(socket, credentials, user, isVarlink: listener.isVarlink)
  }

  private func admit(
    _ socket: consuming FileDescriptor, _ credentials: PeerCredentials, _ user: User, isVarlink: Bool
  ) throws(Errno) {
    let (id, slot) = (sessions.nextID, sessions.nextSlot)
    let (cookie, peer, subject): (UInt64, PeerIdentity, Subject)
    do throws(Errno) {
      // This error makes the acceptor pause: like a descriptor, a counter slot can become free later.
      guard recorder.hasSlot(slot) else { throw .tooManyDescriptors }
      cookie = try UnixSocket.cookie(of: socket)
      (peer, subject) = try identify(socket, credentials)
      try UnixSocket.receiveUrgentDataInPlace(on: socket)
      try UnixSocket.setCanReceiveDescriptors(!isVarlink, socket)
      try loop.add(socket.rawValue, for: .readable, token: .connection(id, at: slot))
    } catch {
      close(socket, of: user.account, isCharged: false)
      throw error
    }
    let session = Session(
      id: id, slot: slot, descriptor: socket, cookie: cookie, peer: peer, subject: subject,
      user: user, connected: context.now, limits: context.configuration.frameLimits,
      varlink: isVarlink ? VarlinkState(secret: UInt64.random(in: .min ... .max)) : nil)
    sessions.insert(session)
    recorder.admit(session)
    context.log.debug("connection \(session.id) from \(session.peer.summary)")
    if isVarlink { welcome(session) } else { awaitHello(of: session) }
  }

  /// Briefly opens a descriptor of the peer's process. If opening fails, closes `spare`, and tries again.
  private func identify(
    _ descriptor: borrowing FileDescriptor, _ credentials: PeerCredentials
  ) throws(Errno) -> (PeerIdentity, Subject) {
    let groups = try groups(of: descriptor, credentials)
    do throws(Errno) {
      return PeerIdentity.identify(credentials, groups, try PeerProcess(peerOf: descriptor))
    } catch {
      spare.giveUp()
      defer { spare.refill() }
      return PeerIdentity.identify(credentials, groups, try PeerProcess(peerOf: descriptor))
    }
  }

  private func groups(
    of descriptor: borrowing FileDescriptor, _ credentials: PeerCredentials
  ) throws(Errno) -> Groups {
    let named = bus.value.groupsInPolicy
    // The kernel takes about 30 ns for each group, so the bus reads all groups only if the policy names one.
    let groups = try UnixSocket.groups(ofPeer: descriptor, countMax: named.isEmpty ? Groups.keptMax : .max)
    return Groups(primary: credentials.gid, supplementary: groups, named: named)
  }

  func awaitHello(of session: Session) {
    context.schedule(.hello, session.token, afterNanoseconds: context.configuration.helloTimeoutNanoseconds)
  }

  func welcome(_ session: Session) {
    session.state = .open
    interpreter.perform {
      recorder.recordConnection(session)
      bus.value.connect(session.slot, id: session.id, peer: session.peer, subject: session.subject)
      replier.enqueueHello(for: session)
      let limits = bus.value.limits
      let welcome = Welcome(
        connection: session.id, payloadMax: UInt32(session.limits.payload),
        observationsMax: UInt32(limits.observationsMax), delegatesMax: UInt32(limits.delegatesMax),
        queriesMax: UInt32(limits.queriesMax), deadlineMax: limits.deadlineMax,
        deadlineDefault: limits.deadline, busPID: ThisProcess.id, software: Version.current)
      replier.enqueue(welcome, for: session, serial: 0)
    }
  }

  // MARK: Going

  func endIteration() {
    while !sessions.ending.value.isEmpty {
      let (session, error) = sessions.ending.value.removeLast()
      if let error { dismiss(session, error) } else { close(session) }
    }
  }

  /// Sends the reason, and closes the connection when the kernel has taken the reason, or after a second.
  func dismiss(_ session: Session, _ error: WireError) {
    guard !session.isClosing, !session.isClosed else { return }
    logClosing(of: "connection \(session.id) of \(session.peer.summary)", error, session)
    session.state = .dismissing(isGreeted: session.isGreeted)
    leave(session, because: error.code)
    if !session.isGreeted { replier.enqueueHello(for: session) }
    if error.code == .shuttingDown { sender.releaseBacklog(of: session) }
    replier.refuse(session, serial: 0, error)
    session.state = .closing
    releaseInput(of: session)
    context.schedule(.close, session.token, afterNanoseconds: Self.closingNanoseconds)
    loop.updateInterest(of: session)
  }

  /// Tries once to send the reason to a client that has no session.
  ///
  /// - Parameter isVarlink: true to send the refusal as the reply to the client's current or first call.
  func refuse(
    _ socket: borrowing FileDescriptor, _ error: WireError, isGreeted: Bool = false, isVarlink: Bool = false
  ) {
    let buffer = ByteBuffer(capacity: 256)
    if isVarlink {
      buffer.append(message: VarlinkError.refused(error).reply)
    } else {
      // Clients expect a hello before any frame.
      if !isGreeted { Hello(capabilities: .descriptors).append(to: buffer) }
      buffer.appendFrame(Refusal(error.code), serial: 0, text: error.message)
    }
    do throws(Errno) {
      try sender.write(buffer, to: socket)
    } catch {
      context.log.debug("cannot tell a client why its connection ends: \(error)")
    }
  }

  /// Writes the first lines of each second, and counts the rest.
  private func logClosing(of connection: String, _ error: WireError, _ session: Session? = nil) {
    // The stop of the bus is not the client's fault, so the message is no warning.
    let level = error.code == .shuttingDown ? Log.Level.debug : .warning
    guard level == .debug || closingLines.take(at: context.now) else {
      if closingLines.omittedCount == 1 {
        context.schedule(.log, .mainQueue, afterNanoseconds: LineBudget.periodNanoseconds)
      }
      return
    }
    let code = "\(error.code)"
    context.log.write(
      level, "closing \(connection): \(error.message)",
      session?.journalFields("TRIBUNE_ERROR", code) ?? ["TRIBUNE_ERROR": code])
  }

  func writeOmittedClosings() {
    let count = closingLines.takeOmittedCount()
    guard count > 0 else { return }
    context.log.warning(
      "closed \(count.counted("more connection")), without a message for each",
      ["TRIBUNE_DROPPED": "\(count)"])
  }

  private func leave(_ session: Session, because reason: ErrorCode? = nil) {
    guard session.isGreeted else {
      // A connection that was handed over before its hello is in the log, so its end is logged, too.
      return interpreter.perform { recorder.recordDisconnection(of: session.id) }
    }
    sessions.rememberDeparture(of: session, because: reason, at: context.now)
    interpreter.perform {
      recorder.recordDisconnection(of: session.id)
      bus.value.disconnect(session.slot, because: reason, at: context.now)
      sender.endPacing(of: session)
    }
  }

  private func releaseInput(of session: Session) {
    session.input.deferred = nil
    partials.release(session)
    quota.releaseWaiting(of: session)
  }

  func close(_ session: Session) {
    guard !session.isClosed else { return }
    leave(session)
    releaseInput(of: session)
    forget(session)
    acceptor.resume()
  }

  /// - Parameter succeed: called before the session disconnects, in the same transaction.
  func close(_ session: DetachedSession, succeed: () -> Void = {}) {
    sessions.rememberDeparture(of: session, at: context.now)
    interpreter.perform {
      succeed()
      recorder.recordDisconnection(of: session.id)
      bus.value.disconnect(session.slot, at: context.now)
    }
    sessions.remove(session)
    acceptor.resume()
  }

  private func forget(_ session: Session) {
    context.log.debug("connection \(session.id) closed")
    session.state = .closed
    sender.removeQueue(of: session)
    loop.unwatch(session.descriptor.rawValue)
    if session.isKept { keeper.forget(.connection(session.cookie)) }
    let hasUnreadFiles = sender.unreadFiles.remain(for: session)
    sessions.remove(session)
    guard let socket = session.takeDescriptor() else { preconditionFailure("a session is closed once") }
    guard !hasUnreadFiles else { return sender.unreadFiles.end(socket, of: session) }
    close(socket, of: session.account, isCharged: true)
  }

  /// - Parameter isCharged: false for a connection that was not admitted.
  private func close(_ socket: consuming FileDescriptor, of account: UserAccount, isCharged: Bool) {
    UnixSocket.shutdown(socket)
    // Closing a socket also closes the descriptors in its unread input, which can take long. Threads
    // therefore close such a socket.
    guard UnixSocket.canHaveUnreadDescriptors(socket) else { return }
    if isCharged {
      quota.closeConnection(socket, of: account)
    } else {
      quota.close(socket, of: account.descriptors)
    }
  }
}
