// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// What the bus writes down as it happens, so that the next daemon can go on if this one dies (see `WriteAheadLog`).
///
/// What changes the core is written as it came in: frames but for plain posts, the ends of connections, and moments at
/// which something was due. What the bus says and must not be lost is written as it goes out. All that one frame
/// causes becomes visible together (`commit`), before any of it is sent. What is read, what is being sent and how
/// many notifications wait is noted in the connection's cell of the state: a store for each.
///
/// Where nothing outlives the daemon (`outlivesDeath`), it can only be handed over; what is under way is then written when
/// it is, and not before.
extension BusServer {
  /// What the bus says that is longer than that is not written down: whoever has not been sent all of it when the
  /// daemon dies has to connect again.
  private static let controlFrameLengthMax = 65_536

  // MARK: What happens

  /// The connection has been greeted, and is to survive the daemon.
  func recordConnection(_ connection: Connection) {
    let buffer = bufferToRecord()
    ConnectionFacts(connection, cookie: connection.cookie).append(to: buffer)
    connection.position = record(.connect, of: connection.id, at: now, buffer.bytes)
  }

  func recordDisconnection(of connection: Connection) {
    // Of which nothing was written, nothing ends.
    guard connection.position != nil else { return }
    connection.position = nil
    record(.disconnect, of: connection.id, at: now, RawSpan())
  }

  /// Whether the core has something to do by now.
  @inline(__always) var isAnythingDue: Bool {
    // A condition of its own: within the `guard`, the way to the bus is a coroutine with memory of its own.
    let due = bus.nextDeadline
    guard let due else { return false }
    return due <= now
  }

  /// Has the core do what is due, as an event of its own.
  func advance() {
    if isAnythingDue { record(.advance, of: .bus, at: now, RawSpan()) }
    beginTransaction()
    bus.advance(to: now)
    carryOutEffects()
    endTransaction()
  }

  /// Writes down a frame that is about to be taken, if it can change the core.
  ///
  /// - Throws: `limitExceeded` if it brings what takes part in decisions, and there is no room for that.
  func record(
    _ frame: FrameView, _ kind: FrameKind?, of connection: Connection
  ) throws(WireError) -> EntryPosition? {
    guard kind.isRecorded(forDeath: outlivesDeath), connection.position != nil else { return nil }
    switch kind {
    case .attach, .hold, .declare, .ask:
      if let error = compactor.refusal(of: frame, at: now) { throw error }
    // Who only watches is let in, and has to connect again when the bus has died.
    case .observe, .monitor:
      if compactor.refusal(of: frame, at: now) != nil {
        setFlag(.incomplete, of: connection)
        return nil
      }
    default: break
    }
    let last = bus.counters
    let context = bufferToRecord()
    // The frame is kept for longer than the configuration under which it came.
    if case .attach = kind { context.append(bus.limits.delegateTimeout) }
    return record(
      .frame, of: connection.id, at: now, words: (last.lastQuery, last.lastDelegate), frame.bytes,
      context.bytes)
  }

  /// An answer was taken. If nothing was kept of what it said, nothing of that is written: replayed, it is not to decide
  /// more than it did.
  ///
  /// - Parameter position: where it lies.
  /// - Returns: where it lies now.
  func noteAnswer(
    _ frame: FrameView, at position: EntryPosition, of connection: Connection
  ) -> EntryPosition {
    guard let reason = bus.cutReason else { return position }
    wal.discard(from: position)
    let buffer = bufferToRecord()
    buffer.append(frame.bytes.extracting(first: frame.header.payloadStart))
    buffer.store(UInt32(frame.header.payloadStart), at: 0)
    buffer.append(reason.utf8Bytes)
    // It gives no ids.
    let last = bus.counters
    return record(
      .frame, of: connection.id, at: now, words: (last.lastQuery, last.lastDelegate), buffer.bytes)
  }

  /// Notes which ids have been given out, before anybody learns of them.
  func noteGivenIDs() {
    let counters = bus.counters
    wal.setLast(.query, counters.lastQuery)
    wal.setLast(.delegate, counters.lastDelegate)
  }

  /// Notes where the frame lies that has registered something.
  func noteRegistration(
    by frame: FrameView, _ kind: FrameKind?, at position: EntryPosition, of connection: Connection
  ) {
    let serial = frame.header.serial
    switch kind {
    // What was held is counted on when it has been queued, together with what still is.
    case .suspend: connection.suspendPosition = position
    case _ where !hasRegistered(serial, kind, by: connection.slot): break
    case .declare: connection.registered[serial] = addContext(to: frame, at: position, of: connection)
    default: connection.registered[serial] = position
    }
  }

  /// Whether a frame that was taken has registered something. Any other one may have the serial of what is registered.
  func hasRegistered(_ serial: Serial, _ kind: FrameKind?, by slot: ConnectionSlot) -> Bool {
    switch kind {
    case .observe, .monitor, .attach, .hold, .declare: bus.isRegistered(serial, by: slot)
    default: false
    }
  }

  /// Writes down what a declaration relies on beside its frame, which nothing has been written behind yet.
  private func addContext(
    to frame: FrameView, at position: EntryPosition, of connection: Connection
  ) -> EntryPosition {
    let context = ByteBuffer(capacity: 0)
    bus.appendContext(ofDeclaration: frame.header.serial, by: connection.slot, to: context)
    guard context.count > 0 else { return position }
    bus.count(context.count, besides: frame.header.serial, of: connection.slot)
    wal.discard(from: position)
    // It has been given no id.
    let last = bus.counters
    return record(
      .frame, of: connection.id, at: now, words: (last.lastQuery, last.lastDelegate), frame.bytes,
      context.bytes)
  }

  /// Writes down whom a poster waits for. That is shorter than the post, and knows its observers.
  func recordAwaitedPost(_ serial: Serial, of connection: Connection) {
    guard outlivesDeath else { return }
    let buffer = bufferToRecord()
    guard bus.appendAwaitedPost(serial, by: connection.id, to: buffer) else { return }
    record(.awaitedPost, of: connection.id, at: now, buffer.bytes)
  }

  func recordFailure(of question: Question, reason: String) {
    guard outlivesDeath else { return }
    let buffer = bufferToRecord()
    buffer.append(question.query.rawValue)
    buffer.append(question.delegate.rawValue)
    buffer.appendField(reason)
    record(.questionFailure, of: .bus, at: now, buffer.bytes)
  }

  // MARK: What is said

  /// Writes down a frame that must not be lost, and that has been queued.
  ///
  /// - Parameter isRecorded: false for what is not worth it, such as long lists.
  func logControlFrame(_ slice: ByteSlice, _ rest: ByteSlice?, to connection: Connection, isRecorded: Bool) {
    guard outlivesDeath, connection.position != nil else { return }
    let number = connection.traffic.value.controlCount &+ 1
    connection.traffic.value.controlCount = number
    let place = ControlFrameID(number: number, slot: connection.slot.index)
    let length = slice.count + (rest?.count ?? 0)
    guard isRecorded, length <= Self.controlFrameLengthMax, connection.queue.byteCount <= queueRecordedMax,
      wal.admits(bodyLength: length)
    else { return setFlag(.unlogged, of: connection) }
    if let rest {
      record(.controlFrame, of: connection.id, at: place.moment, slice.bytes, rest.bytes)
    } else {
      record(.controlFrame, of: connection.id, at: place.moment, slice.bytes)
    }
  }

  /// Bytes that may wait for a connection if what it is told is to be written down. Where half of the state lasts, all
  /// those that do not read have a quarter of it together, and each an even share.
  private var queueRecordedMax: Int {
    guard compactor.lengthAtLastEnd > wal.admissionLimit / 2 else { return configuration.highMarkBytes }
    return min(configuration.highMarkBytes, wal.admissionLimit / 4 / max(1, sessions.count))
  }

  /// So many notifications were queued.
  @inline(__always) func noteQueued(
    _ count: Int, at slot: ConnectionSlot, _ traffic: inout Connection.Traffic
  ) {
    traffic.queuedCount &+= UInt32(truncatingIfNeeded: count)
    guard outlivesDeath else { return }
    wal.set(.queued, of: slot.index, to: traffic.queuedCount)
  }

  /// - Parameter wereBuffered: they are counted in the cell already, and go on being counted where they are: no two words of a
  ///   cell change at once.
  func noteQueued(_ count: Int, for connection: Connection, wereBuffered: Bool = false) {
    guard !wereBuffered else {
      connection.traffic.value.bufferedBefore &+= UInt32(truncatingIfNeeded: count)
      return
    }
    noteQueued(count, at: connection.slot, &connection.traffic.value)
  }

  /// How many are held while the connection is suspended.
  func noteBuffered(for connection: Connection) {
    wal.set(.buffered, of: connection.slot.index, to: bufferedCount(of: connection))
  }

  /// With those that are not held any more, but told as lost.
  func bufferedCount(of connection: Connection) -> UInt32 {
    connection.traffic.value.bufferedBefore &+ UInt32(truncatingIfNeeded: bus.heldCount(of: connection.slot))
  }

  /// What was held is counted before its poster is done with: nobody else knows of it.
  func noteBufferedOfAll() {
    while let slot = bus.popHeld() {
      if let connection = sessions[slot] { noteBuffered(for: connection) }
    }
  }

  // MARK: What is under way

  @inline(__always) func noteSending(to connection: Connection) {
    if outlivesDeath { setFlag(.sending, of: connection) }
  }

  /// The kernel has taken some of what waited.
  @inline(__always) func noteSent(to connection: Connection) {
    if outlivesDeath { writeSent(to: connection) }
  }

  private func writeSent(to connection: Connection) {
    let slot = connection.slot.index
    let unsent = UInt32(truncatingIfNeeded: connection.queue.unsentNotificationCount)
    let unsentOthers = UInt32(truncatingIfNeeded: connection.queue.unsentOtherCount)
    let bufferedBefore = connection.traffic.value.bufferedBefore
    wal.set(.sent, of: slot, to: connection.traffic.value.queuedCount &+ bufferedBefore &- unsent)
    wal.set(.controlSent, of: slot, to: connection.traffic.value.controlCount &- unsentOthers)
    if connection.queue.lostCount > 0 {
      let told = connection.queue.lostCount - connection.queue.untoldLostCount
      wal.set(.lost, of: slot, to: UInt32(clamping: told))
    }
    var flags = connection.traffic.value.sessionFlags
    if !connection.queue.isMidFrame { flags.remove(.sending) }
    if unsentOthers == 0 { flags.remove(.unlogged) }
    setFlags(flags, of: connection)
  }

  /// Whether a frame is half written, for whoever goes on with the connection.
  func noteMidFrame(of connection: Connection) {
    var flags = connection.traffic.value.sessionFlags
    if connection.queue.isMidFrame { flags.insert(.sending) } else { flags.remove(.sending) }
    setFlags(flags, of: connection)
  }

  @inline(__always) func noteReceiving(from connection: Connection) {
    if outlivesDeath { setFlag(.receiving, of: connection) }
  }

  /// What was read has been taken, but for what the connection keeps.
  @inline(__always) func noteReceived(from connection: Connection) {
    if outlivesDeath { endReceiving(from: connection) }
  }

  private func endReceiving(from connection: Connection) {
    // Until all that it caused can be seen, what was read is lost with the daemon.
    commit()
    guard connection.partial == nil, connection.deferredInput == nil, connection.descriptors.isEmpty else {
      return
    }
    // What is delivered at the end of the iteration is not in the log.
    guard !bus.hasSoonPosts else { return iteration.receiving.append(connection) }
    var flags = connection.traffic.value.sessionFlags
    flags.remove(.receiving)
    setFlags(flags, of: connection)
  }

  func setFlag(_ flag: SessionFlags, of connection: Connection) {
    setFlags(connection.traffic.value.sessionFlags.union(flag), of: connection)
  }

  private func setFlags(_ flags: SessionFlags, of connection: Connection) {
    guard flags != connection.traffic.value.sessionFlags else { return }
    connection.traffic.value.sessionFlags = flags
    wal.set(.flags, of: connection.slot.index, to: flags.rawValue)
  }

  // MARK: The log

  /// Makes visible what was written. Behind the end of a hand-over nothing is: who goes on has what was to be sent until then.
  @inline(__always) func commit() {
    precondition(!isHandedOver, "something happens on a bus that goes on elsewhere")
    wal.commit()
    if retainedFiles.hasForgotten { removeForgottenFiles() }
  }

  /// Where what is written next is encoded, with nothing in it.
  @inline(__always) func bufferToRecord() -> ByteBuffer {
    let buffer = recordBuffer
    buffer.truncate(to: 0)
    return buffer
  }

  /// - Returns: where it lies.
  @discardableResult
  func record(
    _ kind: EntryKind, of id: ConnectionID, at moment: Instant, words: (UInt64, UInt64)? = nil,
    _ head: RawSpan, _ body: RawSpan = RawSpan()
  ) -> EntryPosition {
    if !isInTransaction { compactor.reserve(head.byteCount + body.byteCount, at: now) }
    guard let position = wal.append(kind, connection: id, at: moment, prefix: words, head, body) else {
      preconditionFailure(
        "a segment of \(wal.segmentCapacity) bytes ends after \(wal.usedLength), which are to be half of it at most, and what is retained"
      )
    }
    return position
  }
}

extension FrameKind? {
  /// Whether one can change what the core knows, in a way that is to be known later.
  ///
  /// - Parameter outlivesDeath: what is under way is to be known if the daemon dies. Else it is enough to know it when it
  ///   is handed over, as it then is.
  fileprivate func isRecorded(forDeath outlivesDeath: Bool) -> Bool {
    switch self {
    case .observe, .monitor, .attach, .hold, .declare, .suspend, .cancel: true
    case .ask, .answer, .defer, .done: outlivesDeath
    default: false
    }
  }
}
