// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// Wires the parts of one daemon's bus together, and calls them in each iteration of the event loop.
///
/// Everything runs on the main actor. The bus handles frames in the read buffer, and queues the frames that
/// result. At the end of the iteration, it sends each connection's queue, with one system call if the queue
/// is short.
///
/// docs/ARCHITECTURE.md (*The server*) lists the parts. A part calls only parts above it in that list.
final class BusServer: EventLoopTarget {
  /// The number of counter slots in the log (`SessionCounters`), and the upper limit of `ConnectionsMax=`.
  nonisolated static let slotCount = 1 << 17

  private static let fewClients = 64

  /// An arrow names the states that may follow.
  private enum Phase: Equatable {
    /// → ending, sealed
    case serving
    /// Final.
    case ending(by: Instant)
    /// The bus was handed over, and must not change. Final.
    case sealed
  }

  let context: ServerContext
  let sessions: SessionTable
  let bus: Cell<Bus>.Reference
  let wal: WriteAheadLog
  let acceptor: Acceptor
  let recorder: Recorder
  let sender: Sender
  private let snapshots: Snapshots
  let interpreter: Interpreter
  private let timeShares: TimeShares
  private let gatekeeper: Gatekeeper
  let lister: Lister
  let files: UserInfoFiles
  let reader: FrameReader
  let handover: Handover
  private let dueTimeouts: DueTimeouts
  private let loop: EventLoop
  private let keeper: KeeperLink
  private let heapUse = Cell(HeapUse())
  let timer = DeadlineTimer()
  private var phase = Phase.serving
  /// If true, this iteration first sends the output that earlier iterations postponed, and then reads input.
  /// If false, this iteration reads input first. Each busy iteration (`isBusy`) toggles the value. If output
  /// always came first, a user with constant output would have no time left for its input.
  private var sendsFirst = false
  var iterationEnded: (() -> Void)?
  /// The state that the log restored. Nil in release builds.
  private(set) var replayed: BusDigest?

  init(
    configuration: Configuration, log: Log, loop: EventLoop, wal: WriteAheadLog, keeper: KeeperLink,
    timeShares: TimeShares = TimeShares(), isStepped: Bool = false
  ) throws(Errno) {
    let configuration = configuration.fitted(to: wal, log)
    let accounts = Accounts(privileged: [0, ThisProcess.effectiveUser])
    context = ServerContext(configuration, accounts, log: log)
    (bus, sessions) = (context.bus, context.sessions)
    (self.wal, self.loop, self.keeper) = (wal, loop, keeper)
    let pool = BufferPool(bufferCapacity: 65_536, keptMax: 16)
    let quota = DescriptorQuota(accounts, ClosingThreads(hasThreads: !isStepped))
    files = UserInfoFiles(quota, log: log)
    recorder = Recorder(wal, keeper, files, context)
    sender = try Sender(recorder, files, loop, pool, context)
    let monitor = TrafficMonitor(sender, context)
    let replier = Replier(sender, monitor, RefusalLog(context))
    let partials = PartialFrames(accounts)
    timeShares.heedsLog = !isStepped
    self.timeShares = timeShares
    let introducer = Introducer(sender, replier, context)
    snapshots = Snapshots(sender, monitor, introducer, context)
    interpreter = Interpreter(sender, monitor, replier, introducer, snapshots, context)
    acceptor = Acceptor(loop, context)
    gatekeeper = Gatekeeper(interpreter, acceptor, partials, quota, timeShares, context)
    lister = Lister(interpreter, timeShares, context)
    let dispatcher = FrameDispatcher(interpreter, gatekeeper, files, context)
    let router = Router(introducer, interpreter, timeShares, context)
    let calls = VarlinkCalls(router, dispatcher, replier, recorder, context)
    reader = FrameReader(calls, gatekeeper, lister, partials, pool, context)
    handover = Handover(recorder, gatekeeper, context)
    dueTimeouts = DueTimeouts(interpreter, acceptor, gatekeeper, reader, context)
  }

  // MARK: Start and end

  func takeOver(_ passed: PassedAtStart) {
    let recovery = Recovery(from: passed, interpreter, gatekeeper, reader, context)
    recovery.run()
    replayed = recovery.replayed.digest
    _ = endIteration()
    recovery.logResult()
  }

  /// Connected clients keep the length limits that their welcome stated.
  func reconfigure(_ configuration: Configuration) {
    let configuration = configuration.fitted(to: wal, context.log)
    let modeHasChanged = context.configuration.socketMode != configuration.socketMode
    context.configuration = configuration
    context.log.level = configuration.logLevel
    interpreter.perform { bus.value.apply(configuration, at: context.now, log: context.log) }
    recorder.recordConfiguration()
    if modeHasChanged { acceptor.setMode(configuration.socketMode) }
    timeShares.markMuchWork()
  }

  /// Dismisses all clients. The event loop ends when all connections are closed, or after the grace period.
  func stop(graceNanoseconds: UInt64) {
    guard phase == .serving else { return }
    let end = timeShares.nanoseconds + Self.takingNanosecondsMax
    takeInput(until: end)
    acceptor.stop()
    keeper.end()
    phase = .ending(by: context.now.advanced(byNanoseconds: graceNanoseconds))
    // A client can already have sent a frame that concerns another client. The bus therefore handles the
    // waiting frames of all clients before it dismisses the first client.
    takeInput(until: end, of: sessions.all)
    interpreter.deliverPostponed()
    // The bus ends queries before it dismisses delegates. If the delegates left first, askers would learn
    // that delegates have gone, and not that the bus stops.
    interpreter.perform { bus.value.stop(at: context.now) }
    gatekeeper.writeOmittedClosings()
    context.logOmitted()
    for session in sessions.allDetached { gatekeeper.close(session) }
    for session in sessions.all {
      gatekeeper.dismiss(session, WireError(.shuttingDown, "the bus is stopping"))
    }
  }

  private static let takingNanosecondsMax: UInt64 = 500_000_000

  /// Handles input until `end`: the input that earlier iterations have deferred, and the input of all
  /// sessions in `unheard`. Each user gets its share of the time.
  private func takeInput(until end: UInt64, of unheard: [Session] = []) {
    var unheard = unheard
    repeat {
      timeShares.begin(at: Instant(nanoseconds: timeShares.nanoseconds))
      gatekeeper.admitArrivals()
      reader.beginIteration()
      unheard.removeAll { reader.hear($0, evenIfPaused: true) }
      recorder.commitAndCompact()
    } while (!unheard.isEmpty || reader.hasDeferred || gatekeeper.hasArrivals) && timeShares.nanoseconds < end
  }

  func handOver() throws(Errno) {
    // This daemon has replayed the log without a crash, so the log must not count an unfinished recovery.
    wal.endRecovery()
    takeInput(until: timeShares.nanoseconds + Self.takingNanosecondsMax)
    reader.endLists()
    interpreter.deliverPostponed()
    sender.flushDeferred()
    _ = endIteration()
    sender.schedulePostponed()
    while let session = sender.takeScheduled() {
      // Making Varlink replies takes long, so the next daemon makes them.
      if session.speaksVarlink { sender.postpone(session) } else { sender.flush(session) }
    }
    snapshots.encodeAll()
    try handover.write()
  }

  func seal() {
    phase = .sealed
    recorder.seal()
  }

  // MARK: Iterations

  func beginIteration() {
    handleDue()
    if isBusy { goOn() }
  }

  /// `context.now` does not change during an iteration, so one pass finds everything due.
  func handleDue() {
    context.readClock()
    timeShares.begin(at: context.now)
    guard let due = timer.due, due <= context.now else { return }
    timer.clear()
    timeShares.markMuchWork()
    keeper.tick(at: context.now)
    dueTimeouts.check()
  }

  private func goOn() {
    sendsFirst.toggle()
    if sendsFirst, sender.hasPostponed {
      recorder.commit()
      sender.schedulePostponed()
      flushScheduled()
    }
    reader.beginIteration()
    if gatekeeper.hasArrivals { gatekeeper.admitArrivals() }
  }

  var hasWork: Bool { isBusy || snapshots.hasWork }

  /// Excludes snapshots, because a snapshot can take long, and idle work must not wait for it.
  private var isBusy: Bool { reader.hasDeferred || gatekeeper.hasArrivals || sender.hasPostponed }

  func handleEvent(_ token: WatchToken, _ readiness: Readiness) {
    switch token {
    case .mainQueue: preconditionFailure("the event loop handles the main queue itself")
    case .listener(let index): gatekeeper.accept(at: index)
    case .alarm: sender.alarmFired()
    case .keeper: keeper.receive()
    case .connection:
      guard let session = sessions[token] else { return }
      if readiness.isWritable, session.output.isBlocked { sender.scheduleFlush(session) }
      if session.isClosing || session.speaksVarlink && !session.takesCalls {
        if readiness.isEnd { gatekeeper.close(session) }
      } else if readiness.isReadable, session.isServed {
        reader.read(session)
      }
    }
  }

  var wantsIdle: Bool { (bus.value.hasIdlePosts || heapUse.value.hasFallen) && !isBusy }

  func becameIdle() {
    if bus.value.hasIdlePosts { interpreter.deliverIdle() }
    guard heapUse.value.hasFallen else { return }
    heapUse.value = HeapUse()
    ProgramHeap.release()
  }

  func endIteration() -> Bool {
    if phase == .sealed { return false }
    if bus.value.hasSoonPosts { interpreter.deliverSoon() }
    recorder.endIteration()
    if sender.hasPostponed { sender.schedulePostponed() }
    if snapshots.hasWork { snapshots.goOn() }
    repeat {
      recorder.commit()
      flushScheduled()
      interpreter.checkUnread()
      interpreter.relieveAndAnnounceIfNeeded()
      gatekeeper.endIteration()
    } while !sender.scheduled.value.isEmpty
    files.endIteration()
    interpreter.writeVerdicts()
    sender.resetRelief()
    recorder.commitAndCompact()
    if case .ending(let limit) = phase {
      if sessions.count == 0 || limit <= context.now { return false }
      timer.schedule(limit)
    }
    heapUse.value.record(
      sender.queuedByteCount + bus.value.suspendedByteCount + reader.partialByteCount
        + sessions.count * PartialFrames.shortLength)
    timer.schedule(bus.value.nextDeadline)
    timer.schedule(context.timeouts.value.nextDue)
    if keeper.hasChanged.value { timer.schedule(keeper.endIteration()) }
    timeShares.end()
    iterationEnded?()
    return true
  }

  /// If a user's share of the iteration's time is spent, output to the user's Varlink clients waits for the
  /// next iteration. If more than `fewClients` sessions have output, the user's other clients wait, too.
  @inline(__always) private func flushScheduled() {
    if sender.scheduled.value.count > Self.fewClients { return flushSharingTime() }
    while let session = sender.takeScheduled() {
      if session.speaksVarlink,
        !timeShares.hasTime(for: session.user, isMuchWork: true)
      {
        sender.postpone(session)
      } else {
        sender.flush(session)
      }
    }
  }

  private func flushSharingTime() {
    while let session = sender.takeScheduled() {
      if timeShares.hasTime(for: session.user, isMuchWork: session.speaksVarlink) {
        sender.flush(session)
      } else {
        sender.postpone(session)
      }
    }
  }
}
