// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Queues frames for connections, and writes the queues to their sockets when the iteration ends.
///
/// Notifications that are not read make an observer slow (`Sender+Flow`). Control frames are never dropped: past the hard
/// limit the connection is closed.
///
/// Nothing here calls the core. An `Event` reports a change to the other parts; `Interpreter.settle` handles it.
final class Sender {
  /// A change in the state of an observer's queue.
  enum Event {
    /// Notifications were dropped.
    case lost(UInt64, Session)
    /// The observer is lossy now.
    case becameLossy(Session, isAnnounced: Bool)
    /// The observer reads again, and has lost that many notifications.
    case recovered(Session, lost: UInt64)
  }

  /// Longest delay of a `concluded` frame that waits to share a send.
  private static let flushDelayNanoseconds = 1_000_000

  /// If a buffer has less space than this left, encoding continues in a new one.
  static let encodeSpace = 4096

  /// About the length of a question before its tail.
  private static let headLength = 48

  /// Notifications and questions longer than this are not queued for a user with more unread bytes than its share. Part of
  /// a long one is sent at once, and then it can no longer be dropped: many connections would keep a long one each.
  private static let shortLength = 4096

  /// A socket that takes more bytes has space for this many, nearly always.
  private static let promptLength = 65_536

  let context: ServerContext
  let loop: EventLoop
  let sessions: SessionTable
  let recorder: Recorder
  private let files: UserInfoFiles
  let unreadFiles: UnreadFiles
  /// For reading and encoding, and for short frames in queues.
  private let pool: BufferPool
  let queuePool = BufferPool(bufferCapacity: 16_384, keptMax: 64)
  private var encodeBuffer: ByteBuffer
  let gather = GatherList(capacity: 64)
  /// Bytes in all queues.
  var queuedByteCount = 0
  /// Bytes in all queues above which they are relieved.
  var relievedAbove = Int.max
  /// Connections for which something was queued in this iteration.
  let scheduled = Cell<[Session]>([])
  /// How many of them `takeScheduled` has returned.
  var takenCount = 0
  /// Connections whose queues are left for the next iteration.
  let postponed = Cell<[Session]>([])
  /// Connections whose flush is deferred.
  private let deferred = Cell<[Session]>([])
  /// Goes off when deferred frames are to be flushed.
  private let alarm: Alarm
  private var isAlarmSet = false
  /// Connections that read, and whose queues are over the soft limit.
  let overSoftLimit = Cell<[Session]>([])
  /// Users with more unread bytes than their share.
  let overShare = Cell<[UserAccount]>([])
  /// Whether all users together leave too little to others.
  var isOverTotal = false
  /// Unread bytes of all users above which that is examined next.
  var totalRelievedAbove = 0
  var accounts: Accounts { sessions.accounts }
  let events = Cell<[Event]>([])
  /// Clients that speak Varlink, and whose next call can be taken in the next iteration.
  let answered = Cell<[Session]>([])

  init(
    _ recorder: Recorder, _ files: UserInfoFiles, _ sessions: SessionTable, _ loop: EventLoop,
    _ pool: BufferPool, _ context: ServerContext
  ) throws(Errno) {
    (self.recorder, self.files, self.sessions, self.loop) = (recorder, files, sessions, loop)
    unreadFiles = UnreadFiles(files.quota, sessions.accounts, recorder, context)
    (self.pool, self.context) = (pool, context)
    encodeBuffer = pool.take()
    alarm = try Alarm()
    try loop.add(alarm.rawValue, for: .readable, token: .alarm)
  }

  // MARK: Queueing

  /// Queues a run of notifications, and makes their poster wait if the observer does not keep up.
  ///
  /// - Parameter slot: the observer's slot. If it is detached, the notifications count as missed.
  func deliver(_ run: ByteSlice, count: Int, to slot: ConnectionSlot, from poster: Session) {
    guard let observer = sessions[slot] else { return recorder.noteMissed(count, at: slot) }
    enqueue(run, for: observer, isNotification: true, count: count)
    guard observer.output.isBlocked,
      observer.output.queue.byteCount > context.configuration.queue.highMarkBytes
    else { return }
    switch observer.pacing.flow {
    case .flowing where mayPace(poster, for: observer), .pacing: pace(poster, for: observer)
    case .flowing, .lossy: drop(from: observer, downTo: context.configuration.queue.highMarkBytes)
    }
  }

  /// Queues a notification that has no poster to pause, such as one for a monitor or one of the bus itself. An observer
  /// that does not keep up loses notifications at once, unless it is being paced already.
  ///
  /// - Parameter isAnnounced: whether it is announced that the observer has become lossy.
  func deliverWithoutPacing(_ slice: ByteSlice, to slot: ConnectionSlot, isAnnounced: Bool = true) {
    guard let observer = sessions[slot] else { return recorder.noteMissed(1, at: slot) }
    enqueue(slice, for: observer, isNotification: true)
    guard observer.output.isBlocked,
      observer.output.queue.byteCount > context.configuration.queue.highMarkBytes,
      !observer.pacing.isPacing
    else { return }
    drop(from: observer, downTo: context.configuration.queue.highMarkBytes, isAnnounced: isAnnounced)
  }

  /// Reports notifications as lost that were never queued.
  func reportLost(_ count: UInt64, to session: Session, wereBuffered: Bool = false) {
    guard count > 0 else { return }
    guard session.output.accepts else { return }
    changeQueue(of: session) { queue in queue.appendLost(count) }
    recorder.noteQueued(Int(clamping: count), for: session, wereBuffered: wereBuffered)
    context.statistics.value.lost += count
    scheduleFlush(session)
  }

  /// Changes a queue by something other than appending a frame.
  func changeQueue<Failure: Error>(
    of session: Session, _ change: (inout OutboundQueue) throws(Failure) -> Void
  ) throws(Failure) {
    let before = session.output.queue.byteCount
    try change(&session.output.queue)
    queuedByteCount += session.output.queue.byteCount - before
    chargeQueue(of: session)
  }

  /// - Parameters:
  ///   - rest: the rest of the frame that begins in `slice`. A frame is queued whole or not at all.
  ///   - count: frames in `slice`.
  ///   - defersFlush: whether the frame may wait for the next one, to share a send.
  ///   - isRecorded: whether a control frame is logged.
  ///   - wereBuffered: whether the notifications are counted already, as buffered.
  func enqueue(
    _ slice: ByteSlice, _ rest: ByteSlice? = nil, for session: Session, isNotification: Bool,
    count: Int = 1, defersFlush: Bool = false, isRecorded: Bool = true, wereBuffered: Bool = false
  ) {
    guard session.output.accepts else { return }
    let isLong = slice.count + (rest?.count ?? 0) > Self.shortLength
    if isLong, isNotification, accounts.isOverShare(of: .queues, session.account) {
      return reportLost(UInt64(count), to: session, wereBuffered: wereBuffered)
    }
    if slice.buffer.attachment != nil, !session.output.acceptsFiles {
      guard let inlined = files.inlined(slice) else {
        reportLost(1, to: session, wereBuffered: wereBuffered)
        return
      }
      return enqueue(inlined, rest, for: session, isNotification: isNotification, wereBuffered: wereBuffered)
    }
    session.output.queue.append(
      slice, isNotification: isNotification, count: rest == nil ? count : 0, copyingInto: queuePool)
    queuedByteCount += slice.weight
    if let rest {
      session.output.queue.append(rest, isNotification: isNotification, copyingInto: queuePool)
      queuedByteCount += rest.count
    }
    if isNotification {
      recorder.noteQueued(count, for: session, wereBuffered: wereBuffered)
    } else {
      recorder.recordControlFrame(slice, rest, to: session, isRecorded: isRecorded)
    }
    if isLong { chargeQueue(of: session) }
    if defersFlush { deferFlush(session) } else { scheduleFlush(session) }
    if session.output.queue.byteCount > softLimit { limitQueue(of: session, isNotification: isNotification) }
  }

  func scheduleFlush(_ session: Session) {
    guard session.output.flush != .scheduled else { return }
    session.output.flush = .scheduled
    scheduled.value.append(session)
  }

  /// Sends the queue with the next frame for the connection, or in a millisecond. Waking a client for a `concluded`
  /// frame costs it more than the frame: a fifth of the time of an ask.
  private func deferFlush(_ session: Session) {
    guard session.output.flush == .none else { return }
    session.output.flush = .deferred
    deferred.value.append(session)
    guard !isAlarmSet else { return }
    isAlarmSet = true
    alarm.set(nanoseconds: Self.flushDelayNanoseconds)
  }

  /// The alarm has gone off.
  func alarmFired() {
    alarm.clear()
    isAlarmSet = false
    flushDeferred()
  }

  /// Flushes deferred frames that nothing followed.
  func flushDeferred() {
    while let session = deferred.value.popLast() {
      if session.output.flush == .deferred { scheduleFlush(session) }
    }
  }

  /// The buffer for the next frame, which is encoded behind those already in it.
  ///
  /// A long frame gets a buffer of its own. A queue can keep one frame that is sent in part. In a shared buffer, that
  /// frame would keep a long one dropped behind it in memory.
  ///
  /// - Parameter length: the length of the frame, if it can be long.
  func bufferToEncode(for length: Int = 0) -> ByteBuffer {
    if length > pool.bufferCapacity { return ByteBuffer(capacity: length) }
    let buffer = encodeBuffer
    // A buffer that grew for a long frame is not used further.
    if buffer.capacity <= pool.bufferCapacity,
      buffer.capacity - buffer.count >= max(Self.encodeSpace, length)
    {
      return buffer
    }
    let fresh = pool.take()
    encodeBuffer = fresh
    return fresh
  }

  /// Whether a question can be queued behind the waiting frames.
  ///
  /// Questions must not get a delegate closed: any client can ask questions of any length, and could so rid itself of
  /// the delegates that veto. Questions may use half of the queue, so that the frames that conclude them have space.
  /// Users share that half.
  func hasSpace(
    forQuestionOf tailLength: Int, from asker: ConnectionID, to delegate: Session
  ) -> Bool {
    let waiting = delegate.output.queue.byteCount
    if tailLength > Self.shortLength, accounts.isOverShare(of: .queues, delegate.account) { return false }
    // A delegate that has read everything sent to it would have read these few bytes too, had they been sent.
    if waiting <= (delegate.output.isBlocked ? 0 : Self.promptLength) { return true }
    let free = context.configuration.queue.hardLimitBytes / 2 - waiting
    guard tailLength + Self.encodeSpace <= free, !accounts.isOverShare(of: .queues, delegate.account)
    else { return false }
    guard delegate.output.isBlocked, let account = sessions.account(of: asker) else { return true }
    return delegate.output.questionSpace.take(tailLength + Self.headLength, of: free, for: account)
  }
}
