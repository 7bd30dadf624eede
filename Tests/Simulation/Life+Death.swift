// SPDX-License-Identifier: Apache-2.0

import TribuneServer
import TribuneSystem
import TribuneTestSupport
import TribuneWire

/// What is doubtful when a daemon dies, and what is certain again when the next one has taken over.
extension Life {
  /// A daemon has died: what it was just reading is doubtful, and who it was speaking with may have to connect again.
  ///
  /// - Parameter handedOver: it has handed over, though not everything: the next one may have what was buffered.
  func noteDeath(handedOver: Bool = false) {
    diedAt = taken
    let reading = readInIteration.last
    // It may not have come to note that a connection has ended.
    if let link = reading?.link, link.isForgotten, link.endTakenAt == taken { revive(link, since: taken) }
    // A daemon that died while it took over may have come to detach a connection, and not to shut it.
    for link in known
    where isTakingOver && (link.fate != .survives || endingsExplained > 0) && link.detachesBy == nil {
      link.detachesBy = Kernel.now + 5_000_000_000
    }
    // What was to be delivered when it had read all: who posted it survives only if that is done.
    undelivered += waiting.filter { $0.style == .asSoonAsPossible }
    deliverSoon()
    // What was being told to those who watch is in doubt.
    for link in known { (link.watchedCount, link.mayLose) = (0, true) }
    // What is held is lost with it, and told, unless another daemon can take it over once more.
    for link in known {
      if isHandedOver || handedOver { doubtBuffered(of: link) } else { loseBuffered(of: link) }
    }
    for link in known where !link.isForgotten && link.cookie != 0 && link.detachedUntil == nil {
      if !keeping.has(cookie: link.cookie) {
        endUnkept(link)
      } else if link.fate != .ends {
        let isRead =
          readInIteration.contains { $0.link === link } || triedInIteration.contains { $0 === link }
        // Who has not said hello is kept by a hand-over alone, which was not to its end.
        if isRead || !link.isOnBus || link.isLate(at: Kernel.now) || link.isPartial || link.isBlocked
          || link.boundary.isMidFrame
          || link === sentLast
          || link.isLongListed
          || setting.isTight
          // What is told to who has much to read is not written down.
          || link.pendingCount > setting.configuration.queue.highMarkBytes / 2 || link.fate == .mayEnd
        {
          link.fate = .mayEnd
        }
      }
    }
    if isSlow { doubtful += readInIteration } else if let reading { doubtful.append(reading) }
    doubtUnstored()
    for post in idleDelivered {
      doubt(post)
      waiting.append(post)
    }
    waiting.sort { $0.takenAt < $1.takenAt }
  }

  /// A file that nobody has stored may be gone with the daemon.
  func doubtUnstored() {
    possiblyRetained += retained.filter { $0.isFile && !$0.isStored }
    retained.removeAll { $0.isFile && !$0.isStored }
  }

  func noteHandOver(isWhole: Bool) throws(Violation) {
    guard isWhole else { return noteDeath(handedOver: true) }
    for link in known
    where setting.keepsAll && link.cookie != 0 && !link.isForgotten && !link.isClosed
      && link.detachedUntil == nil && !link.isLate(at: Kernel.now)
      && !link.isBeginningGarbage
    {
      try require(keeping.has(cookie: link.cookie), "link \(link.number) was not handed over")
    }
    doubtUnstored()
    isHandedOver = true
    // Who observes what had no room in the log has to connect again.
    for link in known where setting.isTight && link.fate == .survives && link.detachedUntil == nil {
      link.fate = .mayEnd
    }
    // Nothing is handed over of who has no socket.
    for link in known where link.detachedUntil != nil { loseBuffered(of: link) }
  }

  /// A daemon is about to start: what systemd has lost by now is not there.
  func noteMissing() throws(Violation) {
    // A bus that finds nothing begins anew.
    if !keeping.hasLog {
      try require(!keeping.mustHaveLog, "the bus has taken its log out of the store")
      for link in known where link.cookie != 0 { link.fate = .ends }
      for link in known where link.detachedUntil != nil { forgetAll(of: link) }
      (retained, possiblyRetained, retainedOrReplaced, waiting) = ([], [], [], [])
      epoch += 1
      isHandedOver = false
    }
    for link in known
    where !link.isForgotten && link.cookie != 0 && link.detachedUntil == nil
      && !keeping.has(cookie: link.cookie)
    {
      endUnkept(link)
    }
    // A keeper that waited for too long has no files any more either.
    if !keeping.keeperHasLog {
      doubtFiles()
      doubtUnstored()
    }
    // What the bus has ended it may not have written down.
    for (link, _) in doubtful where link.isForgotten && !keeping.has(cookie: link.cookie) {
      link.detachesBy = link.detachesBy ?? Kernel.now + 5_000_000_000
    }
  }

  /// Nobody keeps its connection. What the log has of it stands until its client had time to connect again.
  private func endUnkept(_ link: Link) {
    link.fate = .ends
    if keeping.hasLog, !link.registrations.isEmpty, link.detachesBy == nil {
      link.detachesBy = Kernel.now + 5_000_000_000
    }
  }

  /// A daemon has taken over.
  func tookOver() {
    tookOverTime = Kernel.now
    tell(
      "a daemon has taken over: \(known.filter { !$0.isForgotten }.map { "\($0.number) \($0.fate)\($0.isShut ? " shut" : "")" })"
    )
    for link in known where !link.isForgotten {
      switch link.fate {
      case .survives: link.detachesBy = nil
      case .ends:
        guard link.detachesBy != nil else {
          forgetAll(of: link)
          continue
        }
        doubtRegistrations(of: link)
        detach(link)
      case .mayEnd:
        guard !link.isShut else { continue }
        link.fate = .survives
        link.detachesBy = nil
      }
    }
    for (link, operations) in doubtful where link.isShut || link.isForgotten || link.fate == .ends {
      for operation in operations { doubt(operation) }
    }
    doubtful = []
    for post in undelivered where post.link.isShut || post.link.isForgotten || post.link.fate == .ends {
      doubt(post)
    }
    undelivered = []
    endingsExplained = 0
    isHandedOver = false
    for link in known where link.isShut {
      // What it observed may have had no room in the log.
      if setting.isTight { doubtObservations(of: link) }
      for query in queries where query.link === link { query.isCancelled = true }
    }
  }

  /// It is not known whether the bus has taken a connection's end, which came then.
  func revive(_ link: Link, since moment: Int) {
    link.isForgotten = false
    link.isDismissed = false
    for registration in link.registrations where registration.goneAt >= moment && registration.goneAt < .max {
      registration.certainty = .possible
      registration.goneAt = .max
    }
  }

  /// It is not known whether this was taken.
  func doubt(_ operation: Operation) {
    operation.certainty = .possible
    for registration in operation.ended {
      registration.certainty = .possible
      registration.goneAt = .max
    }
    switch operation.what {
    case .register(let registration):
      if registration.certainty == .certain { registration.certainty = .possible }
      for post in registration.deliveredBefore { doubt(post) }
      let link = registration.link
      for index in link.expected.indices where registration.wantsSnapshot && link.expected[index].isSnapshot {
        link.expected[index].certainty = .possible
      }
    case .post(let post): doubt(post)
    case .suspend: operation.link.isSuspended = nil
    case .succeed(let old):
      for index in operation.link.expected.indices { operation.link.expected[index].certainty = .possible }
      // It may stand where it stood.
      revive(old, since: operation.takenAt)
    case .garbage:
      // It may go on where it was.
      let link = operation.link
      // Who has not said hello has nothing that could stand.
      guard link.isOnBus, link.detachedUntil != nil || link.detachesBy != nil else { break }
      detach(link)
      revive(link, since: operation.takenAt)
      doubtRegistrations(of: link)
    case .hello, .ask, .cancel, .answer, .defer, .done, .list, .impersonate, .stray: break
    }
  }

  func doubt(_ post: Posting) {
    post.certainty = .possible
    for link in known {
      for index in link.expected.indices where link.expected[index].post === post {
        link.expected[index].certainty = .possible
      }
    }
    if post.options.contains(.retain) {
      if retained.contains(where: { $0 === post }) {
        retained.removeAll { $0 === post }
        possiblyRetained.append(post)
        if post.hasReplaced, !post.isFile || post.isStored { retainedOrReplaced.append(post) }
      }
      possiblyRetained += post.displaced
    }
    for other in post.replaced {
      other.certainty = .possible
      waiting.append(other)
    }
    waiting.sort { $0.takenAt < $1.takenAt }
  }
}
