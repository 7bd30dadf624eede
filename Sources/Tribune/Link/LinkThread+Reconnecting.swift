// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// The progress of reconnecting.
struct Reconnection {
  /// The pauses between attempts grow from the first to the second of these. The first attempt is made at once.
  static let pauseMin = Duration.milliseconds(10)
  static let pauseMax = Duration.seconds(1)
  /// If a connection lasts for less than this, the pauses continue to grow.
  static let settling = Duration.seconds(1)

  /// When to give up.
  let deadline: ContinuousClock.Instant
  let patience: Duration
  var pause: Duration
  var nextAttempt: ContinuousClock.Instant
  /// Whether nobody uses the last connection's socket any more, and its end has been reported.
  var isSettled = false
  /// When the new connection must be established; nil while there is none.
  var attemptDeadline: ContinuousClock.Instant?
  /// Frames for the new connection that the kernel has not taken completely.
  var batch: OutgoingBatch?

  init(_ patience: Duration, after last: (moment: ContinuousClock.Instant, pause: Duration)?) {
    let now = ContinuousClock.now
    self.patience = patience
    deadline = now.advanced(by: patience)
    (pause, nextAttempt) = (.zero, now)
    // A connection that is lost as soon as it is made must not lead to a busy loop.
    if let last, last.moment.duration(to: now) < Self.settling {
      pause = last.pause
      waitForNext()
    }
  }

  /// Schedules the next attempt, after a longer pause.
  mutating func waitForNext() {
    attemptDeadline = nil
    batch = nil
    pause = min(max(pause * 2, Self.pauseMin), Self.pauseMax)
    nextAttempt = .now.advanced(by: pause)
  }
}

/// Looks for the bus when it is gone, and makes the new connection equivalent to the last one.
extension LinkThread {
  /// Performs the next step.
  ///
  /// - Parameter isWaiting: whether to wait for something to do.
  /// - Returns: whether the link continues.
  mutating func reconnect(isWaiting: Bool) throws(TribuneError) -> Bool {
    let patience = link.state.withLock { $0.patience }
    var reconnection = reconnection ?? Reconnection(patience, after: lastReconnection)
    let step = try advance(&reconnection, isWaiting: isWaiting)
    self.reconnection = step == .goesOn ? reconnection : nil
    guard step == .found else { return step == .goesOn }
    lastReconnection = (.now, reconnection.pause)
    link.reopen()
    write()
    return true
  }

  private enum Step {
    case goesOn, found, ended
  }

  private mutating func advance(
    _ reconnection: inout Reconnection, isWaiting: Bool
  ) throws(TribuneError) -> Step {
    if !reconnection.isSettled {
      reconnection.isSettled = link.settleInterruption()
      if !reconnection.isSettled {
        try pause()
        return .goesOn
      }
    }
    link.expireWaiting()
    let (closingDeadline, isOver, expiry) = link.state.withLock {
      ($0.closingDeadline, $0.isOver(at: .now), $0.nextExpiry)
    }
    let now = ContinuousClock.now
    if isOver {
      link.end(nil)
      return .ended
    }
    if let attemptDeadline = reconnection.attemptDeadline, attemptDeadline <= now {
      giveUp(
        &reconnection, because: TribuneError(.unreachable, "what listens at \(address) does not say hello"))
    }
    if reconnection.deadline <= now { throw notFound(reconnection) }
    if reconnection.attemptDeadline == nil, reconnection.nextAttempt <= now { attempt(&reconnection) }

    let nextStep = reconnection.attemptDeadline ?? reconnection.nextAttempt
    let next = [reconnection.deadline, nextStep, expiry, closingDeadline].compactMap { $0 }.min()
    let timeout = isWaiting ? ContinuousClock.now.duration(to: next ?? reconnection.deadline) : .zero
    guard reconnection.attemptDeadline != nil else {
      try pause(max(timeout, .zero))
      return .goesOn
    }
    let ready = try poll(forWriting: reconnection.batch != nil, timeout: max(timeout, .zero))
    if ready.isWoken { link.wakeup.clear() }
    if ready.isReadable, try read() == .ended {
      giveUp(&reconnection, because: nil)
      return .goesOn
    }
    goOnRenewing(&reconnection)
    let (phase, isRenewed) = link.state.withLock { ($0.phase, $0.isRenewed) }
    // A frame that was read may have ended it.
    guard case .interrupted = phase else { return .ended }
    return greeting == .done && reconnection.batch == nil && isRenewed ? .found : .goesOn
  }

  /// Connects once, and says hello.
  private mutating func attempt(_ reconnection: inout Reconnection) {
    do throws(Errno) {
      let socket = try UnixSocket.make(nonblocking: true)
      try UnixSocket.connect(socket, to: address.path)
      try link.socket.replace(by: socket)
    } catch {
      link.state.withLock {
        $0.interruption.failure = TribuneError(.unreachable, "no bus at \(address): \(error)")
      }
      reconnection.waitForNext()
      return
    }
    startOver()
    let streams = link.state.withLock { $0.beginRenewal() }
    for stream in streams { stream.restartSnapshot() }
    link.keepPlaces()
    link.routesVersion.add(1, ordering: .releasing)
    reconnection.attemptDeadline = reconnection.deadline
    let batch = OutgoingBatch(PassedCount())
    _ = batch.appendHello()
    reconnection.batch = batch
    goOnRenewing(&reconnection)
  }

  /// Sends what is still missing before the connection is equivalent to the last one.
  private func goOnRenewing(_ reconnection: inout Reconnection) {
    while true {
      if let batch = reconnection.batch {
        // If it fails, the next read reports it.
        guard case .whole = batch.write(to: link.socket).progress else { return }
        reconnection.batch = nil
      }
      let bytes = link.state.withLock { $0.nextRenewals() }
      guard !bytes.isEmpty else { return }
      let batch = OutgoingBatch(PassedCount())
      batch.append(bytes)
      reconnection.batch = batch
    }
  }

  private mutating func giveUp(_ reconnection: inout Reconnection, because error: TribuneError?) {
    UnixSocket.shutdown(link.socket)
    link.state.withLock { state in
      state.interruption.failure =
        error ?? state.interruption.failure
        ?? TribuneError(.unreachable, "what listens at \(address) closed the connection at once")
    }
    link.abandonRenewal(isWelcomed: greeting == .done)
    startOver()
    reconnection.waitForNext()
  }

  /// The error that ends the connection when no bus was found in time.
  private func notFound(_ reconnection: Reconnection) -> TribuneError {
    let (cause, failure) = link.state.withLock { ($0.interruption.cause, $0.interruption.failure) }
    let why = failure.map { ": \($0.message)" } ?? ""
    return TribuneError(
      .connectionLost,
      "\(cause.message), and none has been there within \(reconnection.patience.inWords)\(why)")
  }
}
