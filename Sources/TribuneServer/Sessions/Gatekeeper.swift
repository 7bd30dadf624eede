// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// Lets connections in, and ends them.
final class Gatekeeper {
  /// How long a connection that was told why it is closed has to read that.
  private static let closingNanoseconds: UInt64 = 1_000_000_000

  let partials = PartialFrames()
  let quota: DescriptorQuota
  let acceptor: Acceptor
  private let context: ServerContext
  private let loop: EventLoop
  private let sessions: SessionTable
  private let recorder: Recorder
  private let sender: Sender
  private let interpreter: Interpreter
  private let replier: Replier
  private let bus: Cell<Bus>.Reference
  /// Keeps connections open while there is no daemon.
  private let store: DescriptorStore?
  /// Connections for which the store had no space, or no descriptor was to be had.
  private var unstored: Set<ConnectionID> = []
  /// Lines of the journal on connections that are closed because of what they did.
  private var closingLines = LineBudget(linesPerSecond: 20)

  init(_ interpreter: Interpreter, _ loop: EventLoop, _ quota: DescriptorQuota, _ store: DescriptorStore?) {
    context = interpreter.context
    sessions = interpreter.sessions
    recorder = interpreter.recorder
    sender = interpreter.sender
    replier = interpreter.replier
    bus = interpreter.bus
    acceptor = Acceptor(loop, sessions, log: context.log)
    (self.interpreter, self.loop, self.quota, self.store) = (interpreter, loop, quota, store)
  }

  // MARK: Coming

  /// Not inlined: the check for exclusive access would be made for every wait.
  @inline(never) func accept(at listener: Int) {
    let isPaused = acceptor.accept(at: listener, admit: admit)
    guard isPaused else { return }
    context.schedule(.accept, .listener(0), afterNanoseconds: Acceptor.pauseNanoseconds)
  }

  private func admit(_ descriptor: consuming FileDescriptor) throws(Errno) {
    let credentials = try UnixSocket.peer(of: descriptor)
    let slot = sessions.nextSlot
    // The log has no counter slot for more. As with descriptors, there may be one later.
    guard slot.index < recorder.wal.slotCount else { throw .tooManyDescriptors }
    let connection = Connection(
      id: sessions.nextID, slot: slot, descriptor: descriptor,
      peer: PeerIdentity(credentials: credentials), connected: context.now,
      limits: context.configuration.frameLimits)
    connection.cookie = try UnixSocket.cookie(of: connection.descriptor)
    try loop.add(connection.descriptor.rawValue, for: connection.interest, token: connection.token)
    recorder.wal.setLast(.connection, connection.id.rawValue)
    sessions.insert(connection)
    recorder.wal.assignSlot(slot.index, to: connection.id)
    context.log.debug("connection \(connection.id) from \(connection.peer.summary)")
    guard sessions.count <= context.configuration.connectionsMax else {
      let most = context.configuration.connectionsMax
      dismiss(
        connection,
        WireError(.tooManyConnections, "the bus is full: it can have \(most) connections at a time"))
      return
    }
    do throws(WireError) {
      // Nor is anything read from it.
      try quota.requireClosed(of: connection.peer.uid)
    } catch {
      dismiss(connection, error)
      return
    }
    awaitHello(of: connection)
  }

  /// Closes the connection if its hello does not come in time.
  func awaitHello(of connection: Connection) {
    context.schedule(
      .hello, connection.token, afterNanoseconds: context.configuration.helloTimeoutNanoseconds)
  }

  /// A connection has said hello.
  func welcome(_ connection: Connection) {
    connection.phase = .open
    recorder.recordConnection(connection)
    interpreter.perform {
      bus.value.connect(connection.slot, id: connection.id, peer: connection.peer)
      if connection.position != nil { keepOpen(connection) }
      replier.sayHello(to: connection)
      let limits = bus.value.limits
      let welcome = Welcome(
        connection: connection.id, payloadMax: UInt32(connection.limits.payload),
        observationsMax: UInt32(limits.observationsMax), delegatesMax: UInt32(limits.delegatesMax),
        queriesMax: UInt32(limits.queriesMax), deadlineMax: limits.deadlineMax,
        deadlineDefault: limits.deadline, busPID: ThisProcess.id, software: Version.current)
      replier.say(welcome, to: connection, serial: 0)
    }
  }

  /// Has the service manager keep the connection open while there is no daemon.
  ///
  /// Some places are left for what is stored when the bus is handed over.
  func keepOpen(_ connection: Connection) {
    // One that was handed over before it said hello lies there already.
    guard let store, !connection.isStored, !connection.isDetached else { return }
    if store.count + DescriptorStore.handOverRoom < store.capacity {
      connection.isStored = store.store(connection.descriptor, as: .connection)
    }
    if !connection.isStored { unstored.insert(connection.id) }
  }

  /// Who goes leaves a place, and a descriptor, to one of those for whom there was none.
  private func keepAnotherOpen() {
    while !acceptor.isStopped, let id = unstored.popFirst() {
      if let connection = sessions[id], connection.phase == .open { return keepOpen(connection) }
    }
  }

  // MARK: Going

  /// Ends a connection that was to end with the iteration.
  func end(_ connection: Connection) {
    if let error = connection.pendingClose {
      dismiss(connection, error)
    } else if connection.phase == .closing {
      close(connection)
    }
  }

  /// Tells the connection why, and closes it when it has read that, or after a second.
  func dismiss(_ connection: Connection, _ error: WireError) {
    guard connection.phase != .closing, connection.phase != .closed else { return }
    connection.pendingClose = nil
    logClosing(of: connection, error)
    if connection.phase == .awaitingHello {
      // Of one that was handed over before it said hello, something is written.
      recorder.recordDisconnection(of: connection)
      replier.sayHello(to: connection)
    } else {
      leave(connection, because: error.code)
    }
    replier.refuse(connection, serial: 0, error)
    connection.phase = .closing
    connection.deferredInput = nil
    partials.release(connection)
    quota.releaseWaiting(of: connection)
    context.schedule(.close, connection.token, afterNanoseconds: Self.closingNanoseconds)
    loop.updateInterest(of: connection)
  }

  /// Writes down why a connection is closed; of many in one second the first, and then how many more.
  private func logClosing(of connection: Connection, _ error: WireError) {
    // The end of the bus is nothing that a peer did.
    let level = error.code == .shuttingDown ? Log.Level.debug : .warning
    guard level == .debug || closingLines.take(at: context.now) else {
      if closingLines.omittedCount == 1 {
        context.schedule(.log, .mainQueue, afterNanoseconds: LineBudget.periodNanoseconds)
      }
      return
    }
    context.log.write(
      level, "closing connection \(connection.id) of \(connection.peer.summary): \(error.message)",
      connection.journalFields("TRIBUNE_ERROR", "\(error.code)"))
  }

  func writeOmittedClosings() {
    let count = closingLines.takeOmittedCount()
    guard count > 0 else { return }
    context.log.warning(
      "closed \(count.counted("more connection")) for what they did", ["TRIBUNE_DROPPED": "\(count)"])
  }

  /// Takes the connection off the bus.
  ///
  /// - Parameter reason: why, if the bus ends it.
  private func leave(_ connection: Connection, because reason: ErrorCode? = nil) {
    recorder.recordDisconnection(of: connection)
    interpreter.perform {
      bus.value.disconnect(connection.slot, because: reason, at: context.now)
      connection.flow = .flowing
      sender.releasePosters(of: connection)
    }
  }

  /// - Parameter isEnded: false if something else goes on over its socket.
  func close(_ connection: Connection, isEnded: Bool = true) {
    guard connection.phase != .closed else { return }
    if connection.phase == .open { leave(connection) }
    connection.deferredInput = nil
    partials.release(connection)
    quota.releaseWaiting(of: connection)
    forget(connection, isEnded: isEnded)
    if !unstored.isEmpty {
      unstored.remove(connection.id)
      keepAnotherOpen()
    }
    acceptor.resume()
  }

  /// Frees the slot and shuts the socket. The descriptor itself is closed with the last reference.
  private func forget(_ connection: Connection, isEnded: Bool) {
    recorder.recordDisconnection(of: connection)
    if connection.phase != .closed { context.log.debug("connection \(connection.id) closed") }
    connection.phase = .closed
    sender.removeQueue(of: connection)
    if !connection.isDetached { loop.unwatch(connection.descriptor.rawValue) }
    if connection.isStored { store?.forget(connection: connection.descriptor) }
    if isEnded {
      UnixSocket.shutdown(connection.descriptor)
      closeUnread(connection)
    }
    sessions.remove(connection)
  }

  /// Closes what is left of a socket that is shut, whatever its peer has sent that nobody has read: that is let go of
  /// with it, descriptors too.
  private func closeUnread(_ connection: Connection) {
    do throws(Errno) {
      guard try UnixSocket.hasUnread(connection.descriptor) else { return }
      let socket = try connection.descriptor.duplicate()
      // The connection goes on having a descriptor, of which it does not matter when it is closed.
      try connection.descriptor.replace(by: try FileDescriptor.duplicate(of: recorder.wal.rawDescriptor))
      quota.close(socket, of: connection.peer.uid)
    } catch {
      context.log.debug("what connection \(connection.id) has sent is let go of here: \(error)")
    }
  }
}
