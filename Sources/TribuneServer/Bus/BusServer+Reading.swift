// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// How bytes become frames.
///
/// Reads go into one buffer that all connections share, and frames are taken where they lie in it. The
/// bytes of a partial frame are copied out, and copied in again before the next read of that
/// connection; a frame that does not fit the shared buffer gets one of its own, as long as it says it will
/// be, once that length has been found within the limits.
extension BusServer {
  /// With less room than this left, a read gets a new buffer.
  private static let receiveRoom = 16_384

  /// As many reads as empty a socket, however much its peer goes on to send meanwhile: the kernel holds
  /// less than this many times `receiveRoom`.
  private static let readsUntilEmpty = 64

  /// After so long, an iteration leaves the frames of whoever has sent many that are much work, so that all others have
  /// their turn; how long frames take is looked at after so many of them, or of those that can be much work each.
  private static let iterationNanosecondsMax: UInt64 = 8_000_000
  private static let framesPerLook = 8

  /// Reads what a connection has sent until now.
  func readRest(of connection: Connection) {
    for _ in 0..<Self.readsUntilEmpty {
      guard connection.isServed, !connection.isDetached else { return }
      // The last iteration is as long as it has to be.
      while connection.isServed, connection.deferredInput != nil { takeDeferred(of: connection) }
      guard connection.isServed, read(connection) else { return }
    }
  }

  /// Reads once from a connection, and takes what frames that makes whole.
  ///
  /// - Returns: whether there was anything to read.
  @discardableResult
  func read(_ connection: Connection) -> Bool {
    // What was sent before comes first.
    guard connection.deferredInput == nil else { return true }
    let long = connection.partial.map { $0.capacity > PartialFrameBuffers.capacity } ?? false
    let buffer = long ? connection.partial ?? receiveBuffer : sharedBuffer(for: connection)
    let start = long ? 0 : buffer.count - (connection.partial?.count ?? 0)

    let received: Received
    noteReceiving(from: connection)
    do throws(Errno) {
      received = try UnixSocket.receive(
        from: connection.descriptor, into: buffer, &connection.descriptors)
    } catch {
      if !error.isDisconnection { log.warning("cannot read from connection \(connection.id): \(error)") }
      close(connection)
      return false
    }
    switch received {
    case .nothing: if !long { buffer.truncate(to: buffer.count - (connection.partial?.count ?? 0)) }
    case .end:
      // It may have ended only its own side, and goes on reading.
      if connection.isFlushDeferred { flush(connection) }
      close(connection)
    case .descriptors:
      dismiss(
        connection, WireError(.unexpectedDescriptors, "more descriptors came at once than frames can take"))
    case .bytes:
      if connection.partial == nil { connection.partialSince = now }
      if !long { releasePartial(connection) }
      take(from: connection, in: buffer, from: start)
    }
    noteReceived(from: connection)
    return received != .nothing
  }

  /// Takes the frames that lie in `buffer` from `start` on, and keeps what is left.
  private func take(from connection: Connection, in buffer: ByteBuffer, from start: Int) {
    do throws(WireError) {
      let (end, isDone) = try takeFrames(of: connection, in: buffer, from: start)
      if end > start { connection.partialSince = now }
      guard connection.isServed else { return }
      if isDone {
        try keepPartial(of: connection, in: buffer, from: end)
      } else {
        leave(from: end, in: buffer, of: connection)
      }
      try descriptorQuota.countWaiting(of: connection)
    } catch {
      dismiss(connection, error)
    }
  }

  /// Leaves the frames from `start` on for the next iteration.
  private func leave(from start: Int, in buffer: ByteBuffer, of connection: Connection) {
    if buffer === receiveBuffer {
      // Other reads go on in it.
      let own = ByteBuffer(capacity: buffer.count - start)
      own.append(buffer.bytes(in: start..<buffer.count))
      buffer.truncate(to: start)
      (connection.deferredInput, connection.deferredStart) = (own, 0)
    } else {
      (connection.deferredInput, connection.deferredStart) = (buffer, start)
    }
    finishLater(connection)
  }

  /// Goes on with the frames that were left.
  func takeDeferred(of connection: Connection) {
    guard connection.isServed, let rest = connection.deferredInput else { return }
    connection.deferredInput = nil
    take(from: connection, in: rest, from: connection.deferredStart)
    noteReceived(from: connection)
  }

  /// The shared buffer with the partial frame of the connection at its end, and room to read.
  private func sharedBuffer(for connection: Connection) -> ByteBuffer {
    var buffer = receiveBuffer
    let partial = connection.partial?.count ?? 0
    if buffer.capacity - buffer.count < Self.receiveRoom + partial {
      buffer = pool.take()
      receiveBuffer = buffer
    }
    if let partial = connection.partial { buffer.append(partial.bytes) }
    return buffer
  }

  /// Takes all whole frames from `start` on, or as many as the iteration has time for.
  ///
  /// - Returns: where the first begins that was not taken, and whether that is because it is not whole.
  /// - Throws: what ends the connection.
  private func takeFrames(
    of connection: Connection, in buffer: ByteBuffer, from start: Int
  ) throws(WireError) -> (end: Int, isDone: Bool) {
    var position = start
    var work = 0
    if connection.phase == .awaitingHello {
      guard let hello = try Hello(buffer.bytes(in: position..<buffer.count)) else {
        return (position, true)
      }
      _ = try hello.negotiated()
      connection.takesFiles = hello.capabilities.contains(.descriptors)
      welcome(connection)
      position += Hello.length
    }
    while connection.isServed,
      let header = try FrameHeader(buffer.bytes, at: position, limits: connection.limits),
      buffer.count - position >= header.frameLength
    {
      if work >= Self.framesPerLook {
        guard SystemClock.monotonicNanoseconds < iterationEnd else { return (position, false) }
        work = 0
      }
      work += header.canBeMuchWork ? Self.framesPerLook : 1
      if header.flags.contains(.descriptor) {
        try takeWithFile(header, of: connection, in: buffer, at: position)
        position += header.frameLength
      } else if header.rawKind == FrameKind.post.rawValue, header.fieldsLength == 0 {
        position = takePosts(of: connection, in: buffer, at: position, first: header)
      } else {
        try take(header, of: connection, in: buffer, at: position)
        position += header.frameLength
      }
    }
    return (position, true)
  }

  /// When this iteration has lasted long enough.
  private var iterationEnd: UInt64 { now.advanced(byNanoseconds: Self.iterationNanosecondsMax).nanoseconds }

  /// Keeps the partial frame at the end of what was read, in as much room as it needs.
  private func keepPartial(
    of connection: Connection, in buffer: ByteBuffer, from start: Int
  ) throws(WireError) {
    let count = buffer.count - start
    if let partial = connection.partial, partial === buffer {
      if start == 0 {
        watchProgress(of: connection)
        return
      }
      releasePartial(connection)
    }
    guard count > 0 else {
      releasePartial(connection)
      return
    }
    let frameLength =
      try FrameHeader(buffer.bytes, at: start, limits: connection.limits)?.frameLength ?? count
    let isLong = frameLength > PartialFrameBuffers.capacity
    let length = isLong ? frameLength : count
    // The number of connections bounds the short ones: whoever begins long frames and leaves them does not
    // keep everyone else from sending.
    let reserved = isLong ? length : 0
    guard partialReserved + reserved <= configuration.partialFramesMemoryMaxBytes else {
      throw WireError(.outOfMemory, "there is no memory for another unfinished frame of \(length) bytes")
    }
    let partial = isLong ? try ProgramHeap.buffer(capacity: length) : partialFrameBuffers.take(for: count)
    partial.append(buffer.bytes(in: start..<buffer.count))
    releasePartial(connection)
    connection.partial = partial
    connection.partialReserved = reserved
    partialReserved += reserved
    // The shared buffer gets its end back, unless frames before it are queued and it is not ours alone.
    if buffer === receiveBuffer { buffer.truncate(to: start) }
    watchProgress(of: connection)
  }

  /// Goes on with a frame that another daemon has read the beginning of.
  func restorePartial(_ bytes: [UInt8], of connection: Connection) throws(WireError) {
    guard !bytes.isEmpty else { return }
    let buffer = ByteBuffer(capacity: bytes.count)
    buffer.append(bytes.rawBytes)
    connection.partialSince = now
    noteReceiving(from: connection)
    try keepPartial(of: connection, in: buffer, from: 0)
  }

  func releasePartial(_ connection: Connection) {
    guard let partial = connection.partial else { return }
    partialReserved -= connection.partialReserved
    connection.partialReserved = 0
    partialFrameBuffers.give(partial)
    connection.partial = nil
  }

  private func watchProgress(of connection: Connection) {
    guard !connection.isWatchedForProgress else { return }
    connection.isWatchedForProgress = true
    timeouts.insert(
      .frame, connection.token, due: now.advanced(byNanoseconds: configuration.frameTimeoutNanoseconds))
  }

  /// Closes a connection that has left a frame half sent for too long.
  func checkProgress(of connection: Connection) {
    connection.isWatchedForProgress = false
    guard connection.phase == .open, connection.partial != nil else { return }
    // Nobody ends a frame that is not read.
    if connection.isPaused { connection.partialSince = now }
    let due = connection.partialSince.advanced(byNanoseconds: configuration.frameTimeoutNanoseconds)
    if due <= now {
      dismiss(connection, WireError(.frameTimeout, "the rest of a frame did not come in time"))
    } else {
      connection.isWatchedForProgress = true
      timeouts.insert(.frame, connection.token, due: due)
    }
  }

  // MARK: Frames

  /// Takes one frame that is no plain post.
  private func take(
    _ header: FrameHeader, of connection: Connection, in buffer: ByteBuffer, at start: Int
  ) throws(WireError) {
    let range = start..<start + header.frameLength
    buffer.store(connection.id.rawValue, at: start + FrameHeader.senderOffset)
    try take(FrameView(header, buffer.bytes(in: range)), in: ByteSlice(buffer, range), of: connection)
  }

  /// Takes one frame that is no plain post, and is stamped.
  func take(
    _ frame: FrameView, in slice: ByteSlice, of connection: Connection
  ) throws(WireError) {
    let header = frame.header
    // Found out once, and told apart by `switch`: `==` is a call for what another module declares.
    let kind = header.kind
    let isShown =
      switch kind {
      case .monitor: true
      default: bus.isMonitored
      }
    if isShown { monitorFrame(frame, slice, from: connection) }
    defer { if isShown { iteration.taken = nil } }
    var isShort = false
    switch kind {
    // What it says can be too much to be sent in one go, and changes nothing.
    case .list: return try list(frame, for: connection)
    case .observe: isShort = !hasRoom(forSnapshotOf: frame, connection)
    default: break
    }
    // The core does first what is due, which can end the connection.
    if outlivesDeath, isAnythingDue {
      advance()
      guard connection.isServed else { return }
    }
    compactor.reserve(frame.bytes.byteCount, at: now)
    var position: EntryPosition?
    do throws(WireError) {
      if !isShort { position = try record(frame, kind, of: connection) }
    } catch {
      return refuse(connection, serial: header.serial, error)
    }
    beginTransaction()
    defer { endTransaction() }
    // What is not taken is not to be taken by the next daemon either.
    defer { if let position { wal.discard(from: position) } }
    switch kind {
    case .succeed: try succeed(frame, by: connection)
    case .replace: try takeReplace(frame, of: connection)
    case .observe where isShort:
      refuse(
        connection, serial: header.serial,
        WireError(.limitExceeded, "there is no snapshot for who has not read what was sent before"))
    default:
      let refusedBefore = bus.refusedCount
      let postsBefore = bus.acceptedPostCount
      guard try bus.receive(frame, in: slice, from: connection.slot, at: now) else {
        try refuseUnknown(header, of: connection)
        break
      }
      switch kind {
      case .post:
        if isShown, bus.acceptedPostCount == postsBefore {
          monitorRefusedPost(frame, slice, from: connection)
        }
        connection.postedCount += bus.acceptedPostCount - postsBefore
        statistics.posted += bus.acceptedPostCount - postsBefore
      case .answer where bus.refusedCount == refusedBefore:
        position = position.map { noteAnswer(frame, at: $0, of: connection) }
      default: break
      }
      guard let recorded = position else { break }
      position = nil
      if bus.refusedCount == refusedBefore {
        noteRegistration(by: frame, kind, at: recorded, of: connection)
      } else {
        wal.discard(from: recorded)
      }
    }
    noteGivenIDs()
    carryOutEffects()
    switch kind {
    case .post: recordAwaitedPost(header.serial, of: connection)
    default: break
    }
  }

  /// - Throws: `unknownCriticalKind`.
  private func refuseUnknown(_ header: FrameHeader, of connection: Connection) throws(WireError) {
    let error = WireError(.unknownKind, "clients send no frame of kind \(header.rawKind)")
    guard !header.flags.contains(.critical) else {
      throw WireError(.unknownCriticalKind, error.message)
    }
    refuse(connection, serial: header.serial, error)
  }

  /// Whether an observation can have the snapshot that it wants: one can be as long as all that is retained.
  private func hasRoom(forSnapshotOf frame: FrameView, _ connection: Connection) -> Bool {
    guard frame.fields.byteCount > 0,
      ObserveOptions(rawValue: frame.fields.integer(at: 0, as: UInt8.self)).contains(.retained)
    else { return true }
    flushEarly(connection)
    return connection.queue.byteCount <= configuration.highMarkBytes
  }

  private func welcome(_ connection: Connection) {
    connection.phase = .open
    recordConnection(connection)
    beginTransaction()
    bus.connect(connection.slot, id: connection.id, peer: connection.peer)
    if connection.position != nil { keepOpen(connection) }
    sendHello(to: connection)
    let welcome = Welcome(
      connection: connection.id, payloadMax: UInt32(connection.limits.payload),
      observationsMax: UInt32(bus.limits.observationsMax), delegatesMax: UInt32(bus.limits.delegatesMax),
      queriesMax: UInt32(bus.limits.queriesMax), deadlineMax: bus.limits.deadlineMax,
      deadlineDefault: bus.limits.deadline, busPID: processID, software: Version.current)
    say(welcome, to: connection, serial: 0)
    carryOutEffects()
    endTransaction()
  }
}

extension FrameHeader {
  /// Whether it can take the bus long to do what this one frame asks for: to go through all that is retained, held or
  /// registered, to ask many, or to read a file.
  fileprivate var canBeMuchWork: Bool {
    switch kind {
    case .list, .suspend, .ask: true
    case .observe, .post: fieldsLength > 0
    default: false
    }
  }
}
