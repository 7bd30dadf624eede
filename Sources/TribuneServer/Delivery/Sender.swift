// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Queues frames for connections, and writes the queues to their sockets when the iteration ends.
///
/// Notifications that are not read make an observer slow (`Sender+Flow`). Control frames are never dropped: past the hard
/// limit the connection is closed.
///
/// Nothing here calls the core. What others have to hear of is an `Event`, for `Interpreter.settle`.
final class Sender {
  /// What the state of queues has come to.
  enum Event {
    /// Notifications were dropped.
    case lost(UInt64, Connection)
    /// - isTold: whether observers of the bus hear of it.
    case becameLossy(Connection, isTold: Bool)
    /// It reads again, and has lost so many.
    case recovered(Connection, lost: UInt64)
  }

  /// Longest delay of a `concluded` frame that waits to share a send.
  private static let flushDelayNanoseconds = 1_000_000

  /// With less space than that left, encoding goes on in a new buffer.
  static let encodeSpace = 4096

  /// Bytes that a socket that takes more has space for, or nearly always has.
  private static let promptLength = 65_536

  let context: ServerContext
  let loop: EventLoop
  let sessions: SessionTable
  let recorder: Recorder
  private let files: UserInfoFiles
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
  let scheduled = Cell<[Connection]>([])
  /// Connections whose queues can wait a little for more.
  private let deferred = Cell<[Connection]>([])
  /// Goes off when deferred frames are to be flushed.
  private let alarm: Alarm
  private var isAlarmSet = false
  /// Connections that read, and whose queues are over the soft limit.
  let overSoftLimit = Cell<[Connection]>([])
  let events = Cell<[Event]>([])

  init(
    _ recorder: Recorder, _ files: UserInfoFiles, _ sessions: SessionTable, _ loop: EventLoop,
    _ pool: BufferPool, _ context: ServerContext
  ) throws(Errno) {
    (self.recorder, self.files, self.sessions, self.loop) = (recorder, files, sessions, loop)
    (self.pool, self.context) = (pool, context)
    encodeBuffer = pool.take()
    alarm = try Alarm()
    try loop.add(alarm.rawValue, for: .readable, token: .alarm)
  }

  // MARK: Queueing

  /// Queues a run of notifications, and makes their poster wait if the observer does not keep up.
  func deliver(_ run: ByteSlice, count: Int, to observer: Connection, from poster: Connection) {
    enqueue(run, for: observer, isNotification: true, count: count)
    guard observer.isBlocked, observer.queue.byteCount > context.configuration.highMarkBytes else { return }
    switch observer.flow {
    case .flowing, .pacing: pace(poster, for: observer)
    case .lossy: drop(from: observer, downTo: context.configuration.highMarkBytes)
    }
  }

  /// Queues what a monitor sees, or what the bus itself posts. Nobody waits for that: an observer that does not keep up
  /// loses at once, unless it has been given time already.
  ///
  /// - Parameter isTold: whether others are told if it does.
  func deliverWithoutPacing(_ slice: ByteSlice, to observer: Connection, isTold: Bool = true) {
    enqueue(slice, for: observer, isNotification: true)
    guard observer.isBlocked, observer.queue.byteCount > context.configuration.highMarkBytes,
      observer.flow != .pacing
    else { return }
    drop(from: observer, downTo: context.configuration.highMarkBytes, isTold: isTold)
  }

  /// Reports notifications as lost that were never queued.
  func tellLost(_ count: UInt64, to connection: Connection, wereBuffered: Bool = false) {
    guard count > 0 else { return }
    guard !connection.isWriteClosed, connection.isServed else {
      // The connection that replaces it is told.
      if connection.isDetached {
        recorder.noteQueued(Int(clamping: count), for: connection, wereBuffered: wereBuffered)
      }
      return
    }
    changeQueue(of: connection) { queue in queue.appendLost(count) }
    recorder.noteQueued(Int(clamping: count), for: connection, wereBuffered: wereBuffered)
    context.statistics.value.lost += count
    scheduleFlush(connection)
  }

  /// Changes a queue by something other than appending a frame.
  func changeQueue<Failure: Error>(
    of connection: Connection, _ change: (inout OutboundQueue) throws(Failure) -> Void
  ) throws(Failure) {
    let before = connection.queue.byteCount
    try change(&connection.queue)
    queuedByteCount += connection.queue.byteCount - before
  }

  /// - Parameters:
  ///   - rest: what follows `slice` in the same frame. A frame is queued whole or not at all.
  ///   - count: frames in `slice`.
  ///   - defersFlush: it is sent with what comes next.
  ///   - isRecorded: whether a control frame is logged.
  ///   - wereBuffered: they are counted already, as buffered.
  func enqueue(
    _ slice: ByteSlice, _ rest: ByteSlice? = nil, for connection: Connection, isNotification: Bool,
    count: Int = 1, defersFlush: Bool = false, isRecorded: Bool = true, wereBuffered: Bool = false
  ) {
    guard !connection.isWriteClosed, connection.isServed else {
      // The connection that replaces it is told what it missed.
      if connection.isDetached, isNotification {
        recorder.noteQueued(count, for: connection, wereBuffered: wereBuffered)
      }
      return
    }
    if slice.buffer.attachment != nil, !connection.takesFiles {
      guard let inlined = files.inlined(slice) else {
        tellLost(1, to: connection, wereBuffered: wereBuffered)
        return
      }
      return enqueue(
        inlined, rest, for: connection, isNotification: isNotification, wereBuffered: wereBuffered)
    }
    connection.queue.append(
      slice, isNotification: isNotification, count: rest == nil ? count : 0, copyingInto: queuePool)
    queuedByteCount += slice.weight
    if let rest {
      connection.queue.append(rest, isNotification: isNotification, copyingInto: queuePool)
      queuedByteCount += rest.count
    }
    if isNotification {
      recorder.noteQueued(count, for: connection, wereBuffered: wereBuffered)
    } else {
      recorder.recordControlFrame(slice, rest, to: connection, isRecorded: isRecorded)
    }
    if defersFlush { deferFlush(connection) } else { scheduleFlush(connection) }
    if connection.queue.byteCount > softLimit {
      limitQueue(of: connection, isNotification: isNotification)
    }
  }

  func scheduleFlush(_ connection: Connection) {
    guard !connection.needsFlush else { return }
    connection.needsFlush = true
    scheduled.value.append(connection)
  }

  /// Sends what is queued with what comes next for the connection, or in a millisecond. To be woken for news costs a
  /// client more than the news: a fifth of what an ask takes.
  private func deferFlush(_ connection: Connection) {
    guard !connection.isFlushDeferred else { return }
    connection.isFlushDeferred = true
    deferred.value.append(connection)
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
    while let connection = deferred.value.popLast() {
      connection.isFlushDeferred = false
      scheduleFlush(connection)
    }
  }

  /// Where the next frame is encoded, behind what is there.
  ///
  /// A long frame does not go on in a buffer that others are in. A queue can keep one frame that is partly sent, and that
  /// must not keep what was dropped behind it in memory.
  ///
  /// - Parameter length: of the frame, if it can be long.
  func bufferToEncode(for length: Int = 0) -> ByteBuffer {
    if length > pool.bufferCapacity { return ByteBuffer(capacity: length) }
    let buffer = encodeBuffer
    // One that had to grow for something long is not used further.
    if buffer.capacity <= pool.bufferCapacity,
      buffer.capacity - buffer.count >= max(Self.encodeSpace, length)
    {
      return buffer
    }
    let fresh = pool.take()
    encodeBuffer = fresh
    return fresh
  }

  /// Whether a question can be queued behind what waits already.
  ///
  /// Anybody can ask anything of any length: questions must not be what a delegate is closed for, or an asker could rid
  /// itself of those that veto. They may use half of the queue, so that how each ends has space behind them.
  func hasSpace(forQuestionOf tailLength: Int, _ delegate: Connection) -> Bool {
    let waiting = delegate.queue.byteCount
    if waiting + tailLength + Self.encodeSpace <= context.configuration.hardLimitBytes / 2 { return true }
    // A delegate that has read everything until now would have read what little has come since, if it had been sent.
    return waiting <= (delegate.isBlocked ? 0 : Self.promptLength)
  }
}
