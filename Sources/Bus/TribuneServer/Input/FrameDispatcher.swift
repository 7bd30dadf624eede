// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Dispatches frames other than plain posts (`Router`) to the core or to a part of the server.
final class FrameDispatcher {
  private let context: ServerContext
  private let bus: Cell<Bus>.Reference
  private let sessions: SessionTable
  private let recorder: Recorder
  private let sender: Sender
  private let interpreter: Interpreter
  private let monitor: TrafficMonitor
  private let replier: Replier
  private let gatekeeper: Gatekeeper
  private let files: UserInfoFiles
  private let quota: DescriptorQuota

  init(
    _ interpreter: Interpreter, _ gatekeeper: Gatekeeper, _ files: UserInfoFiles, _ context: ServerContext
  ) {
    (bus, sessions, quota) = (context.bus, context.sessions, files.quota)
    (recorder, sender) = (interpreter.recorder, interpreter.sender)
    (monitor, replier) = (interpreter.monitor, interpreter.replier)
    (self.interpreter, self.gatekeeper) = (interpreter, gatekeeper)
    (self.files, self.context) = (files, context)
  }

  func dispatch(_ frame: FrameView, in slice: ByteSlice, of session: Session) throws(WireError) {
    let header = frame.header
    // Read `kind` once, and compare it by `switch`: `==` on a type of another module is a function call.
    let kind = header.kind
    let isShown =
      switch kind {
      case .monitor: true
      default: monitor.isWatched
      }
    if isShown { monitor.showFrame(frame, slice, from: session) }
    defer { if isShown { monitor.endFrame() } }
    switch kind {
    case .room: return sender.setLimit(try frame.decode(Room.self).limit, of: session)
    case .pace: return recorder.setPace(try frame.decode(Pace.self).limit, of: session)
    case .list, .ask:
      if let error = refusalToAnswer(session) {
        return replier.refuse(session, serial: header.serial, error)
      }
      // A list can take long, and has no effect on the core. The bus sends the list in parts later.
      if case .list = kind {
        session.listing = Listing(frame)
        return
      }
    case .succeed: return try succeed(frame, by: session)
    default: break
    }
    switch (try interpreter.receive(frame, in: slice, of: session), kind) {
    case (.unknownKind, _): try refuseUnknown(header, of: session)
    case (.accepted, .ask): session.traffic.asked += 1
    case (.accepted, .post): countPost(slice, of: session)
    case (.accepted, .hold): if try frame.decode(Hold.self).isLast { recorder.markLast(of: session) }
    case (.accepted, .begin): if try frame.decode(Begin.self).isLast { recorder.markLast(of: session) }
    case (.accepted, _), (.refused, _): break
    }
    interpreter.relieveAndAnnounceIfNeeded()
  }

  /// An error if the user's unread bytes exceed the user's share, else nil. On an error, the bus must not
  /// begin a list or a query, because a list or a verdict can be long.
  private func refusalToAnswer(_ session: Session) -> WireError? {
    let (account, accounts) = (session.account, sessions.accounts)
    sender.chargeQueue(of: session)
    guard account.use(of: .queues) > 0, accounts.isOverShare(of: .queues, account) else { return nil }
    if bus.value.hasSoonPosts { interpreter.deliverSoon() }
    if !session.output.isBlocked { sender.flush(session) }
    // The bus drops notifications before it refuses a list or query.
    sender.relieve(session.user)
    do throws(WireError) {
      try accounts.require(1, of: .queues, for: account)
      return nil
    } catch {
      return error
    }
  }

  private func countPost(_ slice: ByteSlice, of session: Session) {
    session.traffic.posted += 1
    session.traffic.postedBytes += UInt64(slice.count)
    context.statistics.value.posted += 1
    context.statistics.value.postedBytes += UInt64(slice.count)
  }

  private func refuseUnknown(_ header: FrameHeader, of session: Session) throws(WireError) {
    let error = WireError(.unknownKind, "clients send no frame of kind \(header.rawKind)")
    guard !header.flags.contains(.critical) else { throw WireError(.unknownCriticalKind, error.message) }
    replier.refuse(session, serial: header.serial, error)
  }

  // MARK: Files

  func dispatchWithFile(_ post: FrameView, of session: Session) throws(WireError) {
    guard post.header.kind == .post else {
      throw WireError(
        .unexpectedDescriptors, "a frame of kind \(post.header.rawKind) cannot have a descriptor")
    }
    guard let passed = session.input.descriptors.popFirst() else {
      throw WireError(.missingDescriptor, "a frame came without its descriptor")
    }
    do throws(WireError) {
      let buffer = try files.frameBuffer(
        for: post, with: passed, of: session.account, limit: session.limits.payload)
      buffer.append(post.bytes)
      let slice = ByteSlice(buffer, 0..<buffer.count)
      let frame = FrameView(post.header, buffer.bytes)
      if bus.value.isDeclared(frame.object) { try check(slice) }
      try dispatch(frame, in: slice, of: session)
    } catch {
      guard !error.code.closesConnection else { throw error }
      replier.refuse(session, serial: post.header.serial, error)
      try quota.requireClosed(of: session.account.descriptors)
    }
  }

  private func check(_ slice: ByteSlice) throws(WireError) {
    guard let inline = files.inlined(slice),
      let header = FrameHeader.peek(inline.bytes, at: 0, limits: .fromBus)
    else { throw WireError(.invalidDescriptor, "the userInfo in the descriptor cannot be read") }
    try bus.value.check(post: FrameView(header, inline.bytes))
  }

  // MARK: Restarts

  /// Replaces the client's detached session, from before the daemon's crash, by `session`. Reports the number
  /// of missed notifications.
  private func succeed(_ frame: FrameView, by session: Session) throws(WireError) {
    let fields = try frame.decode(Succeed.self)
    let serial = frame.header.serial
    if session.predecessors.contains(fields.predecessor) {
      return replier.enqueue(Okay(), for: session, serial: serial)
    }
    // The client can have sent this `succeed` before, on a connection that ended before the client read the
    // `ok`. The detached session is then that of the ended connection, which had replaced `predecessor`.
    // Pid 0 identifies no process: it stands for all processes outside the bus's pid namespace.
    guard
      let detached = sessions.detached(fields.predecessor)
        ?? sessions.detached(succeeding: fields.predecessor),
      session.peer.pid != 0, detached.peer.pid == session.peer.pid,
      detached.peer.uid == session.peer.uid
    else {
      return replier.refuse(
        session, serial: serial,
        WireError(.notFound, "this process has no detached connection \(fields.predecessor)"))
    }
    // An incomplete detached session lacks observations that were not logged, or that the replay refused. The
    // bus did not count the notifications that these observations missed.
    guard !detached.flags.contains(.incomplete) else {
      gatekeeper.close(detached)
      return replier.refuse(
        session, serial: serial,
        WireError(.notFound, "the registrations of connection \(fields.predecessor) are not all known"))
    }
    let counted =
      detached.queuedCount
      &+ recorder.bufferedCount(of: detached.slot, before: detached.bufferedBefore)
    let received = detached.id == fields.predecessor ? UInt32(truncatingIfNeeded: fields.received) : 0
    let missed = Int32(bitPattern: counted &- received)
    gatekeeper.close(detached) {
      if missed > 0 { sender.enqueueLost(UInt64(missed), for: session) }
      recorder.recordSuccession(of: detached.predecessors + [detached.id], by: session)
    }
    replier.enqueue(Okay(), for: session, serial: serial)
  }
}
