// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Controls the flow to slow observers, and from their posters.
///
/// If an observer's unread bytes pass the high mark, the observer is *paced*: the bus does not read from its
/// posters. If the unread bytes stay above the low mark for too long, the observer becomes *lossy*: the bus
/// drops its oldest notifications, reports their number in a `lost` frame, and reads from the posters again.
/// The observer is lossy until its unread bytes fall below the low mark. An observer becomes lossy at once if
/// the bus can pause no poster, or if the observer's user exceeds the user's share of unread bytes. The same
/// happens if this user has delayed other users' posters for too long.
///
/// A *patient* poster waits without a time limit. While such a poster waits for an observer, or has unsent
/// notifications in the observer's queue, the observer loses new notifications of posters that do not wait,
/// instead of queued ones.
extension Sender {
  // MARK: Pacing

  func pace(_ poster: Session, for observer: Session) {
    if observer.pacing.isFlowing {
      observer.pacing.flow = .pacing(since: context.now, isOver: false)
      scheduleCheck(
        of: observer, at: context.now.advanced(byNanoseconds: context.configuration.queue.paceMaxNanoseconds))
    }
    pause(poster, for: observer)
  }

  func pause(_ poster: Session, for observer: Session) {
    // All frames of one read have the same poster, so the poster that was paused last is compared first.
    guard observer.pacing.pausedPosters.last !== poster,
      !observer.pacing.pausedPosters.contains(where: { $0 === poster })
    else { return }
    observer.pacing.pausedPosters.removeAll(where: \.isClosed)
    observer.pacing.pausedPosters.append(poster)
    pauseReading(poster)
  }

  func mayPace(_ poster: Session, for observer: Session) -> Bool {
    observer.account === poster.account || poster.output.flags.pace > 0
      || observer.user.pauses.value.hasTime(at: context.now)
  }

  private func countPause(for observer: Session) {
    guard case .pacing(let since, isOver: false) = observer.pacing.flow,
      observer.pacing.pausedPosters.contains(where: { $0.account !== observer.account })
    else { return }
    let most = context.configuration.queue.paceMaxNanoseconds
    observer.user.pauses.value.take(nanoseconds: min(most, context.now.nanoseconds(since: since)))
  }

  func mayWait(_ poster: Session, since: Instant) -> Bool {
    let waited = context.now.nanoseconds(since: since)
    if poster.output.isPatient { return true }
    guard poster.output.flags.pace > 0, poster.output.backlog.isEmpty else {
      return waited < context.configuration.queue.paceMaxNanoseconds
    }
    return waited < UInt64(poster.output.flags.pace) * 1_000_000
  }

  func checkPacing(of observer: Session) {
    guard observer.isOpen, let check = observer.pacing.nextCheck, check <= context.now else { return }
    observer.pacing.nextCheck = nil
    switch observer.pacing.flow {
    case .flowing: break
    case .pacing(let since, let isOver):
      let end = since.advanced(byNanoseconds: context.configuration.queue.paceMaxNanoseconds)
      // The observer can have caught up and fallen behind again, or a reload can have raised `PaceMaxSec=`.
      guard isOver || end <= context.now else { return scheduleCheck(of: observer, at: end) }
      guard
        observer.pacing.pausedPosters.contains(where: { mayWait($0, since: since) })
          || observer.output.holdsForPatient
      else {
        becomeLossy(observer)
        return drop(from: observer, downTo: context.configuration.queue.highMarkBytes)
      }
      countPause(for: observer)
      observer.pacing.flow = .pacing(since: since, isOver: true)
      resumePosters(of: observer, unless: { mayWait($0, since: since) })
      scheduleCheck(of: observer)
    case .lossy:
      resumePosters(of: observer, unless: { $0.output.isPatient })
      if !observer.pacing.pausedPosters.isEmpty { scheduleCheck(of: observer) }
    }
  }

  /// Reads again from those of the observer's paused posters for which `waits` returns false.
  private func resumePosters(of observer: Session, unless waits: (Session) -> Bool) {
    let posters = observer.pacing.pausedPosters
    observer.pacing.pausedPosters = posters.filter { !$0.isClosed && waits($0) }
    for poster in posters where poster.isClosed || !waits(poster) { resumeReading(poster) }
  }

  /// The shortest time between two checks, whatever `PaceMaxSec=` is. Without it, `PaceMaxSec=0` would make
  /// each check due at once again.
  private static let checkNanosecondsMin: UInt64 = 10_000_000

  /// Schedules the next check of the posters that wait for this observer. While the observer is lossy, such a
  /// poster may get a backlog itself: it is then no longer patient (`Output.isPatient`), and must not stay
  /// paused.
  ///
  /// - Parameter due: nil for one `PaceMaxSec=` from now.
  func scheduleCheck(of observer: Session, at due: Instant? = nil) {
    let span = max(context.configuration.queue.paceMaxNanoseconds, Self.checkNanosecondsMin)
    let due = due ?? context.now.advanced(byNanoseconds: span)
    // The timeout of a later check stays, and finds nothing to do (`checkPacing`).
    if let next = observer.pacing.nextCheck, next <= due { return }
    observer.pacing.nextCheck = due
    context.timeouts.value.insert(.pace, observer.token, due: due)
  }

  func endPacing(of observer: Session) {
    countPause(for: observer)
    if observer.pacing.isLossy { observer.pacing.lossyTimes.end(at: context.now) }
    if !observer.pacing.isFlowing { observer.pacing.flow = .flowing }
    releasePosters(of: observer)
  }

  private func releasePosters(of observer: Session) {
    while let poster = observer.pacing.pausedPosters.popLast() {
      resumeReading(poster)
    }
  }

  private func pauseReading(_ session: Session) {
    session.pacing.pauseCount += 1
    guard session.pacing.pauseCount == 1 else { return }
    session.pacing.pauses.begin(at: context.now)
    loop.updateInterest(of: session)
  }

  private func resumeReading(_ session: Session) {
    session.pacing.pauseCount -= 1
    guard session.pacing.pauseCount == 0 else { return }
    session.pacing.pauses.end(at: context.now)
    // The time for a partial frame starts anew, because the bus did not read the rest during the pause.
    session.input.partialSince = context.now
    loop.updateInterest(of: session)
  }

  // MARK: Losing

  func drop(
    from observer: Session, downTo target: Int, isAnnounced: Bool = true, dropsSnapshots: Bool = false
  ) {
    let lost = observer.output.lostCount
    var dropped: UInt64 = 0
    changeOutput(of: observer) { output in
      dropped = output.dropOldest(downTo: target, dropsSnapshots: dropsSnapshots)
    }
    guard dropped > 0 else { return }
    context.statistics.value.lost += dropped
    events.value.append(.lost(dropped, observer))
    if !observer.pacing.isLossy { becomeLossy(observer, havingLost: lost, isAnnounced: isAnnounced) }
  }

  /// - Parameter lost: the observer's total losses before it became lossy; nil for its current total.
  private func becomeLossy(_ observer: Session, havingLost lost: UInt64? = nil, isAnnounced: Bool = true) {
    countPause(for: observer)
    observer.pacing.flow = .lossy(
      lostBefore: lost ?? observer.output.lostCount, isAnnounced: isAnnounced)
    observer.pacing.lossyTimes.begin(at: context.now)
    releasePosters(of: observer)
    if context.mayLog(.losses, about: observer.peer.uid) {
      context.log.write(
        .warning,
        "\(observer.peer.summary) on connection \(observer.id) does not read: its oldest notifications are dropped",
        observer.journalFields, for: observer.peer.uid)
    }
    events.value.append(.becameLossy(observer, isAnnounced: isAnnounced))
  }

  func recover(_ observer: Session) {
    let flow = observer.pacing.flow
    endPacing(of: observer)
    guard observer.isOpen, case .lossy(let lostBefore, let isAnnounced) = flow else { return }
    let lost = observer.output.lostCount - lostBefore
    if context.mayLog(.losses, about: observer.peer.uid) {
      context.log.write(
        .notice,
        "\(observer.peer.summary) on connection \(observer.id) reads again, and has lost \(lost.counted("notification"))",
        observer.journalFields("TRIBUNE_LOST", "\(lost)"), for: observer.peer.uid)
    }
    if isAnnounced { events.value.append(.recovered(observer, lost: lost)) }
  }

  // MARK: Limits

  /// In bytes. The bus flushes a longer queue before the iteration ends, to free space for questions.
  var softLimit: Int { context.configuration.queue.hardLimitBytes / 8 }

  /// One iteration can cause unlimited replies and questions, so the limits apply even within an iteration.
  func limitQueue(of session: Session, isNotification: Bool) {
    if !isNotification, !session.output.isBlocked {
      if overSoftLimit.value.last !== session { overSoftLimit.value.append(session) }
    } else {
      applyHardLimit(to: session)
    }
  }

  func applyHardLimit(to session: Session) {
    let hardLimit = context.configuration.queue.hardLimitBytes
    guard session.output.unreadByteCount > hardLimit else { return }
    if !session.pacing.isFlowing || session.output.isHeld {
      drop(from: session, downTo: context.configuration.queue.highMarkBytes)
    }
    if session.output.queue.byteCount > hardLimit, session.output.isBlocked {
      sessions.dismissLater(
        session,
        WireError(
          .tooSlow,
          "\(session.output.queue.byteCount) unread bytes exceed the limit of \(hardLimit) (HardLimit=)"))
    }
  }

  @inline(__always) var isOverLimits: Bool {
    queuedByteCount > relievedAbove || !overSoftLimit.value.isEmpty || !overShare.value.isEmpty || isOverTotal
  }

  /// Must not be called within a transaction, because a flush would send uncommitted effects.
  func relieve() {
    while let session = overSoftLimit.value.popLast() {
      guard session.isServed, session.output.queue.byteCount > softLimit else { continue }
      if !session.output.isBlocked { flush(session) }
      applyHardLimit(to: session)
    }
    if queuedByteCount > relievedAbove { flushAll() }
    while let user = overShare.value.popLast() { relieve(user) }
    if isOverTotal { relieveTotal() }
  }

  /// Called before any drops, because frames that the kernel takes at once need not be dropped.
  private func flushAll() {
    for session in sessions.all where !session.output.isBlocked && session.isServed {
      if !session.output.queue.isEmpty { flush(session) }
    }
    let memoryMax = context.configuration.queue.memoryMaxBytes
    relievedAbove = max(memoryMax, queuedByteCount + memoryMax / 4)
  }

  func resetRelief() {
    let memoryMax = context.configuration.queue.memoryMaxBytes
    relievedAbove = max(memoryMax, min(relievedAbove, queuedByteCount + memoryMax / 4))
  }

  // MARK: Shares

  @inline(__always) func chargeQueue(of session: Session) {
    var change = session.output.byteCount - session.output.chargedByteCount
    if session.speaksVarlink { change += session.varlink?.unsentCount ?? 0 }
    if change != 0 { chargeQueue(of: session, change) }
  }

  private func chargeQueue(of session: Session, _ change: Int) {
    let (user, account) = (session.user, session.account)
    session.output.chargedByteCount += change
    accounts.charge(change, of: .queues, to: account)
    let use = account.use(of: .queues)
    if change < 0 {
      user.relievedAbove = min(user.relievedAbove, use + reliefStep)
    } else if use > user.relievedAbove, accounts.isOverShare(of: .queues, account),
      overShare.value.last !== user
    {
      overShare.value.append(user)
    }
    if change < 0 {
      totalRelievedAbove = min(totalRelievedAbove, accounts.used(.queues) + reliefStep)
    } else if accounts.used(.queues) > max(totalMax, totalRelievedAbove), unreadByteCountOfUsers > totalMax {
      isOverTotal = true
    }
  }

  /// In bytes. If all unprivileged users together have more unread bytes than this, the bus closes some of
  /// their connections.
  private var totalMax: Int { accounts.total(of: .queues) / 8 * 7 }

  private var unreadByteCountOfUsers: Int { accounts.used(.queues) - accounts.usedByPrivileged(.queues) }

  private var reliefStep: Int { context.configuration.queue.memoryMaxBytes / 64 }

  /// Frees memory of a user that exceeds its share of unread bytes.
  ///
  /// First, the bus drops notifications for the user's slow observers. If the user still exceeds its share,
  /// the bus stops reading from the user's connections with many unread control frames. If the unread bytes
  /// exceed a lone user's share by over an eighth of `MemoryMax=`, the bus closes some of the user's slow
  /// connections.
  func relieve(_ user: User) {
    let account = user.account
    let share = accounts.share(of: .queues, for: account)
    let slow = slowSessions(of: account)
    let target = min(context.configuration.queue.lowMarkBytes, share / 2 / max(1, slow.count))
    for session in slow where session.output.byteCount > target {
      drop(from: session, downTo: target, dropsSnapshots: true)
    }
    user.relievedAbove = account.use(of: .queues) + reliefStep
    guard account.use(of: .queues) > share else { return }
    // A client that the bus does not read from cannot raise its limit on notifications. Its queue drains all
    // the same, because the limit holds back only the backlog.
    for session in slow where !session.output.holdsInput && session.output.queue.byteCount > target {
      session.output.holdsInput = true
      pauseReading(session)
    }
    let alone = accounts.loneShare(of: .queues, for: account)
    guard account.use(of: .queues) > alone + accounts.total(of: .queues) / 8 else { return }
    // The largest connection stays: `HardLimit=` bounds its queue, and its client possibly reads a long list.
    let most = slow.reduce(0) { max($0, $1.output.byteCount) }
    closeLargest(of: slow, account, downTo: alone + most, skipping: 1)
  }

  private func slowSessions(of account: UserAccount) -> [Session] {
    sessions.all.filter { $0.account === account && $0.output.isHeld && $0.isServed }
  }

  /// Closes slow connections of the largest users that exceed their shares. `relieve` tolerates some excess
  /// of each user, so many users together could exceed the total.
  private func relieveTotal() {
    isOverTotal = false
    totalRelievedAbove = accounts.used(.queues) + reliefStep
    let target = accounts.total(of: .queues) / 16 * 13
    let users = accounts.nonEmpty.filter { !$0.isPrivileged }.sorted {
      $0.use(of: .queues) > $1.use(of: .queues)
    }
    var left = unreadByteCountOfUsers
    for account in users where left > target && accounts.isOverShare(of: .queues, account) {
      let slow = slowSessions(of: account)
      left -= closeLargest(of: slow, account, downTo: max(0, account.use(of: .queues) - (left - target)))
    }
  }

  /// - Parameter skipped: how many of the largest connections to spare.
  /// - Returns: the number of freed bytes.
  @discardableResult
  private func closeLargest(
    of slow: [Session], _ account: UserAccount, downTo target: Int, skipping skipped: Int = 0
  ) -> Int {
    let byLength = slow.sorted { $0.output.byteCount > $1.output.byteCount }
    let use = account.use(of: .queues)
    var left = use
    for session in byLength.dropFirst(skipped) where left > target {
      let length = session.output.byteCount
      left -= length
      sessions.closeLater(session)
      guard context.mayLog(.losses, about: session.peer.uid) else { continue }
      context.log.write(
        .warning,
        "connection \(session.id) of \(session.peer.summary) is closed: \(length) bytes are unread there, and its user has "
          + "more than its share (MemoryMax=)", session.journalFields, for: session.peer.uid)
    }
    return use - left
  }

  func takeInputAgain(from session: Session) {
    guard session.output.queue.isEmpty || !accounts.isOverShare(of: .queues, session.account) else { return }
    session.output.holdsInput = false
    resumeReading(session)
  }
}
