// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// What happens to those who do not read as fast as they are sent to, and to those who send it.
///
/// Past its high mark, an observer is *paced*: the posters that feed it are not read, so that a burst to
/// a healthy observer loses nothing. One that has not drained below the low mark when that has lasted for
/// the configured time goes *lossy*: its oldest notifications are dropped, and it is told how many, until
/// it has. From then on nobody waits for it. So it goes at once with those for whom nobody waits from the start,
/// and with everybody slow when there is no memory for all that waits.
extension BusServer {
  // MARK: Pacing

  /// Gives the observer time to catch up, from the first notification on that puts it past its high mark.
  func pace(_ poster: Connection, for observer: Connection) {
    if observer.flow == .flowing {
      observer.flow = .pacing
      observer.pacedUntil = now.advanced(byNanoseconds: configuration.paceMaxNanoseconds)
      timeouts.insert(.pace, observer.token, due: observer.pacedUntil)
    }
    // All that one read brings is one poster's.
    guard observer.pausedPosters.last !== poster, !observer.pausedPosters.contains(where: { $0 === poster })
    else { return }
    observer.pausedPosters.append(poster)
    poster.pauseCount += 1
    if poster.pauseCount == 1 { updateInterest(of: poster) }
  }

  /// The observer has had its time to catch up, unless it did meanwhile and this is of another time.
  func checkPacing(of observer: Connection) {
    guard observer.phase == .open, observer.flow == .pacing, observer.pacedUntil <= now else { return }
    becomeLossy(observer)
    drop(from: observer, downTo: configuration.highMarkBytes)
  }

  /// Lets the posters go on that are paused because of `observer`.
  func releasePosters(of observer: Connection) {
    while let poster = observer.pausedPosters.popLast() {
      poster.pauseCount -= 1
      guard poster.pauseCount == 0 else { continue }
      // It could not end the frame that it had begun.
      poster.partialSince = now
      updateInterest(of: poster)
    }
  }

  // MARK: Losing

  /// Drops the oldest notifications of a queue until it is no longer than `target`. Who loses is lossy.
  ///
  /// - Parameter isTold: whether others are told that it has become so.
  func drop(from observer: Connection, downTo target: Int, isTold: Bool = true) {
    let (byteCount, lost) = (observer.queue.byteCount, observer.queue.lostCount)
    let dropped = observer.queue.dropOldest(downTo: target)
    guard dropped > 0 else { return }
    queuedByteCount += observer.queue.byteCount - byteCount
    statistics.lost += dropped
    if bus.isMonitored { monitorLoss(dropped, of: observer) }
    if observer.flow != .lossy { becomeLossy(observer, havingLost: lost, isTold: isTold) }
  }

  /// - Parameter lost: what it had lost before.
  private func becomeLossy(_ observer: Connection, havingLost lost: UInt64? = nil, isTold: Bool = true) {
    observer.flow = .lossy
    observer.lostBefore = lost ?? observer.queue.lostCount
    observer.isLossTold = isTold
    releasePosters(of: observer)
    log.warning(
      "\(observer.peer.summary) on connection \(observer.id) does not read: its oldest notifications are dropped",
      [
        "TRIBUNE_CONNECTION": "\(observer.id)", "TRIBUNE_PID": "\(observer.peer.pid)",
        "TRIBUNE_UNIT": observer.peer.unit,
      ])
    if isTold { announceLossy(observer) }
  }

  /// The observer has drained below the low mark.
  func recover(_ observer: Connection) {
    let wasLossy = observer.flow == .lossy
    observer.flow = .flowing
    releasePosters(of: observer)
    // The end of a connection is no recovery.
    guard observer.phase == .open, wasLossy else { return }
    let lost = observer.queue.lostCount - observer.lostBefore
    log.notice(
      "\(observer.peer.summary) on connection \(observer.id) reads again, and has lost \(lost.counted("notification"))",
      [
        "TRIBUNE_CONNECTION": "\(observer.id)", "TRIBUNE_PID": "\(observer.peer.pid)",
        "TRIBUNE_UNIT": observer.peer.unit, "TRIBUNE_LOST": "\(lost)",
      ])
    if observer.isLossTold { announceRecovery(of: observer, lost: lost) }
  }

  // MARK: All queues together

  /// Makes room when more waits in all queues together than there is memory for: whoever does not read becomes
  /// lossy early, and keeps what lies below the low mark, or an even share of half of the memory where that is
  /// less.
  ///
  /// What must not be dropped stays, and is bounded for each connection alone. So that it is not gone through for
  /// every frame where that is much, a quarter more has to come before this is done again.
  func relieveQueues() {
    // What a transaction has caused can be sent when it has ended, and then it is looked at.
    guard !isInTransaction else { return }
    let memoryMax = configuration.queuesMemoryMaxBytes
    // Nothing that this causes begins it anew.
    relievedAbove = .max
    // What could be read already does not wait.
    let connections = sessions.all
    for connection in connections where !connection.isBlocked && connection.isServed {
      if !connection.queue.isEmpty { flushEarly(connection) }
    }
    let slow = connections.filter { $0.isBlocked && $0.isServed }
    let target = min(configuration.lowMarkBytes, memoryMax / 2 / max(1, slow.count))
    for connection in slow where connection.queue.byteCount > target {
      drop(from: connection, downTo: target)
    }
    relievedAbove = max(memoryMax, queuedByteCount + memoryMax / 4)
  }

  /// Has the queues relieved as soon as they pass the memory for them, where they have come back below it.
  func resetRelief() {
    let memoryMax = configuration.queuesMemoryMaxBytes
    relievedAbove = max(memoryMax, min(relievedAbove, queuedByteCount + memoryMax / 4))
  }
}
