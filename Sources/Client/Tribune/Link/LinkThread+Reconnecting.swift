// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// The progress of reconnecting to a lost bus.
struct Reconnection {
  typealias Instant = ContinuousClock.Instant

  /// The first attempt comes at once, unless `settling` requires a pause. Before further attempts, the pauses
  /// grow from `pauseMin` to `pauseMax`.
  private static let pauseMin = Duration.milliseconds(10)
  private static let pauseMax = Duration.seconds(1)
  /// If a new connection is lost within this time, the next reconnection begins with a pause, and the pauses
  /// continue to grow.
  private static let settling = Duration.seconds(1)
  /// The time limit that replaces nil: longer than any process lives.
  private static let forEver = Duration.seconds(1 << 40)

  /// The stage of reconnecting. Each arrow lists the stages that can follow.
  enum Stage {
    /// A caller may still be writing to the lost socket, so the link has not reported the loss yet. → pausing
    case settling(nextAttempt: Instant)
    /// The link's thread waits for the next attempt. → renewing
    case pausing(nextAttempt: Instant)
    /// The link sends the renewal and waits for replies. The batch is nil once the kernel has it. → pausing
    case renewing(OutgoingBatch?)
  }

  let deadline: Instant
  private(set) var pause = Duration.zero
  var stage: Stage

  init(within limit: Duration?, after last: (moment: Instant, pause: Duration)?, at now: Instant) {
    deadline = now.advanced(by: limit ?? Self.forEver)
    // Without this pause, a bus that closes each new connection at once would cause a busy loop.
    if let last, last.moment.duration(to: now) < Self.settling { pause = Self.pause(after: last.pause) }
    stage = .settling(nextAttempt: now.advanced(by: pause))
  }

  mutating func waitForNext(at now: Instant) {
    pause = Self.pause(after: pause)
    stage = .pausing(nextAttempt: now.advanced(by: pause))
  }

  private static func pause(after last: Duration) -> Duration { min(max(last * 2, pauseMin), pauseMax) }
}

extension LinkThread {
  mutating func reconnect(isWaiting: Bool) throws(TribuneError) -> Bool {
    let now = ContinuousClock.now
    var reconnection =
      reconnection
      ?? Reconnection(
        within: link.state.withLock { $0.reconnectTimeout }, after: lastReconnection, at: now)
    let step = try advance(&reconnection, isWaiting: isWaiting)
    self.reconnection = step == .goesOn ? reconnection : nil
    guard step == .found else { return step == .goesOn }
    lastReconnection = (.now, reconnection.pause)
    guard link.reopen() else { return false }
    write()
    return true
  }

  private enum Step {
    case goesOn, found, ended
  }

  private mutating func advance(
    _ reconnection: inout Reconnection, isWaiting: Bool
  ) throws(TribuneError) -> Step {
    if case .settling(let nextAttempt) = reconnection.stage {
      guard link.finishOldConnection() else {
        try pause()
        return .goesOn
      }
      reconnection.stage = .pausing(nextAttempt: nextAttempt)
      // The call above may have resumed tasks that this thread, as their executor, must run before it waits.
      return .goesOn
    }
    let now = ContinuousClock.now
    let due = link.state.withLock { $0.takeDue(at: now) }
    link.perform(due.actions)
    if !due.actions.isEmpty, !due.isOver { return .goesOn }
    if due.isOver {
      link.end(nil)
      return .ended
    }
    if reconnection.deadline <= now { throw notFound(reconnection) }
    if case .pausing(let nextAttempt) = reconnection.stage, nextAttempt <= now { attempt(&reconnection) }

    var wakeTime = min(reconnection.deadline, due.next ?? reconnection.deadline)
    if case .pausing(let nextAttempt) = reconnection.stage { wakeTime = min(wakeTime, nextAttempt) }
    let timeout = isWaiting ? max(ContinuousClock.now.duration(to: wakeTime), .zero) : .zero
    guard case .renewing(let batch) = reconnection.stage else {
      try pause(timeout)
      return .goesOn
    }
    let ready = try poll(forWriting: batch != nil, timeout: timeout)
    if ready.isWoken { link.wakeup.clear() }
    if ready.isReadable, try read() == .ended {
      giveUp(&reconnection)
      return .goesOn
    }
    let isSent = goOnRenewing(&reconnection)
    let interruption = link.state.withLock { $0.interruption }
    // A frame that the thread has just read may have ended the link.
    guard let interruption else { return .ended }
    return greeting == .done && isSent && interruption.successions == 0 ? .found : .goesOn
  }

  private mutating func attempt(_ reconnection: inout Reconnection) {
    do throws(TribuneError) {
      try connectOnce()
    } catch {
      link.state.withLock { $0.changeInterruption { $0.failure = error } }
      reconnection.waitForNext(at: .now)
      return
    }
    startOver()
    link.reservePositions()
    let (frames, delegates) = link.state.withLock { $0.beginRenewal() }
    withExtendedLifetime(delegates) {}
    link.routesVersion.add(1, ordering: .releasing)
    let batch = OutgoingBatch(PassedCount())
    batch.appendHello(of: link)
    batch.append(frames)
    reconnection.stage = .renewing(batch)
    _ = goOnRenewing(&reconnection)
  }

  private func connectOnce() throws(TribuneError) {
    let socket = try connectedSocket()
    try address.requireServer(of: socket)
    do throws(Errno) {
      try link.socket.replace(by: socket)
    } catch {
      throw TribuneError(.unreachable, "cannot make a connection: \(error)")
    }
  }

  private func connectedSocket() throws(TribuneError) -> FileDescriptor {
    do throws(Errno) {
      let socket = try UnixSocket.make(nonblocking: true)
      try UnixSocket.connect(socket, to: address.path)
      return socket
    } catch {
      throw TribuneError(.unreachable, "no bus at \(address): \(error)")
    }
  }

  private func goOnRenewing(_ reconnection: inout Reconnection) -> Bool {
    if case .renewing(let batch?) = reconnection.stage {
      // If the write fails, the next read reports the error.
      guard case .whole = batch.write(to: link.socket).progress else { return false }
    }
    reconnection.stage = .renewing(nil)
    return true
  }

  private mutating func giveUp(_ reconnection: inout Reconnection) {
    UnixSocket.shutdown(link.socket)
    let failure = TribuneError(.unreachable, "the listener at \(address) closed the connection at once")
    link.perform(
      link.state.withLock { $0.abandonRenewal(isWelcomed: greeting == .done, because: failure) })
    startOver()
    reconnection.waitForNext(at: .now)
  }

  private func notFound(_ reconnection: Reconnection) -> TribuneError {
    let (interruption, timeout) = link.state.withLock { ($0.interruption, $0.reconnectTimeout ?? .zero) }
    guard let interruption else { return .closed }
    var failure = interruption.failure
    if case .renewing = reconnection.stage {
      let what = greeting == .hello ? "did not send a hello" : "has not confirmed all registrations"
      failure = TribuneError(.unreachable, "the listener at \(address) \(what)")
    }
    let why = failure.map { ": \($0.message)" } ?? ""
    return TribuneError(
      .connectionLost,
      "\(interruption.cause.message), and no bus was found within \(timeout.formatted)\(why)")
  }
}
