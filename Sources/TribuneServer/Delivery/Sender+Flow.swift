// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// What happens to observers that do not read as fast as they are sent to, and to their posters.
///
/// Past its high mark, an observer is *paced*: the posters that feed it are not read, so that a burst to a healthy
/// observer loses nothing. If it has not drained below the low mark in the configured time, it becomes *lossy*: until it
/// has, its oldest notifications are dropped, it is told how many, and nobody waits for it. Where nobody would wait
/// anyway, and when there is no memory for all queues together, a slow observer becomes lossy at once.
extension Sender {
  // MARK: Pacing

  /// Gives the observer time to catch up, from the first notification on that puts it past its high mark.
  func pace(_ poster: Session, for observer: Session) {
    if observer.pacing.isFlowing {
      let end = context.now.advanced(byNanoseconds: context.configuration.queue.paceMaxNanoseconds)
      observer.pacing.flow = .pacing(until: end)
      context.timeouts.value.insert(.pace, observer.token, due: end)
    }
    // All that one read brings is one poster's.
    guard observer.pacing.pausedPosters.last !== poster,
      !observer.pacing.pausedPosters.contains(where: { $0 === poster })
    else { return }
    observer.pacing.pausedPosters.append(poster)
    poster.pacing.pauseCount += 1
    if poster.pacing.pauseCount == 1 { loop.updateInterest(of: poster) }
  }

  /// The observer has had its time to catch up, unless it did meanwhile and the timeout is an older one.
  func checkPacing(of observer: Session) {
    guard observer.isOpen, case .pacing(let end) = observer.pacing.flow, end <= context.now else { return }
    becomeLossy(observer)
    drop(from: observer, downTo: context.configuration.queue.highMarkBytes)
  }

  /// Nobody waits for an observer that ends, or that nothing can be written to any more.
  func endPacing(of observer: Session) {
    observer.pacing.flow = .flowing
    releasePosters(of: observer)
  }

  /// Resumes the posters that are paused because of `observer`.
  private func releasePosters(of observer: Session) {
    while let poster = observer.pacing.pausedPosters.popLast() {
      poster.pacing.pauseCount -= 1
      guard poster.pacing.pauseCount == 0 else { continue }
      // It could not end its partial frame while it was not read.
      poster.input.partialSince = context.now
      loop.updateInterest(of: poster)
    }
  }

  // MARK: Losing

  /// Drops the oldest notifications of a queue until it is no longer than `target`. An observer that loses is lossy.
  ///
  /// - Parameter isTold: whether others are told that it has become so.
  func drop(from observer: Session, downTo target: Int, isTold: Bool = true) {
    let lost = observer.output.queue.lostCount
    var dropped: UInt64 = 0
    changeQueue(of: observer) { queue in dropped = queue.dropOldest(downTo: target) }
    guard dropped > 0 else { return }
    context.statistics.value.lost += dropped
    events.value.append(.lost(dropped, observer))
    if !observer.pacing.isLossy { becomeLossy(observer, havingLost: lost, isTold: isTold) }
  }

  /// - Parameter lost: what it had lost before.
  private func becomeLossy(_ observer: Session, havingLost lost: UInt64? = nil, isTold: Bool = true) {
    observer.pacing.flow = .lossy(lostBefore: lost ?? observer.output.queue.lostCount, isTold: isTold)
    releasePosters(of: observer)
    context.log.warning(
      "\(observer.peer.summary) on connection \(observer.id) does not read: its oldest notifications are dropped",
      observer.journalFields)
    events.value.append(.becameLossy(observer, isTold: isTold))
  }

  /// The observer has drained below the low mark.
  func recover(_ observer: Session) {
    let flow = observer.pacing.flow
    endPacing(of: observer)
    // The end of a connection is no recovery.
    guard observer.isOpen, case .lossy(let lostBefore, let isTold) = flow else { return }
    let lost = observer.output.queue.lostCount - lostBefore
    context.log.notice(
      "\(observer.peer.summary) on connection \(observer.id) reads again, and has lost \(lost.counted("notification"))",
      observer.journalFields("TRIBUNE_LOST", "\(lost)"))
    if isTold { events.value.append(.recovered(observer, lost: lost)) }
  }

  // MARK: Limits

  /// Bytes in a queue above which a connection that reads is flushed before the iteration ends, so that there is space
  /// for questions.
  var softLimit: Int { context.configuration.queue.hardLimitBytes / 8 }

  /// One iteration can cause any number of replies and questions: the hard limit cannot wait for its end.
  func limitQueue(of session: Session, isNotification: Bool) {
    if !isNotification, !session.output.isBlocked {
      if overSoftLimit.value.last !== session { overSoftLimit.value.append(session) }
    } else {
      applyHardLimit(to: session)
    }
  }

  private func applyHardLimit(to session: Session) {
    let hardLimit = context.configuration.queue.hardLimitBytes
    guard session.output.queue.byteCount > hardLimit else { return }
    // Notifications may go first; control frames must not be dropped.
    if !session.pacing.isFlowing || session.output.isBlocked {
      drop(from: session, downTo: context.configuration.queue.highMarkBytes)
    }
    if session.output.queue.byteCount > hardLimit, session.output.isBlocked {
      sessions.closeLater(
        session, WireError(.tooSlow, "\(session.output.queue.byteCount) bytes waited to be read"))
    }
  }

  /// Whether queues are over a limit that `relieve` brings them below.
  @inline(__always) var isOverLimits: Bool { queuedByteCount > relievedAbove || !overSoftLimit.value.isEmpty }

  /// Flushes the queues over the soft limit, and drops notifications if all queues together take too much memory. No
  /// transaction may be under way.
  func relieve() {
    while let session = overSoftLimit.value.popLast() {
      guard session.isServed, session.output.queue.byteCount > softLimit else { continue }
      if !session.output.isBlocked { flush(session) }
      applyHardLimit(to: session)
    }
    if queuedByteCount > relievedAbove { dropToFitMemory() }
  }

  /// Drops notifications when all queues together take more memory than is configured: observers that do not read become
  /// lossy early, and keep what lies below the low mark, or an even share of half of the memory where that is less.
  ///
  /// What must not be dropped stays, and is bounded for each connection alone. Where that is much, it is not walked for
  /// every frame: a quarter more has to come before this is done again.
  private func dropToFitMemory() {
    let memoryMax = context.configuration.queue.memoryMaxBytes
    // What could be read already does not wait.
    let connections = sessions.all
    for session in connections where !session.output.isBlocked && session.isServed {
      if !session.output.queue.isEmpty { flush(session) }
    }
    let slow = connections.filter { $0.output.isBlocked && $0.isServed }
    let target = min(context.configuration.queue.lowMarkBytes, memoryMax / 2 / max(1, slow.count))
    for session in slow where session.output.queue.byteCount > target {
      drop(from: session, downTo: target)
    }
    relievedAbove = max(memoryMax, queuedByteCount + memoryMax / 4)
  }

  /// Has the queues relieved as soon as they pass the memory for them, where they have come back below it.
  func resetRelief() {
    let memoryMax = context.configuration.queue.memoryMaxBytes
    relievedAbove = max(memoryMax, min(relievedAbove, queuedByteCount + memoryMax / 4))
  }
}
