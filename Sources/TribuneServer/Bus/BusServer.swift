// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// Wires the parts of one daemon's bus together, and calls them in the iterations of the event loop.
///
/// Everything runs on the main actor. In an iteration, each socket that is ready is read once, and its frames are taken
/// where they lie. What they cause is queued, and sent when the iteration ends, so that a connection gets all that an
/// iteration has for it in one call.
///
/// Each part calls only those above it: context, sessions, core · recorder · sender · monitor, replier · interpreter ·
/// router, gatekeeper, lister · frame taker · frame reader · recovery, handover, timeouts.
final class BusServer: EventLoopTarget {
  /// Connections that the log has counter slots for.
  static let slotCount = 1 << 17

  private enum Phase: Equatable {
    /// → ending, sealed
    case serving
    /// It ends then at the latest. Final.
    case ending(by: Instant)
    /// The bus goes on elsewhere: nothing happens here any more. Final.
    case sealed
  }

  let context: ServerContext
  let sessions = SessionTable()
  let wal: WriteAheadLog
  let acceptor: Acceptor
  let recorder: Recorder
  let sender: Sender
  let interpreter: Interpreter
  private let gatekeeper: Gatekeeper
  let lister: Lister
  let bus: Cell<Bus>
  let files: UserInfoFiles
  let reader: FrameReader
  let handover: Handover
  private let dueTimeouts: DueTimeouts
  private let loop: EventLoop
  private let keeper: KeeperLink?
  private let heapUse = Cell(HeapUse())
  private(set) var timer: DeadlineTimer?
  private var phase = Phase.serving
  /// Called at the end of each iteration.
  var iterationEnded: (() -> Void)?

  init(
    configuration: Configuration, log: Log, loop: EventLoop, wal: WriteAheadLog, keeper: KeeperLink?
  ) throws(Errno) {
    context = ServerContext(configuration, log: log)
    (self.wal, self.loop, self.keeper) = (wal, loop, keeper)
    let accounts = Accounts()
    bus = Cell(Bus(configuration, accounts))
    // Every part lives as long as the bus.
    let core = unsafe bus.reference
    let pool = BufferPool(bufferCapacity: 65_536, keptMax: 16)
    let quota = DescriptorQuota(accounts)
    files = UserInfoFiles(quota, log: log)
    recorder = Recorder(wal, keeper, core, sessions, files, context)
    sender = try Sender(recorder, files, sessions, loop, pool, context)
    let monitor = TrafficMonitor(core, sessions, sender)
    let replier = Replier(sender, monitor)
    let partials = PartialFrames()
    interpreter = Interpreter(core, sessions, recorder, sender, monitor, replier, context)
    acceptor = Acceptor(loop, sessions, log: log)
    gatekeeper = Gatekeeper(
      core, sessions, wal, recorder, sender, replier, interpreter, acceptor, partials, quota, loop, keeper,
      context)
    lister = Lister(core, sessions, interpreter, replier, keeper, context)
    let taker = FrameTaker(
      core, sessions, recorder, sender, monitor, replier, interpreter, lister, gatekeeper, files, quota,
      context)
    let router = Router(core, sessions, recorder, sender, monitor, replier, interpreter, context)
    reader = FrameReader(router, taker, gatekeeper, recorder, sender, partials, quota, pool, context)
    handover = Handover(core, sessions, recorder, gatekeeper, keeper, context)
    dueTimeouts = DueTimeouts(sessions, sender, interpreter, acceptor, gatekeeper, reader, context)
    timer = DeadlineTimer { [weak self] in self?.checkDeadlines() }
  }

  // MARK: From the first to the last

  /// Replays the log, and goes on with the connections that are there.
  ///
  /// - Parameter passed: what the last daemon has left.
  func takeOver(_ passed: PassedAtStart) {
    let recovery = unsafe Recovery(
      passed, bus.reference, sessions, wal, recorder, sender, interpreter, gatekeeper, files.quota, reader,
      loop, keeper, context)
    recovery.run()
    _ = endIteration()
    recovery.logResult()
  }

  /// Goes by another configuration from now on. Frames as long as a client was promised are still taken from it.
  func reconfigure(_ configuration: Configuration) {
    let modeHasChanged = context.configuration.socketMode != configuration.socketMode
    context.configuration = configuration
    context.log.level = configuration.logLevel
    bus.value.apply(configuration, log: context.log)
    recorder.recordConfiguration()
    if modeHasChanged { acceptor.setMode(configuration.socketMode) }
  }

  /// Accepts no more, tells everyone, and ends the event loop when everyone has read what there was, or after
  /// `graceNanoseconds`.
  func stop(graceNanoseconds: UInt64) {
    guard phase == .serving else { return }
    acceptor.stop()
    keeper?.end()
    phase = .ending(by: context.now.advanced(byNanoseconds: graceNanoseconds))
    // What was sent before is still taken, from everyone, before anyone is dismissed whom it may be for.
    for session in sessions.all { reader.readRest(of: session) }
    interpreter.deliverPostponed()
    // Nobody shall take the end of the bus for that of a delegate.
    interpreter.perform { bus.value.stop(at: context.now) }
    gatekeeper.writeOmittedClosings()
    for session in sessions.allDetached { gatekeeper.close(session) }
    for session in sessions.all {
      gatekeeper.dismiss(session, WireError(.shuttingDown, "the bus is stopping"))
    }
  }

  /// Takes what has been read, and logs all that the next daemon needs.
  func handOver() throws(Errno) {
    keeper?.refusePlace(because: "the bus is ending")
    finishInput()
    try handover.write()
  }

  /// Nothing happens on the bus any more: another daemon goes on with it.
  func seal() {
    phase = .sealed
    recorder.seal()
  }

  private func finishInput() {
    // A bus that can hand over has not died of what it took over.
    wal.endRecovery()
    for session in sessions.all { reader.takeAllDeferred(of: session) }
    interpreter.deliverPostponed()
    sender.flushDeferred()
    _ = endIteration()
  }

  /// Gives the bus's place to the daemon that wants it, or goes on.
  private func yield(over keeper: KeeperLink, logVersion: UInt32) {
    if let reason = handover.reasonToStay(logVersion: logVersion, isEnding: phase != .serving) {
      return keeper.refusePlace(because: reason)
    }
    keeper.wish = .promised
    finishInput()
    // The keeper may have gone meanwhile.
    guard keeper.wish == .promised else { return }
    guard !handover.yield() else { return seal() }
    // Nobody is late whose answer has come while the bus stood still.
    for session in sessions.all { reader.readRest(of: session) }
  }

  // MARK: Iterations

  func beginIteration() {
    context.readClock()
    if reader.hasDeferred { reader.takeDeferred() }
  }

  var hasWork: Bool { reader.hasDeferred }

  func isReady(_ token: WatchToken, _ readiness: Readiness) {
    switch token {
    case .mainQueue: preconditionFailure("the run loop keeps the main queue to itself")
    case .listener(let index): gatekeeper.accept(at: index)
    case .alarm: sender.alarmFired()
    case .keeper: keeper?.isReady()
    case .connection:
      guard let session = sessions[token] else { return }
      if readiness.isWritable, session.output.isBlocked { sender.scheduleFlush(session) }
      if session.isClosing {
        if readiness.isEnd { gatekeeper.close(session) }
      } else if readiness.isReadable, session.isServed {
        reader.read(session)
      }
    }
  }

  var wantsIdle: Bool { (bus.value.hasIdlePosts || heapUse.value.hasFallen) && !hasWork }

  func isIdle() {
    if bus.value.hasIdlePosts { interpreter.deliverIdle() }
    guard heapUse.value.hasFallen else { return }
    heapUse.value.beginAnew()
    ProgramHeap.release()
  }

  func endIteration() -> Bool {
    if phase != .sealed, let keeper, case .heard(let version) = keeper.wish {
      yield(over: keeper, logVersion: version)
    }
    if phase == .sealed { return false }
    if bus.value.hasSoonPosts { interpreter.deliverSoon() }
    recorder.endIteration()
    repeat {
      recorder.commit()
      sender.flushScheduled()
      interpreter.settle()
      gatekeeper.endIteration()
    } while !sender.scheduled.value.isEmpty
    files.endIteration()
    interpreter.writeVerdicts()
    sender.resetRelief()
    recorder.commitAndCompact()
    if case .ending(let limit) = phase {
      if sessions.count == 0 || limit <= context.now { return false }
      timer?.schedule(limit)
    }
    // What clients use of it: queues, buffers, partial frames, and some for each connection.
    heapUse.value.note(
      sender.queuedByteCount + bus.value.suspendedByteCount + reader.partialByteCount
        + sessions.count * PartialFrames.shortLength)
    timer?.schedule(bus.value.nextDeadline)
    timer?.schedule(context.timeouts.value.nextDue)
    if let keeper, keeper.needsLook.value { timer?.schedule(keeper.look()) }
    iterationEnded?()
    return true
  }

  // MARK: Deadlines

  /// Does what is due. Runs on the main queue, inside an iteration.
  private func checkDeadlines() {
    // The main queue does all that it has, whatever the first of it was.
    guard phase != .sealed else { return }
    context.readClock()
    keeper?.tick(at: context.now)
    interpreter.advance()
    interpreter.deliverDue()
    dueTimeouts.check()
  }
}
