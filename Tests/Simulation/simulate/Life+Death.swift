// SPDX-License-Identifier: Apache-2.0

import TribuneServer
import TribuneSystem
import TribuneTestSupport
import TribuneWire

extension Life {
  /// The input that the dead daemon was reading is in doubt, and the connection that it was writing to may end.
  ///
  /// `mayHaveHandedOver`: the next daemon may have the buffered notifications.
  func daemonDied(mayHaveHandedOver: Bool = false) {
    diedAt = taken
    doubtThoseWhoStopped()
    let reading = readInIteration.last
    // It may not have logged the end of a connection.
    if let link = reading?.link, link.isForgotten, link.endTakenAt == taken { revive(link, since: taken) }
    // A daemon that died during its take-over may have detached a connection without shutting it.
    for link in known
    where isTakingOver && (link.fate != .survives || endingsExplained > 0) && link.detachesBy == nil {
      link.detachesBy = Kernel.now + 5_000_000_000
    }
    // A daemon that received less than the keeper has may have detached the rest.
    for link in known
    where isTakingOver && isGivenLess && link.fate == .survives && !given.contains(link.cookie) {
      link.fate = .mayEnd
    }
    // Treat posts for the end of its iteration as delivered: only then do their posters survive.
    undelivered += waiting.filter { $0.style == .asSoonAsPossible }
    deliverSoon()
    for link in known { (link.watchedCount, link.mayLose) = (0, true) }
    // Buffered notifications are lost and reported, unless another daemon can take them over again.
    for link in known {
      if isHandedOver || mayHaveHandedOver { doubtBuffered(of: link) } else { loseBuffered(of: link) }
    }
    for link in known where !link.isForgotten && link.cookie != 0 && link.detachedUntil == nil {
      if !keeping.has(cookie: link.cookie) {
        endUnkept(link)
      } else if link.fate != .ends {
        let isRead =
          readInIteration.contains { $0.link === link } || triedInIteration.contains { $0 === link }
        // Only a complete hand-over keeps connections without a hello.
        if isRead || !link.isOnBus || link.isLate(at: Kernel.now) || link.isPartial || link.isBlocked
          || link.boundary.isMidFrame
          || link === sentLast
          || link.isLongListed
          || setting.isTight
          // The bus does not log control frames for a connection with much unread output.
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

  /// A file that the keeper lacks may be lost with the daemon.
  func doubtUnstored() {
    possiblyRetained += retained.filter { $0.isFile && !$0.isStored }
    retained.removeAll { $0.isFile && !$0.isStored }
  }

  func handedOver(isWhole: Bool) throws(Violation) {
    guard isWhole else { return daemonDied(mayHaveHandedOver: true) }
    for link in known
    where setting.keepsAll && link.cookie != 0 && !link.isForgotten && !link.hasLeft
      && link.detachedUntil == nil && !link.isLate(at: Kernel.now)
      && !link.isBeginningGarbage
    {
      try require(keeping.has(cookie: link.cookie), "link \(link.number) was not handed over")
    }
    doubtUnstored()
    isHandedOver = true
    // If the log has no room for an observation, its client has to connect again.
    for link in known where setting.isTight && link.fate == .survives && link.detachedUntil == nil {
      link.fate = .mayEnd
    }
    // A connection without a socket hands nothing over.
    for link in known where link.detachedUntil != nil { loseBuffered(of: link) }
  }

  func judgeMissing() throws(Violation) {
    // A bus that finds no log begins empty.
    if !keeping.hasLog {
      try require(!keeping.mustHaveLog, "the bus has taken its log out of the store")
      for link in known where link.cookie != 0 { link.fate = .ends }
      for link in known {
        link.detachesBy = nil
        if link.detachedUntil != nil { forgetAll(of: link) }
      }
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
    // A keeper that has waited too long drops its files.
    if !keeping.keeperHasLog {
      doubtFiles()
      doubtUnstored()
    }
    keepUnlogged { keeping.has(cookie: $0) }
  }

  /// The bus may not have logged the endings that it caused. Without its connection, such a client's registrations
  /// stay until it had time to connect again.
  private func keepUnlogged(unless hasConnection: (UInt64) -> Bool) {
    for (link, _) in doubtful where link.isForgotten && keeping.hasLog && !hasConnection(link.cookie) {
      link.detachesBy = link.detachesBy ?? Kernel.now + 5_000_000_000
    }
  }

  /// Neither keeper nor systemd has the connection. Its log entries stay until the client had time to connect again.
  private func endUnkept(_ link: Link) {
    link.fate = .ends
    if keeping.hasLog, !link.registrations.isEmpty || mayAct(link), link.detachesBy == nil {
      link.detachesBy = Kernel.now + 5_000_000_000
    }
  }

  func wasGivenLess() {
    isGivenLess = true
    doubtFiles()
    doubtUnstored()
  }

  func tookOver() {
    (tookOverTime, tookOverAt) = (Kernel.now, taken)
    for link in known
    where !link.isForgotten && link.cookie != 0 && link.detachedUntil == nil && link.fate != .ends
      && !given.contains(link.cookie)
    {
      endUnkept(link)
    }
    keepUnlogged { given.contains($0) }
    tell(
      "a daemon has taken over: \(known.filter { !$0.isForgotten }.map { "\($0.number) \($0.fate)\($0.isShutDown ? " shut" : "")" })"
    )
    for link in known where !link.isForgotten {
      switch link.fate {
      case .survives: link.detachesBy = nil
      case .ends:
        guard link.detachesBy != nil else {
          forgetAll(of: link)
          continue
        }
        // An incomplete take-over, or one with a full log, may have left them out.
        if setting.isTight || endingsExplained > 1
          || !link.registrations.contains(where: { $0.certainty == .certain })
        {
          doubtRegistrations(of: link)
        }
        detach(link)
      case .mayEnd:
        guard !link.isShutDown else { continue }
        link.fate = .survives
        link.detachesBy = nil
      }
    }
    for (link, operations) in doubtful where link.isShutDown || link.isForgotten || link.fate == .ends {
      for operation in operations { doubt(operation) }
    }
    doubtful = []
    for post in undelivered where post.link.isShutDown || post.link.isForgotten || post.link.fate == .ends {
      doubt(post)
    }
    undelivered = []
    endingsExplained = 0
    isHandedOver = false
    for link in known where link.isShutDown {
      // The log may have had no room for its observations.
      if setting.isTight { doubtObservations(of: link) }
      for query in queries where query.link === link { query.isCancelled = true }
    }
  }

  func revive(_ link: Link, since moment: Int) {
    link.isForgotten = false
    link.isDismissed = false
    for registration in link.registrations where registration.goneAt >= moment && registration.goneAt < .max {
      registration.certainty = .possible
      registration.goneAt = .max
    }
  }

  func doubt(_ operation: Operation) {
    operation.certainty = .possible
    for registration in operation.ended {
      registration.certainty = .possible
      registration.goneAt = .max
    }
    switch operation.what {
    case .register(let registration):
      if registration.certainty == .certain { registration.certainty = .possible }
      let link = registration.link
      for index in link.expected.indices where registration.wantsSnapshot && link.expected[index].isSnapshot {
        link.expected[index].certainty = .possible
      }
    case .post(let post): doubt(post)
    case .suspend: operation.link.isSuspended = nil
    case .succeed(let old):
      for index in operation.link.expected.indices { operation.link.expected[index].certainty = .possible }
      // The old connection may still have its registrations.
      revive(old, since: operation.takenAt)
    case .garbage:
      let link = operation.link
      // A connection that has not said hello has no registrations to keep.
      guard link.isOnBus, link.detachedUntil != nil || link.detachesBy != nil else { break }
      detach(link)
      revive(link, since: operation.takenAt)
      doubtRegistrations(of: link)
    case .hello, .ask, .cancel, .amend, .answer, .defer, .done, .list, .impersonate, .stray, .room,
      .pace:
      break
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
        if post.hasReplaced, (post.displaced + [post]).allSatisfy({ !$0.isFile || $0.isStored }) {
          retainedOrReplaced.append(post)
        }
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
