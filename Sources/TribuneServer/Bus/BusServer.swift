// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// The bus with its sockets: the core's events come from here, and its effects are carried out here.
///
/// Everything runs on the main actor, inside the iterations of the event loop. In an iteration, each socket that is
/// ready is read once and its frames are taken where they lie; what they cause is queued, and sent when
/// the iteration ends, so that a connection gets all that an iteration has for it in one call.
final class BusServer: EventLoopTarget {
  let loop: EventLoop
  let log: Log
  var configuration: Configuration
  /// What connections are welcomed with; each keeps what it was promised then.
  var limits: FrameLimits
  /// Where clients find the bus, for people.
  var address = ""
  let started: Instant
  let processID = UInt32(getpid())

  /// What the next daemon takes over (see `BusServer+Recording`).
  let wal: WriteAheadLog
  /// Keeps connections open while there is no daemon; nil where nothing does.
  let store: DescriptorStore?
  /// Whether somebody keeps the connections if the daemon dies.
  ///
  /// That stays so when the store has failed: what was in it by then is kept all the same, and has to be right.
  let outlivesDeath: Bool
  /// What is written into the state is encoded here.
  let recordBuffer = ByteBuffer(capacity: 4096)
  /// Which numbers files have in the store that are retained, by name and object.
  var retainedFiles = RetainedFiles()
  /// Those that another daemon has left, by inode, while the state is taken over.
  var inheritedFiles: [UInt64: InheritedFile] = [:]
  let compactor: Compactor
  /// Whether another daemon is to go on with the bus.
  enum Succession {
    /// → asked, handedOver
    case none
    /// It has asked, and everything is handed over when the iteration ends. → none, handingOver
    case asked(Connection)
    /// → none, handedOver
    case handingOver
    /// The bus goes on elsewhere: nothing happens here any more.
    case handedOver
  }

  var succession = Succession.none
  var isHandedOver: Bool { if case .handedOver = succession { true } else { false } }

  /// What every message goes through (see `Cell`).
  private let busCell: Cell<Bus>
  private let iterationCell = Cell(Iteration())
  private let timeoutsCell = Cell(Timeouts())
  private let statisticsCell = Cell(Statistics())
  var bus: Bus {
    @inline(__always) _read { yield busCell.value }
    @inline(__always) _modify { yield &busCell.value }
  }
  var iteration: Iteration {
    @inline(__always) _read { yield iterationCell.value }
    @inline(__always) _modify { yield &iterationCell.value }
  }
  var timeouts: Timeouts {
    @inline(__always) _read { yield timeoutsCell.value }
    @inline(__always) _modify { yield &timeoutsCell.value }
  }
  var statistics: Statistics {
    @inline(__always) _read { yield statisticsCell.value }
    @inline(__always) _modify { yield &statisticsCell.value }
  }

  let sessions = SessionTable()
  let postponed = PostponedPosts()

  /// What is read into, and encoded in.
  let pool = BufferPool(bufferCapacity: 65_536, keptMax: 16)
  /// Where queues keep what is short.
  let queuePool = BufferPool(bufferCapacity: 16_384, keptMax: 64)
  /// What reads go into.
  var receiveBuffer: ByteBuffer
  /// What the bus itself says is encoded here.
  var encodeBuffer: ByteBuffer
  let gather = GatherList(capacity: 64)
  /// Bytes that wait in all queues together.
  var queuedByteCount = 0
  /// With more than that in them, they are relieved.
  var relievedAbove = Int.max
  /// Of the log, for what is said of those who are closed because of what they did.
  var closingLines = LineBudget(linesPerSecond: 20)
  let descriptorQuota = DescriptorQuota()
  var partialFrameBuffers = PartialFrameBuffers()
  /// Bytes reserved for long frames that are not whole yet.
  var partialReserved = 0
  private var heapUse = HeapUse()

  /// Connections for which the service manager's store had no room, or no descriptor was to be had.
  var unstored: Set<ConnectionID> = []
  let acceptor: Acceptor
  private var timer: DeadlineTimer?
  /// Goes off when deferred frames are to be flushed.
  let alarm: Alarm

  /// The time of this iteration.
  private(set) var now: Instant
  /// Connections that the state has room for. Each that is open has a descriptor.
  static let slotCount = 1 << 17

  /// Set when the bus is to end: by when, at the latest.
  var stopBy: Instant?
  /// Called at the end of each iteration.
  var iterationEnded: (() -> Void)?

  init(
    configuration: Configuration, log: Log, loop: EventLoop, wal: WriteAheadLog, store: DescriptorStore?
  ) throws(Errno) {
    alarm = try Alarm()
    self.wal = wal
    wal.admissionLimit = configuration.stateMaxBytes
    self.store = store
    outlivesDeath = store != nil
    self.configuration = configuration
    self.log = log
    self.loop = loop
    acceptor = Acceptor(loop, sessions, log: log)
    limits = configuration.frameLimits
    now = Instant(nanoseconds: SystemClock.monotonicNanoseconds)
    started = now
    var bus = Bus(
      limits: configuration.busLimits, seed: UInt64.random(in: .min ... .max),
      payloadCheck: PayloadCheck(
        userInfo: ValueCheck.check(userInfo:for:), value: ValueCheck.check(value:of:)))
    bus.policy = configuration.policy
    _ = bus.configure(protocols: configuration.protocolSources, objects: configuration.objects)
    busCell = Cell(bus)
    let core = unsafe busCell.reference
    compactor = Compactor(
      wal, LiveEntries(sessions: sessions, bus: core, postponed: postponed),
      unsafe statisticsCell.reference, log: log)
    receiveBuffer = pool.take()
    encodeBuffer = pool.take()
    try loop.add(alarm.rawValue, for: .readable, token: .alarm)
    timer = DeadlineTimer { [weak self] in self?.checkDeadlines() }
  }

  var observationCount: Int { bus.observationCount }
  var delegateCount: Int { bus.delegateCount }
  var queryCount: Int { bus.queryCount }
  var askedCount: UInt64 { bus.askedCount }
  var vetoedCount: UInt64 { bus.vetoedCount }

  var firstListenerPath: String? { acceptor.listeners.first?.path }

  /// Differs whenever the figures that a status shows may have changed.
  var changeCount: UInt64 {
    // Those that have come and those that have gone, so that it only grows.
    2 &* sessions.lastID.rawValue &- UInt64(sessions.count) &+ statistics.posted &+ statistics.lost
      &+ bus.changeCount
  }

  /// Accepts no more, tells everyone, and ends the event loop when everyone has read what there was, or
  /// after `graceNanoseconds`.
  func stop(graceNanoseconds: UInt64) {
    guard stopBy == nil else { return }
    acceptor.stop()
    stopBy = now.advanced(byNanoseconds: graceNanoseconds)
    // What was sent before is still taken, from everyone, before anyone is dismissed who may be meant.
    for connection in sessions.all { readRest(of: connection) }
    deliverPostponed()
    // Nobody shall take the end of the bus for that of a delegate.
    beginTransaction()
    bus.stop(at: now)
    carryOutEffects()
    endTransaction()
    writeOmittedClosings()
    for connection in sessions.all {
      dismiss(connection, WireError(.shuttingDown, "the bus is stopping"))
    }
  }

  // MARK: Iterations

  func beginIteration() {
    now = Instant(nanoseconds: SystemClock.monotonicNanoseconds)
    // Each takes its turn, and leaves again what is still too much.
    var inTurn: [Connection] = []
    swap(&inTurn, &iteration.unfinished)
    for connection in inTurn { takeDeferred(of: connection) }
  }

  /// Whether frames were left for the next iteration.
  var hasWork: Bool { !iteration.unfinished.isEmpty }

  /// Goes on with a connection's frames in the next iteration.
  func finishLater(_ connection: Connection) { iteration.unfinished.append(connection) }

  func isReady(_ token: WatchToken, _ readiness: Readiness) {
    switch token {
    case .mainQueue: preconditionFailure("the run loop keeps the main queue to itself")
    case .listener(let index): accept(at: index)
    case .alarm:
      alarm.clear()
      iteration.isAlarmSet = false
      flushDeferred()
    case .connection:
      guard let connection = connection(of: token) else { return }
      if readiness.isWritable, connection.isBlocked { scheduleFlush(connection) }
      if connection.phase == .closing {
        if readiness.isEnd { close(connection) }
      } else if readiness.isReadable {
        read(connection)
      }
    }
  }

  /// Whether the event loop is to say when it has nothing to do.
  var wantsIdle: Bool { (bus.hasIdlePosts || heapUse.hasFallen) && !hasWork }

  /// Delivers all that waits for a better moment.
  func deliverPostponed() {
    deliverSoon()
    deliverIdle()
  }

  func isIdle() {
    if bus.hasIdlePosts { deliverIdle() }
    guard heapUse.hasFallen else { return }
    heapUse.beginAnew()
    ProgramHeap.release()
  }

  private func deliverIdle() {
    deliver { bus in bus.deliverIdle() }
  }

  /// Bytes of the heap that others have taken, as far as they are much: what is queued, held and begun, and what a
  /// connection has by itself, with the short frame that it may have begun.
  private var heapByteCount: Int {
    queuedByteCount + bus.suspendedByteCount + partialReserved + sessions.count * PartialFrameBuffers.capacity
  }

  func deliverSoon() {
    deliver { bus in bus.deliverSoon() }
  }

  /// Delivers one after the other, until none is left.
  private func deliver(_ next: (inout Bus) -> Bool) {
    var isDelivering = true
    while isDelivering {
      compactor.reserve(0, at: now)
      beginTransaction()
      isDelivering = next(&bus)
      carryOutEffects()
      endTransaction()
    }
  }

  func endIteration() -> Bool {
    if case .asked(let daemon) = succession { handOver(to: daemon) }
    if isHandedOver { return false }
    if bus.hasSoonPosts { deliverSoon() }
    while let connection = iteration.receiving.popLast() {
      if connection.phase != .closed { noteReceived(from: connection) }
    }
    repeat {
      commit()
      flushScheduled()
      while let connection = iteration.toClose.popLast() {
        if let error = connection.pendingClose { dismiss(connection, error) }
      }
    } while !iteration.toFlush.isEmpty
    iteration.inlined = nil
    if iteration.fileFrames.areLent { iteration.fileFrames.collect() }
    writeVerdicts()
    resetRelief()
    // A compaction reads what is committed, and ends where the log does.
    commit()
    compactor.step(at: now)
    if let stopBy {
      if sessions.count == 0 || stopBy <= now { return false }
      timer?.schedule(stopBy)
    }
    heapUse.note(heapByteCount)
    scheduleTimer()
    iterationEnded?()
    return true
  }

  /// Sends what waits, in the order in which connections were spoken to: an asker has its verdict before its delegates
  /// hear how it ended.
  private func flushScheduled() {
    var next = 0
    while next < iteration.toFlush.count {
      let connection = iteration.toFlush[next]
      connection.needsFlush = false
      flush(connection)
      next += 1
    }
    iteration.toFlush.removeAll(keepingCapacity: true)
  }

  /// Flushes deferred frames that nothing followed.
  func flushDeferred() {
    while let connection = iteration.deferred.popLast() {
      connection.isFlushDeferred = false
      scheduleFlush(connection)
    }
  }

  /// When it looks at its deadlines next, if nothing happens before; nil if there is none.
  var nextLook: Instant? { timer?.due }

  /// The time for that has come.
  func lookNow() { timer?.fire() }

  private func scheduleTimer() {
    guard let timer else { return }
    timer.schedule(bus.nextDeadline)
    timer.schedule(timeouts.nextDue)
  }

  /// Does what is due. Runs on the main queue, inside an iteration.
  private func checkDeadlines() {
    // The main queue does all that it has, whatever the first of it was.
    guard !isHandedOver else { return }
    now = Instant(nanoseconds: SystemClock.monotonicNanoseconds)
    advance()
    deliver { bus in bus.deliverDue(at: now) }
    while let (kind, token) = timeouts.popDue(at: now) { check(kind, connection(of: token)) }
    // Nearly all have said hello long ago: many who came and went do not wake the bus once each.
    timeouts.drop { kind, token in kind == .hello && connection(of: token)?.phase != .awaitingHello }
  }

  /// Does what a timeout is for, if that has not been settled before.
  private func check(_ kind: Timeouts.Kind, _ connection: Connection?) {
    switch (kind, connection) {
    case (.accept, _): acceptor.resume()
    case (.log, _): writeOmittedClosings()
    case (.hello, let connection?):
      guard connection.phase == .awaitingHello else { return }
      dismiss(connection, WireError(.helloTimeout, "no hello came in time"))
    case (.frame, let connection?): checkProgress(of: connection)
    case (.pace, let connection?): checkPacing(of: connection)
    case (.pass, let connection?): checkRoomToPass(of: connection)
    case (.close, let connection?): if connection.phase == .closing { close(connection) }
    case (.detached, let connection?): if connection.isDetached { close(connection) }
    case (_, nil): break
    }
  }

  /// The connection that is meant, if it is still there.
  private func connection(of token: WatchToken) -> Connection? {
    guard case .connection(let slot, _) = token, let connection = sessions[ConnectionSlot(index: slot)],
      connection.token == token
    else { return nil }
    return connection
  }
}
