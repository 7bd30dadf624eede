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
/// router, gatekeeper, lister · frame taker · frame reader · recovery, handover.
final class BusServer: EventLoopTarget {
  /// Connections that the log has counter slots for.
  static let slotCount = 1 << 17

  let context: ServerContext
  let sessions = SessionTable()
  let recorder: Recorder
  let sender: Sender
  let interpreter: Interpreter
  let gatekeeper: Gatekeeper
  let lister: Lister
  let succession: Succession
  private let bus: Cell<Bus>
  private let files: UserInfoFiles
  private let reader: FrameReader
  private let loop: EventLoop
  private let store: DescriptorStore?
  private let heapUse = Cell(HeapUse())
  private var timer: DeadlineTimer?
  /// When the bus ends at the latest; nil unless it is ending.
  private var stopBy: Instant?
  /// Called at the end of each iteration.
  var iterationEnded: (() -> Void)?

  init(
    configuration: Configuration, log: Log, loop: EventLoop, wal: WriteAheadLog, store: DescriptorStore?
  ) throws(Errno) {
    context = ServerContext(configuration, log: log)
    (self.loop, self.store) = (loop, store)
    var bus = Bus(
      limits: configuration.busLimits, seed: UInt64.random(in: .min ... .max),
      payloadCheck: PayloadCheck(
        userInfo: ValueCheck.check(userInfo:for:), value: ValueCheck.check(value:of:)))
    bus.policy = configuration.policy
    _ = bus.configure(protocols: configuration.protocolSources, objects: configuration.objects)
    self.bus = Cell(bus)
    // Every part lives as long as the bus.
    let core = unsafe self.bus.reference
    let pool = BufferPool(bufferCapacity: 65_536, keptMax: 16)
    files = UserInfoFiles(DescriptorQuota(), log: log)
    recorder = Recorder(wal, store, core, sessions, files, context)
    sender = try Sender(recorder, files, sessions, loop, pool, context)
    let monitor = TrafficMonitor(core, sessions, sender)
    let replier = Replier(sender, monitor)
    interpreter = Interpreter(core, sessions, recorder, sender, monitor, replier, context)
    gatekeeper = Gatekeeper(interpreter, loop, files.quota, store)
    lister = Lister(interpreter, store)
    succession = Succession(isManaged: store != nil)
    let taker = FrameTaker(interpreter, lister, gatekeeper, succession, files)
    reader = FrameReader(Router(interpreter), taker, gatekeeper, recorder, sender, pool, context)
    timer = DeadlineTimer { [weak self] in self?.checkDeadlines() }
  }

  // MARK: From the first to the last

  /// Replays the log, and goes on with the connections that are there.
  ///
  /// - Parameter passed: what lay in the store, or was handed over.
  func takeOver(_ passed: PassedAtStart) {
    let recovery = Recovery(passed, interpreter, gatekeeper, reader, loop, store)
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
    if modeHasChanged { gatekeeper.acceptor.setMode(configuration.socketMode) }
  }

  /// Accepts no more, tells everyone, and ends the event loop when everyone has read what there was, or after
  /// `graceNanoseconds`.
  func stop(graceNanoseconds: UInt64) {
    guard stopBy == nil else { return }
    gatekeeper.acceptor.stop()
    stopBy = context.now.advanced(byNanoseconds: graceNanoseconds)
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
  ///
  /// - Parameter pass: passes on a file that the log speaks of.
  func handOver(passing pass: (CInt) -> Bool) throws(Errno) {
    finishInput()
    try Handover(interpreter, gatekeeper, succession, store).write(passing: pass)
  }

  /// Nothing happens on the bus any more: another daemon goes on with it.
  func seal() {
    succession.state = .handedOver
    recorder.seal()
  }

  private func finishInput() {
    for session in sessions.all { reader.takeAllDeferred(of: session) }
    interpreter.deliverPostponed()
    sender.flushDeferred()
    _ = endIteration()
  }

  /// Hands everything over to the daemon that has asked for it, or goes on.
  private func handOver(to asker: Session) {
    let handover = Handover(interpreter, gatekeeper, succession, store)
    guard let channel = handover.open(to: asker) else { return }
    finishInput()
    if handover.complete(over: channel, to: asker.peer.summary) { seal() }
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
    if case .asked(let daemon) = succession.state { handOver(to: daemon) }
    if succession.isHandedOver { return false }
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
    // A compaction reads what is committed, and ends where the log does.
    recorder.commit()
    recorder.compactor.step(at: context.now)
    if let stopBy {
      if sessions.count == 0 || stopBy <= context.now { return false }
      timer?.schedule(stopBy)
    }
    heapUse.value.note(heapByteCount)
    timer?.schedule(bus.value.nextDeadline)
    timer?.schedule(context.timeouts.value.nextDue)
    iterationEnded?()
    return true
  }

  /// Bytes of the heap that clients have taken, as far as they are much: what is queued, buffered and partly received, and
  /// what each connection has by itself.
  private var heapByteCount: Int {
    sender.queuedByteCount + bus.value.suspendedByteCount + gatekeeper.partials.reservedByteCount
      + sessions.count * PartialFrames.shortLength
  }

  // MARK: Deadlines

  /// When the bus looks at its deadlines next, if nothing happens before; nil if there is none.
  var nextLook: Instant? { timer?.due }

  /// The time for that has come.
  func lookNow() { timer?.fire() }

  /// Does what is due. Runs on the main queue, inside an iteration.
  private func checkDeadlines() {
    // The main queue does all that it has, whatever the first of it was.
    guard !succession.isHandedOver else { return }
    context.readClock()
    interpreter.advance()
    interpreter.deliverDue()
    while let (kind, token) = context.timeouts.value.popDue(at: context.now) {
      check(kind, token)
    }
    // Nearly all have said hello long ago: many who came and went do not wake the bus once each.
    context.timeouts.value.drop { kind, token in
      kind == .hello && sessions[token]?.isAwaitingHello != true
    }
  }

  /// Does what a timeout is for, unless that has been settled before.
  private func check(_ kind: Timeouts.Kind, _ token: WatchToken) {
    switch (kind, sessions[token]) {
    case (.accept, _): gatekeeper.acceptor.resume()
    case (.log, _): gatekeeper.writeOmittedClosings()
    case (.hello, let session?):
      guard session.isAwaitingHello else { return }
      gatekeeper.dismiss(session, WireError(.helloTimeout, "no hello came in time"))
    case (.frame, let session?): reader.checkProgress(of: session)
    case (.pace, let session?):
      sender.checkPacing(of: session)
      interpreter.settle()
    case (.pass, let session?): sender.checkSpaceToPass(of: session)
    case (.close, let session?): if session.isClosing { gatekeeper.close(session) }
    case (.detached, nil): if let session = sessions.detached(token) { gatekeeper.close(session) }
    case (.detached, _), (_, nil): break
    }
  }
}
