// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneCore
import TribuneSystem
import TribuneWire

/// The bus with its sockets: the core's events come from here, and its effects are carried out here.
///
/// Everything runs on the main actor, inside the passes of the run loop. In a pass, each socket that is
/// ready is read once and its frames are taken where they lie; what they cause is queued, and sent when
/// the pass ends, so that a connection gets all that a pass has for it in one call.
final class BusServer: RunLoopTarget {
  /// Whoever connects faster than the bus accepts does not keep it from everything else.
  private static let acceptsPerPass = 64

  private let loop: RunLoop
  let log: Log
  var configuration: Configuration
  /// What connections are welcomed with; each keeps what it was promised then.
  private(set) var limits: FrameLimits
  /// Where clients find the bus, for people.
  var address = ""
  let started: Instant
  let processID = UInt32(getpid())

  /// What every message goes through (see `Cell`).
  private let busCell: Cell<Bus>
  private let passCell = Cell(Pass())
  private let timeoutsCell = Cell(Timeouts())
  var bus: Bus {
    @inline(__always) _read { yield busCell.value }
    @inline(__always) _modify { yield &busCell.value }
  }
  var pass: Pass {
    @inline(__always) _read { yield passCell.value }
    @inline(__always) _modify { yield &passCell.value }
  }
  var timeouts: Timeouts {
    @inline(__always) _read { yield timeoutsCell.value }
    @inline(__always) _modify { yield &timeoutsCell.value }
  }

  /// By slot.
  let connections = Cell<[Connection?]>([])
  /// Theirs, by slot; nil where nobody is.
  let traffic = Cell<[Cell<Connection.Traffic>.Reference?]>([])
  private var freeSlots: [Int] = []
  private var lastConnection: UInt64 = 0
  private(set) var connectionCount = 0

  /// What is read into, and encoded in.
  let pool = BufferPool(bufferCapacity: 65_536, keptMax: 16)
  /// Where queues keep what is short.
  let queuePool = BufferPool(bufferCapacity: 16_384, keptMax: 128)
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
  private var closingLines = LineBudget(linesPerSecond: 20)
  /// Files that are still to be sent to somebody.
  let filesHeld = HeldFile.Count()
  /// The same for each user who has some.
  var userFilesHeld: [UInt32: HeldFile.Count] = [:]
  /// Descriptors whose frames are not whole yet.
  var descriptorsWaiting = 0
  var begunBuffers = BegunBuffers()
  /// Bytes reserved for long frames that are not whole yet.
  var begunReserved = 0

  private var listeners: [Listener] = []
  private var acceptIsPaused = false
  /// Accepting has failed for want of something, and has not yet been done with all that wait.
  private var acceptIsShort = false
  private var timer: DeadlineTimer?
  /// Goes off when what lingers is to be sent.
  let alarm: Alarm

  /// The time of this pass.
  private(set) var now: Instant
  var postedCount: UInt64 = 0
  var deliveredCount: UInt64 = 0
  var lostCount: UInt64 = 0

  /// Set when the bus is to end: by when, at the latest.
  private var stopBy: Instant?
  /// Called at the end of each pass.
  var passEnded: (() -> Void)?

  init(configuration: Configuration, log: Log, loop: RunLoop) throws(Errno) {
    alarm = try Alarm()
    self.configuration = configuration
    self.log = log
    self.loop = loop
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

  var firstListenerPath: String? { listeners.first?.path }

  /// Differs whenever the figures that a status shows may have changed.
  var changeCount: UInt64 {
    // Those that have come and those that have gone, so that it only grows.
    2 &* lastConnection &- UInt64(connectionCount) &+ postedCount &+ lostCount &+ bus.changeCount
  }

  /// Takes over another configuration. Frames as long as a client was promised are still taken from it.
  func reconfigure(_ configuration: Configuration) {
    let modeHasChanged = self.configuration.socketMode != configuration.socketMode
    self.configuration = configuration
    limits = configuration.frameLimits
    bus.limits = configuration.busLimits
    bus.policy = configuration.policy
    log.level = configuration.logLevel
    reconfigureProtocols()
    guard modeHasChanged else { return }
    for listener in listeners {
      do throws(Errno) {
        try listener.setMode(configuration.socketMode)
      } catch {
        log.error("cannot change the mode of \(listener.path): \(error)")
      }
    }
  }

  private func reconfigureProtocols() {
    let report = bus.configure(protocols: configuration.protocolSources, objects: configuration.objects)
    for replacement in report.replacements { log.warning("\(replacement)") }
    for rule in report.kept {
      log.notice(
        "objects like \"\(rule.pattern.text.escaped)\" have delegates, and keep the protocol \"\(rule.protocolName)\" that they had"
      )
    }
  }

  /// Begins to accept on `listener`.
  func listen(on listener: Listener) throws(Errno) {
    try loop.add(listener.descriptor.rawValue, for: .readable, token: .listener(listeners.count))
    listeners.append(listener)
  }

  /// Accepts no more, tells everyone, and ends the run loop when everyone has read what there was, or
  /// after `graceNanoseconds`.
  func stop(graceNanoseconds: UInt64) {
    guard stopBy == nil else { return }
    for listener in listeners {
      unwatch(listener.descriptor.rawValue)
      listener.removeFile()
    }
    stopBy = now.advanced(byNanoseconds: graceNanoseconds)
    // What was sent before is still taken, from everyone, before anyone is dismissed who may be meant.
    for case let connection? in connections.value { readRest(of: connection) }
    deliverSoon()
    isIdle()
    // Nobody shall take the end of the bus for that of a delegate.
    bus.stop(at: now)
    carryOutEffects()
    writeOmittedClosings()
    for case let connection? in connections.value {
      dismiss(connection, WireError(.shuttingDown, "the bus is stopping"))
    }
  }

  // MARK: Passes

  func beginPass() {
    now = Instant(nanoseconds: SystemClock.monotonicNanoseconds)
    // Each takes its turn, and leaves again what is still too much.
    var inTurn: [Connection] = []
    swap(&inTurn, &pass.unfinished)
    for connection in inTurn { takeRest(of: connection) }
  }

  /// Whether frames were left for the next pass.
  var hasWork: Bool { !pass.unfinished.isEmpty }

  /// Goes on with a connection's frames in the next pass.
  func finishLater(_ connection: Connection) { pass.unfinished.append(connection) }

  func isReady(_ token: WatchToken, _ readiness: Readiness) {
    switch token {
    case .mainQueue: preconditionFailure("the run loop keeps the main queue to itself")
    case .listener(let index): accept(on: listeners[index])
    case .alarm:
      alarm.clear()
      pass.isAlarmSet = false
      sendLingering()
    case .connection:
      guard let connection = connection(of: token) else { return }
      if readiness.isWritable, connection.isBlocked { markDirty(connection) }
      if connection.phase == .closing {
        if readiness.isEnd { close(connection) }
      } else if readiness.isReadable {
        read(connection)
      }
    }
  }

  /// Whether the run loop is to say when it has nothing to do.
  var wantsIdle: Bool { bus.hasIdlePosts && !hasWork }

  func isIdle() {
    while bus.deliverIdle() { carryOutEffects() }
  }

  private func deliverSoon() {
    while bus.deliverSoon() { carryOutEffects() }
  }

  func endPass() -> Bool {
    if bus.hasSoonPosts { deliverSoon() }
    repeat {
      flushDirty()
      while let connection = pass.doomed.popLast() {
        if let doom = connection.doom { dismiss(connection, doom) }
      }
    } while !pass.dirty.isEmpty
    pass.inlined = nil
    if pass.fileFrames.areLent { pass.fileFrames.collect() }
    writeVerdicts()
    resetRelief()
    if let stopBy {
      if connectionCount == 0 || stopBy <= now { return false }
      timer?.schedule(stopBy)
    }
    scheduleTimer()
    passEnded?()
    return true
  }

  /// Sends what waits, in the order in which connections were spoken to: an asker has its verdict before its delegates
  /// hear how it ended.
  private func flushDirty() {
    var next = 0
    while next < pass.dirty.count {
      let connection = pass.dirty[next]
      connection.isDirty = false
      flush(connection)
      next += 1
    }
    pass.dirty.removeAll(keepingCapacity: true)
  }

  /// Has sent what no company has come for.
  func sendLingering() {
    while let connection = pass.lingering.popLast() {
      connection.isLingering = false
      markDirty(connection)
    }
  }

  private func scheduleTimer() {
    guard let timer else { return }
    timer.schedule(bus.nextDeadline)
    timer.schedule(timeouts.nextDue)
  }

  /// Does what is due. Runs on the main queue, inside a pass.
  private func checkDeadlines() {
    now = Instant(nanoseconds: SystemClock.monotonicNanoseconds)
    bus.advance(to: now)
    carryOutEffects()
    while bus.deliverDue(at: now) { carryOutEffects() }
    while let token = timeouts.popDue(.hello, at: now) {
      if let connection = connection(of: token), connection.phase == .awaitingHello {
        dismiss(connection, WireError(.helloTimeout, "no hello came in time"))
      }
    }
    // Nearly all have said hello long ago: many who came and went do not wake the bus once each.
    timeouts.drop(.hello) { connection(of: $0)?.phase != .awaitingHello }
    while let token = timeouts.popDue(.frame, at: now) {
      if let connection = connection(of: token) { checkProgress(of: connection) }
    }
    while let token = timeouts.popDue(.pace, at: now) {
      if let connection = connection(of: token) { checkPacing(of: connection) }
    }
    for kind in [Timeouts.Kind.pass, .passLossy] {
      while let token = timeouts.popDue(kind, at: now) {
        if let connection = connection(of: token) { checkRoomToPass(of: connection) }
      }
    }
    while let token = timeouts.popDue(.close, at: now) {
      if let connection = connection(of: token), connection.phase == .closing { close(connection) }
    }
    while timeouts.popDue(.accept, at: now) != nil { resumeAccepting() }
    while timeouts.popDue(.log, at: now) != nil { writeOmittedClosings() }
  }

  /// The connection that is meant, if it is still there.
  private func connection(of token: WatchToken) -> Connection? {
    guard case .connection(let slot, _) = token, let connection = connections.value[slot],
      connection.token == token
    else { return nil }
    return connection
  }

  // MARK: Coming and going

  private func accept(on listener: Listener) {
    do throws(Errno) {
      for _ in 0..<Self.acceptsPerPass {
        guard let descriptor = try UnixSocket.accept(listener.descriptor) else {
          if acceptIsShort {
            acceptIsShort = false
            log.info("accepting connections again")
          }
          return
        }
        try admit(descriptor)
      }
    } catch {
      if error.isOutOfResources {
        pauseAccepting(because: error)
      } else {
        log.error("cannot accept a connection: \(error)")
      }
    }
  }

  private func admit(_ descriptor: consuming FileDescriptor) throws(Errno) {
    let credentials = try UnixSocket.peer(of: descriptor)
    let slot = ConnectionSlot(index: freeSlots.last ?? connections.value.count)
    let connection = Connection(
      id: ConnectionID(rawValue: lastConnection + 1), slot: slot, descriptor: descriptor,
      peer: PeerIdentity(credentials: credentials), connected: now, limits: limits)
    try loop.add(connection.descriptor.rawValue, for: connection.interest, token: connection.token)
    lastConnection += 1
    connectionCount += 1
    if freeSlots.popLast() == nil {
      connections.value.append(connection)
      traffic.value.append(nil)
    } else {
      connections.value[slot.index] = connection
    }
    // Both are forgotten together.
    traffic.value[slot.index] = unsafe connection.traffic.reference
    log.debug("connection \(connection.id) from \(connection.peer.summary)")
    guard connectionCount <= configuration.connectionsMax else {
      let most = configuration.connectionsMax
      dismiss(
        connection,
        WireError(.tooManyConnections, "the bus is full: it can have \(most) connections at a time"))
      return
    }
    timeouts.append(
      .hello, connection.token, due: now.advanced(byNanoseconds: configuration.helloTimeoutNanoseconds))
  }

  private func pauseAccepting(because error: Errno) {
    guard !acceptIsPaused else { return }
    acceptIsPaused = true
    if !acceptIsShort {
      acceptIsShort = true
      log.warning(
        "no new connections for now, with \(connectionCount) open: \(error)",
        ["TRIBUNE_ERRNO": "\(error.rawValue)"])
    }
    for (index, listener) in listeners.enumerated() { watch(listener, at: index, for: []) }
    timeouts.append(.accept, .listener(0), due: now.advanced(byNanoseconds: 1_000_000_000))
  }

  private func resumeAccepting() {
    guard acceptIsPaused, stopBy == nil else { return }
    acceptIsPaused = false
    for (index, listener) in listeners.enumerated() { watch(listener, at: index, for: .readable) }
  }

  private func watch(_ listener: Listener, at index: Int, for interest: Readiness) {
    do throws(Errno) {
      try loop.modify(listener.descriptor.rawValue, for: interest, token: .listener(index))
    } catch {
      preconditionFailure("cannot watch a listening socket: \(error)")
    }
  }

  /// Changes what the run loop watches `connection` for.
  func updateInterest(of connection: Connection) {
    guard connection.phase != .closed else { return }
    do throws(Errno) {
      try loop.modify(
        connection.descriptor.rawValue, for: connection.interest, token: connection.token)
    } catch {
      preconditionFailure("cannot watch connection \(connection.id): \(error)")
    }
  }

  private func unwatch(_ descriptor: CInt) {
    do throws(Errno) {
      try loop.remove(descriptor)
    } catch {
      preconditionFailure("cannot stop watching descriptor \(descriptor): \(error)")
    }
  }

  /// Has the connection dismissed when the pass ends: for whoever is in the middle of going through
  /// connections.
  func doom(_ connection: Connection, _ error: WireError) {
    guard connection.isServed else { return }
    connection.doom = error
    pass.doomed.append(connection)
  }

  /// Tells the connection why, and closes it when it has read that, or after a second.
  func dismiss(_ connection: Connection, _ error: WireError) {
    guard connection.phase != .closing, connection.phase != .closed else { return }
    connection.doom = nil
    logClosing(of: connection, error)
    if connection.phase == .awaitingHello {
      sendHello(to: connection)
    } else {
      leave(connection, because: error.code)
    }
    refuse(connection, serial: 0, error)
    connection.phase = .closing
    connection.rest = nil
    releaseBegun(connection)
    releaseDescriptors(of: connection)
    timeouts.append(.close, connection.token, due: now.advanced(byNanoseconds: 1_000_000_000))
    updateInterest(of: connection)
  }

  /// Writes down why a connection is closed; of many in one second the first, and then how many more.
  private func logClosing(of connection: Connection, _ error: WireError) {
    // The end of the bus is nothing that a peer did.
    let level = error.code == .shuttingDown ? Log.Level.debug : .warning
    guard level == .debug || closingLines.take(at: now) else {
      if closingLines.omittedCount == 1 {
        timeouts.append(.log, .mainQueue, due: now.advanced(byNanoseconds: LineBudget.periodNanoseconds))
      }
      return
    }
    log.write(
      level, "closing connection \(connection.id) of \(connection.peer.summary): \(error.message)",
      [
        "TRIBUNE_CONNECTION": "\(connection.id)", "TRIBUNE_PID": "\(connection.peer.pid)",
        "TRIBUNE_UNIT": connection.peer.unit, "TRIBUNE_ERROR": "\(error.code)",
      ])
  }

  private func writeOmittedClosings() {
    let count = closingLines.takeOmittedCount()
    guard count > 0 else { return }
    log.warning("closed \(count) more connections for what they did", ["TRIBUNE_DROPPED": "\(count)"])
  }

  /// Takes the connection off the bus.
  ///
  /// - Parameter reason: why, if the bus ends it.
  private func leave(_ connection: Connection, because reason: ErrorCode? = nil) {
    bus.disconnect(connection.slot, because: reason, at: now)
    connection.flow = .flowing
    releasePosters(of: connection)
    carryOutEffects()
  }

  func close(_ connection: Connection) {
    guard connection.phase != .closed else { return }
    if connection.phase == .open { leave(connection) }
    connection.rest = nil
    releaseBegun(connection)
    releaseDescriptors(of: connection)
    forget(connection)
    if acceptIsPaused { resumeAccepting() }
  }

  /// Frees the slot and shuts the socket. The descriptor itself is closed with the last reference.
  private func forget(_ connection: Connection) {
    if connection.phase != .closed { log.debug("connection \(connection.id) closed") }
    connection.phase = .closed
    queuedByteCount -= connection.queue.byteCount
    connection.queue.removeAll()
    unwatch(connection.descriptor.rawValue)
    UnixSocket.shutdown(connection.descriptor)
    connections.value[connection.slot.index] = nil
    traffic.value[connection.slot.index] = nil
    freeSlots.append(connection.slot.index)
    connectionCount -= 1
  }
}
