// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Queues frames for connections, and writes the queues to the sockets when the iteration ends.
///
/// The bus never drops control frames (all frames except notifications and `lost`). If a connection's queue
/// exceeds the hard limit nevertheless, the bus closes the connection. The sender never calls the core. It
/// reports `Event`s, which `Interpreter.relieveAndAnnounceIfNeeded` handles.
final class Sender {
  enum Event {
    case lost(UInt64, Session)
    case becameLossy(Session, isAnnounced: Bool)
    case recovered(Session, lost: UInt64)
  }

  private static let flushDelayNanoseconds = 1_000_000

  static let encodeSpace = 4096

  private static let headLength = 48

  /// In bytes. If a user's unread bytes exceed the user's share, the bus does not queue longer notifications
  /// and questions for this user. The bus cannot drop a partly sent frame, so each of the user's many
  /// connections could keep a long one in memory.
  private static let shortLength = 4096

  /// In bytes. A socket that is not full nearly always has space for this many bytes.
  private static let promptLength = 65_536

  let context: ServerContext
  let loop: EventLoop
  let sessions: SessionTable
  let recorder: Recorder
  private let files: UserInfoFiles
  let unreadFiles: UnreadFiles
  private let pool: BufferPool
  let queuePool = BufferPool(bufferCapacity: 16_384, keptMax: 64)
  private var encodeBuffer: ByteBuffer
  let gather = GatherList(capacity: 64)
  var queuedByteCount = 0
  /// `relieve` flushes all queues only if they together exceed this number of bytes.
  var relievedAbove = Int.max
  let scheduled = Cell<[Session]>([])
  var takenCount = 0
  let postponed = Cell<[Session]>([])
  private let deferred = Cell<[Session]>([])
  private let alarm: Alarm
  private var isAlarmSet = false
  let overSoftLimit = Cell<[Session]>([])
  let overShare = Cell<[User]>([])
  var isOverTotal = false
  /// `relieveTotal` examines the queues again only if all queues together exceed this number of bytes.
  var totalRelievedAbove = 0
  var accounts: Accounts { sessions.accounts }
  let events = Cell<[Event]>([])
  let answered = Cell<[Session]>([])
  /// Sessions that can take more notifications of their snapshots.
  let snapshotsDue = Cell<[Session]>([])

  init(
    _ recorder: Recorder, _ files: UserInfoFiles, _ loop: EventLoop, _ pool: BufferPool,
    _ context: ServerContext
  ) throws(Errno) {
    sessions = context.sessions
    (self.recorder, self.files, self.loop, self.pool, self.context) = (recorder, files, loop, pool, context)
    unreadFiles = UnreadFiles(files.quota, recorder, context)
    encodeBuffer = pool.take()
    alarm = try Alarm()
    try loop.add(alarm.rawValue, for: .readable, token: .alarm)
  }

  // MARK: Queueing

  /// Queues posts for an observer. If the observer is slow, pauses the poster or drops notifications.
  func deliver(_ run: ByteSlice, count: Int, to receiver: Receiver, from poster: Session) {
    let slot = receiver.slot
    guard let observer = sessions[slot] else { return recorder.countMissed(count, at: slot) }
    if !receiver.isDelegate, isSlow(observer), losesNew(observer, from: poster) {
      return lose(count, for: observer)
    }
    enqueue(run, for: observer, isNotification: true, count: count, waitsForRoom: !receiver.isDelegate)
    let isPatient = poster.output.isPatient
    if isPatient { observer.output.notePatient() }
    guard isSlow(observer) else { return }
    // A client is not paused for its own posts: while paused, it could not raise its notification limit.
    let isOwn = observer === poster
    switch observer.pacing.flow {
    case .pacing(let since, isOver: true) where !mayWait(poster, since: since): break
    case .flowing where isOwn, .pacing where isOwn, .lossy where isOwn && isPatient:
      applyHardLimit(to: observer)
    case .lossy where isPatient:
      pause(poster, for: observer)
      scheduleCheck(of: observer)
    case .flowing where mayPace(poster, for: observer), .pacing: pace(poster, for: observer)
    // Notifications of a patient poster (`Output.isPatient`) are queued, so the bus drops no queued ones. The
    // observer instead loses the next notifications of posters that are not patient (`losesNew`).
    case .flowing where observer.output.holdsForPatient, .lossy where observer.output.holdsForPatient: break
    case .flowing, .lossy: drop(from: observer, downTo: context.configuration.queue.highMarkBytes)
    }
  }

  /// True if the slow observer loses new notifications of this poster instead of queued ones: while
  /// notifications of patient posters are queued, or while other posters still wait for the observer.
  ///
  /// - Parameter poster: nil for a notification that pauses no poster.
  private func losesNew(_ observer: Session, from poster: Session? = nil) -> Bool {
    switch observer.pacing.flow {
    case .pacing(let since, isOver: true): poster.map { !mayWait($0, since: since) } ?? true
    case .pacing(_, isOver: false): false
    case .flowing: observer.output.holdsForPatient && poster.map { !mayPace($0, for: observer) } ?? true
    case .lossy: observer.output.holdsForPatient && poster?.output.isPatient != true
    }
  }

  private func lose(_ count: Int, for observer: Session) {
    enqueueLost(UInt64(count), for: observer)
    events.value.append(.lost(UInt64(count), observer))
  }

  private func isSlow(_ observer: Session) -> Bool {
    observer.output.isHeld
      && observer.output.unreadByteCount > context.configuration.queue.highMarkBytes
  }

  /// Pauses no poster: a slow observer loses notifications at once. If posters are already paused for the
  /// observer, its losses begin only when `PaceMaxSec=` has passed.
  func deliverWithoutPacing(
    _ slice: ByteSlice, to slot: ConnectionSlot, isAnnounced: Bool = true, waitsForRoom: Bool = true
  ) {
    guard let observer = sessions[slot] else { return recorder.countMissed(1, at: slot) }
    if waitsForRoom, isSlow(observer), losesNew(observer) { return lose(1, for: observer) }
    enqueue(slice, for: observer, isNotification: true, waitsForRoom: waitsForRoom)
    guard isSlow(observer), !observer.pacing.isPacing, !observer.output.holdsForPatient else { return }
    drop(from: observer, downTo: context.configuration.queue.highMarkBytes, isAnnounced: isAnnounced)
  }

  func enqueueLost(_ count: UInt64, for session: Session, wereBuffered: Bool = false) {
    guard count > 0 else { return }
    guard session.output.accepts else { return }
    changeOutput(of: session) { output in
      if output.backlog.isEmpty {
        output.queue.appendLost(count)
        output.takeRoom(Int(clamping: count))
      } else {
        output.backlog.changeLast { queue in queue.appendLost(count) }
      }
    }
    recorder.countQueued(Int(clamping: count), for: session, wereBuffered: wereBuffered)
    context.statistics.value.lost += count
    scheduleFlush(session)
  }

  func changeOutput<Failure: Error>(
    of session: Session, _ change: (inout Output) throws(Failure) -> Void
  ) throws(Failure) {
    let before = session.output.byteCount
    try change(&session.output)
    queuedByteCount += session.output.byteCount - before
    chargeQueue(of: session)
  }

  /// - Parameters:
  ///   - rest: the rest of the frame that begins in `slice`. A frame is queued whole or not at all.
  ///   - wereBuffered: true if the log already counts the notifications as buffered.
  ///   - waitsForRoom: false if the frame overtakes the backlog.
  func enqueue(
    _ slice: ByteSlice, _ rest: ByteSlice? = nil, for session: Session, isNotification: Bool,
    count: Int = 1, defersFlush: Bool = false, isRecorded: Bool = true, wereBuffered: Bool = false,
    waitsForRoom: Bool = true
  ) {
    guard session.output.accepts else { return }
    guard let slice = readable(slice, by: session) else {
      return enqueueLost(1, for: session, wereBuffered: wereBuffered)
    }
    let isLong = slice.count + (rest?.count ?? 0) > Self.shortLength
    if isLong, isNotification, accounts.isOverShare(of: .queues, session.account) {
      return enqueueLost(UInt64(count), for: session, wereBuffered: wereBuffered)
    }
    if isNotification {
      if waitsForRoom, session.output.room < count {
        return hold(slice, count: count, for: session, wereBuffered: wereBuffered)
      }
      session.output.takeRoom(count)
    }
    session.output.queue.append(
      slice, isNotification: isNotification, count: rest == nil ? count : 0, copyingInto: queuePool)
    queuedByteCount += slice.weight
    if let rest {
      session.output.queue.append(rest, isNotification: isNotification, copyingInto: queuePool)
      queuedByteCount += rest.count
    }
    if isNotification {
      recorder.countQueued(count, for: session, wereBuffered: wereBuffered)
    } else {
      recorder.recordControlFrame(slice, rest, to: session, isRecorded: isRecorded)
    }
    if isLong { chargeQueue(of: session) }
    if defersFlush { deferFlush(session) } else { scheduleFlush(session) }
    if session.output.queue.byteCount > softLimit { limitQueue(of: session, isNotification: isNotification) }
  }

  /// Queues as many notifications as the client accepts now. The others wait in the backlog.
  private func hold(_ run: ByteSlice, count: Int, for session: Session, wereBuffered: Bool) {
    changeOutput(of: session) { output in
      output.backlog.changeLast { queue in
        queue.append(run, isNotification: true, count: count, copyingInto: queuePool)
      }
    }
    recorder.countQueued(count, for: session, wereBuffered: wereBuffered)
    session.output.updateRoom()
    refill(session)
    scheduleFlush(session)
    applyHardLimit(to: session)
  }

  func setLimit(_ limit: UInt64, of session: Session) {
    recorder.setFlag(.limited, of: session)
    session.output.setLimit(UInt32(truncatingIfNeeded: limit))
    refill(session)
    scheduleFlush(session)
  }

  func enqueueInBacklog(_ facts: PosterFacts, for session: Session) {
    let slice = encode(facts)
    changeOutput(of: session) { output in
      output.backlog.changeLast { queue in
        queue.append(slice, isNotification: false, copyingInto: queuePool)
      }
      output.updateRoom()
    }
  }

  func encode(_ fields: some FrameFields) -> ByteSlice {
    let buffer = bufferToEncode()
    let start = buffer.count
    buffer.appendFrame(fields, serial: 0)
    return ByteSlice(buffer, start..<buffer.count)
  }

  /// Queues a notification of a snapshot. `Snapshots.begin` has already counted it.
  func enqueueFirst(_ slice: ByteSlice, for session: Session) {
    guard let slice = readable(slice, by: session) else { return enqueueFirstLost(for: session) }
    session.output.queue.append(slice, isNotification: true, copyingInto: queuePool)
    queuedByteCount += slice.weight
  }

  /// The frame, with inline userInfo if the client accepts no files. Nil if the file cannot be read.
  @inline(__always) func readable(_ slice: ByteSlice, by session: Session) -> ByteSlice? {
    guard slice.buffer.attachment != nil, !session.output.acceptsFiles else { return slice }
    return files.inlined(slice)
  }

  func enqueueFirstLost(for session: Session) {
    changeOutput(of: session) { output in output.queue.appendLost(1) }
    context.statistics.value.lost += 1
  }

  /// Moves as many notifications from the backlog to the queue as the client accepts. Stops at a snapshot
  /// that is not yet wholly queued.
  func refill(_ session: Session) {
    var controlFrames: [ByteSlice] = []
    // A `lost` frame of the backlog can merge with one in the queue, which frees its bytes.
    changeOutput(of: session) { output in controlFrames = output.refill() }
    for slice in controlFrames { recorder.recordControlFrames(in: slice, to: session) }
  }

  /// Queues the whole backlog, because the bus stops. The remaining notifications of snapshots are lost.
  func releaseBacklog(of session: Session) {
    changeOutput(of: session) { output in
      context.statistics.value.lost += output.backlog.dropSnapshots()
      output.flags.remove(.limited)
    }
    refill(session)
  }

  func scheduleFlush(_ session: Session) {
    guard session.output.flush != .scheduled else { return }
    session.output.flush = .scheduled
    scheduled.value.append(session)
  }

  /// Sends the queue when the bus next queues a frame for this client, other than `concluded`, or after a
  /// delay. Waking a client for a `concluded` frame alone would take a fifth of the time of an ask.
  private func deferFlush(_ session: Session) {
    guard session.output.flush == .none else { return }
    session.output.flush = .deferred
    deferred.value.append(session)
    guard !isAlarmSet else { return }
    isAlarmSet = true
    alarm.set(nanoseconds: Self.flushDelayNanoseconds)
  }

  func alarmFired() {
    alarm.clear()
    isAlarmSet = false
    flushDeferred()
  }

  func flushDeferred() {
    while let session = deferred.value.popLast() {
      if session.output.flush == .deferred { scheduleFlush(session) }
    }
  }

  /// A long frame gets a separate buffer. In a shared buffer, another frame that is partly sent would keep
  /// the long one in memory, even after the long one was dropped.
  func bufferToEncode(for length: Int = 0) -> ByteBuffer {
    if length > pool.bufferCapacity { return ByteBuffer(capacity: length) }
    let buffer = encodeBuffer
    if buffer.capacity <= pool.bufferCapacity,
      buffer.capacity - buffer.count >= max(Self.encodeSpace, length)
    {
      return buffer
    }
    let fresh = pool.take()
    encodeBuffer = fresh
    return fresh
  }

  /// True if the question may be queued. Questions must not make the bus close a delegate's connection: long
  /// ones could thus remove a delegate that would veto. Questions may therefore use only half of the hard
  /// limit, which the asking users share. The other half is for the frames that conclude the questions.
  func hasSpace(
    forQuestionOf tailLength: Int, from asker: ConnectionID, to delegate: Session
  ) -> Bool {
    let waiting = delegate.output.queue.byteCount
    if tailLength > Self.shortLength, accounts.isOverShare(of: .queues, delegate.account) { return false }
    // With so few waiting bytes, the delegate is not slow: its socket nearly always has space for them.
    if waiting <= (delegate.output.isBlocked ? 0 : Self.promptLength) { return true }
    let free = context.configuration.queue.hardLimitBytes / 2 - waiting
    guard tailLength + Self.encodeSpace <= free, !accounts.isOverShare(of: .queues, delegate.account)
    else { return false }
    guard delegate.output.isBlocked, let account = sessions.account(of: asker) else { return true }
    return delegate.output.questionSpace.take(tailLength + Self.headLength, of: free, for: account)
  }
}
