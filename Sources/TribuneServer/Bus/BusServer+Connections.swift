// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// How connections come, why they are closed, and how they go.
extension BusServer {
  /// Not inlined: the check for exclusive access would be made for every wait.
  @inline(never) func accept(at listener: Int) {
    let isPaused = acceptor.accept(at: listener, admit: admit)
    guard isPaused else { return }
    timeouts.insert(.accept, .listener(0), due: now.advanced(byNanoseconds: Acceptor.pauseNanoseconds))
  }

  private func admit(_ descriptor: consuming FileDescriptor) throws(Errno) {
    let credentials = try UnixSocket.peer(of: descriptor)
    let slot = sessions.nextSlot
    // The state has no room for more: as without descriptors, there may be later.
    guard slot.index < wal.slotCount else { throw Errno(rawValue: EMFILE) }
    let connection = Connection(
      id: sessions.nextID, slot: slot, descriptor: descriptor,
      peer: PeerIdentity(credentials: credentials), connected: now, limits: limits)
    connection.cookie = try UnixSocket.cookie(of: connection.descriptor)
    try loop.add(connection.descriptor.rawValue, for: connection.interest, token: connection.token)
    wal.setLast(.connection, connection.id.rawValue)
    sessions.insert(connection)
    wal.assignSlot(slot.index, to: connection.id)
    log.debug("connection \(connection.id) from \(connection.peer.summary)")
    guard sessions.count <= configuration.connectionsMax else {
      let most = configuration.connectionsMax
      dismiss(
        connection,
        WireError(.tooManyConnections, "the bus is full: it can have \(most) connections at a time"))
      return
    }
    do throws(WireError) {
      // Nor is anything read from it.
      try descriptorQuota.requireClosed(of: connection.peer.uid)
    } catch {
      dismiss(connection, error)
      return
    }
    timeouts.insert(
      .hello, connection.token, due: now.advanced(byNanoseconds: configuration.helloTimeoutNanoseconds))
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
    while stopBy == nil, let id = unstored.popFirst() {
      if let connection = sessions[id], connection.phase == .open { return keepOpen(connection) }
    }
  }

  /// Changes what the event loop watches `connection` for.
  func updateInterest(of connection: Connection) {
    guard connection.phase != .closed, !connection.isDetached else { return }
    do throws(Errno) {
      try loop.modify(
        connection.descriptor.rawValue, for: connection.interest, token: connection.token)
    } catch {
      preconditionFailure("cannot watch connection \(connection.id): \(error)")
    }
  }

  /// Has the connection dismissed when the iteration ends: for whoever is in the middle of going through
  /// connections.
  func closeLater(_ connection: Connection, _ error: WireError) {
    guard connection.isServed else { return }
    connection.pendingClose = error
    iteration.toClose.append(connection)
  }

  /// Tells the connection why, and closes it when it has read that, or after a second.
  func dismiss(_ connection: Connection, _ error: WireError) {
    guard connection.phase != .closing, connection.phase != .closed else { return }
    connection.pendingClose = nil
    logClosing(of: connection, error)
    if connection.phase == .awaitingHello {
      // Of one that was handed over before it said hello, something is written.
      recordDisconnection(of: connection)
      sendHello(to: connection)
    } else {
      leave(connection, because: error.code)
    }
    refuse(connection, serial: 0, error)
    connection.phase = .closing
    connection.deferredInput = nil
    releasePartial(connection)
    descriptorQuota.releaseWaiting(of: connection)
    timeouts.insert(.close, connection.token, due: now.advanced(byNanoseconds: 1_000_000_000))
    updateInterest(of: connection)
  }

  /// Writes down why a connection is closed; of many in one second the first, and then how many more.
  private func logClosing(of connection: Connection, _ error: WireError) {
    // The end of the bus is nothing that a peer did.
    let level = error.code == .shuttingDown ? Log.Level.debug : .warning
    guard level == .debug || closingLines.take(at: now) else {
      if closingLines.omittedCount == 1 {
        timeouts.insert(.log, .mainQueue, due: now.advanced(byNanoseconds: LineBudget.periodNanoseconds))
      }
      return
    }
    log.write(
      level, "closing connection \(connection.id) of \(connection.peer.summary): \(error.message)",
      [
        "TRIBUNE_CONNECTION": "\(connection.id)", "TRIBUNE_PID": "\(connection.peer.pid)",
        "TRIBUNE_UNIT": connection.peer.unit, "TRIBUNE_ERROR": "\(error.code)",
      ])
  }

  func writeOmittedClosings() {
    let count = closingLines.takeOmittedCount()
    guard count > 0 else { return }
    log.warning(
      "closed \(count.counted("more connection")) for what they did", ["TRIBUNE_DROPPED": "\(count)"])
  }

  /// Takes the connection off the bus.
  ///
  /// - Parameter reason: why, if the bus ends it.
  private func leave(_ connection: Connection, because reason: ErrorCode? = nil) {
    recordDisconnection(of: connection)
    beginTransaction()
    bus.disconnect(connection.slot, because: reason, at: now)
    connection.flow = .flowing
    releasePosters(of: connection)
    carryOutEffects()
    endTransaction()
  }

  /// - Parameter isEnded: false if something else goes on over its socket.
  func close(_ connection: Connection, isEnded: Bool = true) {
    guard connection.phase != .closed else { return }
    if connection.phase == .open { leave(connection) }
    connection.deferredInput = nil
    releasePartial(connection)
    descriptorQuota.releaseWaiting(of: connection)
    forget(connection, isEnded: isEnded)
    if !unstored.isEmpty {
      unstored.remove(connection.id)
      keepAnotherOpen()
    }
    acceptor.resume()
  }

  /// Frees the slot and shuts the socket. The descriptor itself is closed with the last reference.
  private func forget(_ connection: Connection, isEnded: Bool) {
    recordDisconnection(of: connection)
    if connection.phase != .closed { log.debug("connection \(connection.id) closed") }
    connection.phase = .closed
    queuedByteCount -= connection.queue.byteCount
    connection.queue.removeAll()
    if !connection.isDetached { loop.unwatch(connection.descriptor.rawValue) }
    if connection.isStored { store?.forget(connection: connection.descriptor) }
    if isEnded {
      UnixSocket.shutdown(connection.descriptor)
      closeUnread(connection)
    }
    sessions.remove(connection)
  }
}
