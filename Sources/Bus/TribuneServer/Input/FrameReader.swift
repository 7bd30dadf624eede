// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Reads from sockets, and finds the frames in the bytes.
///
/// The bus reads all sockets into one shared buffer, and handles frames in place. It moves a partial frame
/// out of the shared buffer, and copies the frame back before the next read from the frame's connection. A
/// long frame gets a separate buffer once its header has shown that the length is permitted.
///
/// In comments here, a user's *time* is the user's share of the iteration's time (`TimeShares`).
final class FrameReader {
  /// In bytes. If the shared buffer has less free space, a new buffer replaces it before the next read.
  private static let receiveSpace = 16_384

  /// The most reads in one `hear`. A socket holds fewer bytes than so many reads can take. The reads
  /// therefore take everything that the socket held when `hear` was called, even if the peer continues to
  /// send.
  private static let readsUntilEmpty = 64

  private static let afterLast = WireError(
    .afterLast, "bytes came behind a frame that said that it was the last one")

  let context: ServerContext
  private let sessions: SessionTable
  let recorder: Recorder
  let sender: Sender
  private let router: Router
  private let dispatcher: FrameDispatcher
  let gatekeeper: Gatekeeper
  let calls: VarlinkCalls
  private let lister: Lister
  let partials: PartialFrames
  private let quota: DescriptorQuota
  private let pool: BufferPool
  private var receiveBuffer: ByteBuffer
  let timeShares: TimeShares
  /// Connections that the bus reads at the start of the next iteration, because their user's time was spent.
  private let waiting = Cell<[Session]>([])
  /// Connections with deferred frames, which each iteration handles after `waiting`. In the other order, one
  /// connection's frames could use up its user's time before the bus reads the user's other connections.
  private let unfinished = Cell<[Session]>([])
  private let listing = Cell(ListTurns())

  init(
    _ calls: VarlinkCalls, _ gatekeeper: Gatekeeper, _ lister: Lister, _ partials: PartialFrames,
    _ pool: BufferPool, _ context: ServerContext
  ) {
    (router, dispatcher, sessions) = (calls.router, calls.dispatcher, context.sessions)
    (recorder, sender) = (gatekeeper.recorder, gatekeeper.sender)
    (quota, timeShares) = (gatekeeper.quota, gatekeeper.timeShares)
    (self.calls, self.gatekeeper, self.lister) = (calls, gatekeeper, lister)
    (self.partials, self.pool, self.context) = (partials, pool, context)
    receiveBuffer = pool.take()
  }

  var partialByteCount: Int { partials.reservedByteCount }

  // MARK: Reading

  /// Reads until the socket is empty or the user's time is spent.
  ///
  /// - Parameter evenIfPaused: true to read also from a poster that waits for slow observers.
  /// - Returns: true if the bus has read everything that the socket held when `hear` was called, or if the
  ///   session has ended, or takes no Varlink calls now.
  func hear(_ session: Session, evenIfPaused: Bool = false) -> Bool {
    guard evenIfPaused || !session.pacing.isPaused else { return false }
    for _ in 0..<Self.readsUntilEmpty where session.isServed {
      guard read(session) else { return true }
      guard session.input.deferred == nil, !session.input.isWaiting, session.varlink?.waitsForTime != true
      else { return false }
    }
    return true
  }

  /// Reads once, or defers the read if the user's time is spent.
  ///
  /// - Returns: false if the socket was empty, if reading failed, or if the Varlink session takes no calls
  ///   now. True in all other cases, also if the read was deferred.
  @discardableResult
  func read(_ session: Session) -> Bool {
    guard session.input.deferred == nil else { return true }
    if session.speaksVarlink, let varlink = session.varlink {
      guard !varlink.waitsForTime else { return true }
      guard session.takesCalls else { return false }
    }
    if timeShares.isTight, !timeShares.hasTime(for: session.user, isMuchWork: false) {
      if !session.input.isWaiting {
        session.input.isWaiting = true
        waiting.value.append(session)
      }
      return true
    }
    let partial = session.input.partial
    let long = partial.flatMap { PartialFrames.isLong($0) ? $0 : nil }
    let buffer = long ?? sharedBuffer(behind: partial)
    let partialCount = long == nil ? partial?.count ?? 0 : 0

    let received: Received
    recorder.markReceiving(from: session)
    do throws(Errno) {
      received = try UnixSocket.receive(from: session.descriptor, into: buffer, &session.input.descriptors)
    } catch {
      if !error.isDisconnection { context.log.warning("cannot read from connection \(session.id): \(error)") }
      close(session)
      return false
    }
    switch received {
    case .nothing: buffer.truncate(to: buffer.count - partialCount)
    case .end where session.speaksVarlink && halfClose(session):
      buffer.truncate(to: buffer.count - partialCount)
    case .end:
      // The client has possibly closed only its sending side, and still reads, so the bus first sends the
      // queue.
      recorder.commit()
      if session.output.flush != .none { sender.flush(session) }
      close(session)
    case .descriptors:
      gatekeeper.dismiss(session, WireError(.unexpectedDescriptors, "too many descriptors came at once"))
    case .bytes where session.speaksVarlink && !session.input.descriptors.isEmpty:
      // Linux before 6.16 delivers descriptors although the socket forbids them.
      dismissCaller(session, WireError(.unexpectedDescriptors, "a call has no descriptors"))
    case .bytes where session.input.hasLast: gatekeeper.dismiss(session, Self.afterLast)
    case .bytes(let count):
      if partial == nil { session.input.partialSince = context.now }
      if long == nil { partials.release(session) }
      let start = long == nil ? buffer.count - count - partialCount : 0
      if session.speaksVarlink, let varlink = session.varlink {
        handleCalls(of: session, varlink, in: buffer, from: start)
      } else {
        handleFrames(of: session, in: buffer, from: start)
      }
    }
    recorder.markReceived(from: session)
    if case .nothing = received { return false }
    return true
  }

  /// Closing a connection with many registrations takes long, so `timeShares` charges the time to its user.
  private func close(_ session: Session) {
    timeShares.beginCharging(session.user)
    gatekeeper.close(session)
  }

  private func sharedBuffer(behind partial: ByteBuffer?) -> ByteBuffer {
    var buffer = receiveBuffer
    if buffer.capacity - buffer.count < Self.receiveSpace + (partial?.count ?? 0) {
      buffer = pool.take()
      receiveBuffer = buffer
    }
    if let partial { buffer.append(partial.bytes) }
    return buffer
  }

  // MARK: Frames

  /// Handles whole frames from `start` on, and keeps the rest. Defers frames if the user's time is spent.
  private func handleFrames(of session: Session, in buffer: ByteBuffer, from start: Int) {
    do throws(WireError) {
      var position = start
      var isDone = true
      if session.isAwaitingHello,
        let hello = try Hello(buffer.bytes(in: position..<buffer.count))
      {
        _ = try hello.negotiated()
        session.output.acceptsFiles = hello.capabilities.contains(.descriptors)
        if hello.capabilities.contains(.posters) { sessions.enablePosters(for: session) }
        gatekeeper.welcome(session)
        position += Hello.length
      }
      while session.isServed, !session.isAwaitingHello,
        let header = try FrameHeader(buffer.bytes, at: position, limits: session.limits),
        buffer.count - position >= header.frameLength
      {
        if timeShares.waitsForCompaction(session.user)
          || !timeShares.hasTime(for: session.user, isMuchWork: header.canBeMuchWork)
        {
          isDone = false
          break
        }
        if header.rawKind == FrameKind.post.rawValue, header.fieldsLength == 0,
          !header.flags.contains(.descriptor)
        {
          position = router.routePosts(of: session, in: buffer, at: position, first: header)
        } else {
          let slice = ByteSlice(buffer, position..<position + header.frameLength)
          buffer.stamp(session.id, frameAt: position)
          let frame = FrameView(header, slice.bytes)
          if header.flags.contains(.descriptor) {
            try dispatcher.dispatchWithFile(frame, of: session)
          } else {
            try dispatcher.dispatch(frame, in: slice, of: session)
          }
          position = slice.range.upperBound
          if session.listing != nil {
            isDone =
              listing.value.isEmpty && timeShares.hasTimeToList() ? try goOnListing(for: session) : false
            if !isDone { break }
          }
          if session.input.hasLast, position < buffer.count, session.isServed { throw Self.afterLast }
        }
      }
      if position > start { session.input.partialSince = context.now }
      guard session.isServed else { return }
      if isDone {
        try keepPartial(buffer, from: position, of: session)
      } else {
        deferInput(buffer, from: position, of: session)
      }
      try quota.countWaiting(of: session)
    } catch {
      gatekeeper.dismiss(session, error)
    }
  }

  // MARK: Deferred input

  private func deferInput(_ buffer: ByteBuffer, from start: Int, of session: Session) {
    if buffer === receiveBuffer {
      let own = ByteBuffer(holding: buffer.bytes(in: start..<buffer.count))
      buffer.truncate(to: start)
      (session.input.deferred, session.input.deferredStart) = (own, 0)
    } else {
      (session.input.deferred, session.input.deferredStart) = (buffer, start)
    }
    if session.listing == nil { unfinished.value.append(session) } else { listing.value.append(session) }
  }

  var hasDeferred: Bool {
    !listing.value.isEmpty || !waiting.value.isEmpty || !unfinished.value.isEmpty
      || !sender.answered.value.isEmpty
  }

  func beginIteration() {
    guard hasDeferred else { return }
    let (toRead, toFinish) = (waiting.value, unfinished.value)
    waiting.value = []
    unfinished.value = []
    for session in toRead {
      // If the user's previous session waits again, the user's time is spent, so this session waits, too.
      if waiting.value.last?.user === session.user {
        waiting.value.append(session)
      } else {
        session.input.isWaiting = false
        if session.isServed, !session.pacing.isPaused { read(session) }
      }
    }
    for session in toFinish { handleDeferred(of: session) }
    if !sender.answered.value.isEmpty { handleCallsOfAnswered() }
    // Lists come last. If a list came first, the list would delay its user's other connections.
    if !listing.value.isEmpty { goOnListing() }
  }

  private func handleDeferred(of session: Session) {
    guard session.isServed, let rest = session.input.deferred else { return }
    session.input.deferred = nil
    handleFrames(of: session, in: rest, from: session.input.deferredStart)
    recorder.markReceived(from: session)
  }

  // MARK: Lists

  /// Sends a chunk of one list, then more chunks until lists have used up their share of the iteration.
  private func goOnListing() {
    repeat {
      let session = listing.value.removeNext()
      guard session.isServed, session.listing != nil else { continue }
      do throws(WireError) {
        guard try goOnListing(for: session) else {
          listing.value.append(session)
          continue
        }
        handleDeferred(of: session)
      } catch {
        gatekeeper.dismiss(session, error)
      }
    } while !listing.value.isEmpty && timeShares.hasTimeToList()
  }

  private func goOnListing(for session: Session) throws(WireError) -> Bool {
    guard let list = session.listing else { return true }
    timeShares.beginCharging(session.user)
    let began = timeShares.nanoseconds
    defer { timeShares.chargeListing(since: began) }
    let hasEnded = try lister.goOn(list, for: session) { [timeShares] in
      timeShares.hasTimeToList(since: began)
    }
    if hasEnded { session.listing = nil }
    return hasEnded
  }

  /// Before a hand-over, refuses the rest of partly sent lists with `cancelled`, because the next daemon
  /// cannot continue them.
  func endLists() {
    for session in sessions.all {
      guard let list = session.listing, list.hasBegun else { continue }
      lister.end(list, for: session)
      session.listing = nil
    }
  }

  // MARK: Partial frames

  func keepPartial(_ buffer: ByteBuffer, from start: Int, of session: Session) throws(WireError) {
    if session.speaksVarlink {
      try partials.keepMessages(buffer, from: start, of: session)
    } else {
      try partials.keep(buffer, from: start, of: session)
    }
    guard session.input.partial != nil else { return }
    if buffer === receiveBuffer { buffer.truncate(to: start) }
    guard !session.input.isWatchedForProgress else { return }
    session.input.isWatchedForProgress = true
    context.schedule(.frame, session.token, afterNanoseconds: context.configuration.frameTimeoutNanoseconds)
  }

  func restore(_ bytes: [UInt8], of session: Session) throws(WireError) {
    guard !bytes.isEmpty else { return }
    let buffer = ByteBuffer(holding: bytes.rawBytes)
    session.input.partialSince = context.now
    recorder.markReceiving(from: session)
    if session.isOpen, !session.speaksVarlink,
      let header = try FrameHeader(buffer.bytes, at: 0, limits: session.limits),
      header.frameLength <= buffer.count
    {
      return deferInput(buffer, from: 0, of: session)
    }
    try keepPartial(buffer, from: 0, of: session)
    if session.speaksVarlink { sender.answered.value.append(session) }
  }

  func checkProgress(of session: Session) {
    session.input.isWatchedForProgress = false
    guard session.isOpen, session.input.partial != nil else { return }
    // While the bus does not read, the client cannot complete its frame, so the frame's time starts anew.
    if session.pacing.isPaused || session.input.deferred != nil || session.isInCall
      || session.varlink?.waitsForTime == true
    {
      session.input.partialSince = context.now
    }
    let due = session.input.partialSince.advanced(
      byNanoseconds: context.configuration.frameTimeoutNanoseconds)
    if due <= context.now {
      gatekeeper.dismiss(session, WireError(.frameTimeout, "the rest of a frame did not come in time"))
    } else {
      session.input.isWatchedForProgress = true
      context.timeouts.value.insert(.frame, session.token, due: due)
    }
  }
}

extension FrameHeader {
  fileprivate var canBeMuchWork: Bool {
    switch kind?.workload {
    case .longFields: fieldsLength > 0 || payloadLength >= Self.longPayloadLength
    case .longPayload: payloadLength >= Self.longPayloadLength
    case .long, nil: true
    }
  }

  /// In bytes. The check of a payload of at least this length can take long.
  private static var longPayloadLength: Int { 4096 }
}
