// SPDX-License-Identifier: Apache-2.0

import TribuneServer
import TribuneSystem
import TribuneTestSupport
import TribuneWire

/// The naive model: it takes the operations in the order in which the bus read them, and accounts for each
/// connection.
///
/// A daemon that dies may not have taken the operations that it was reading. It took them if the connection
/// survives; if the client has to connect again, both are possible.
extension Life {
  // MARK: Events

  func take(_ events: [KernelEvent]) throws(Violation) {
    for event in events {
      tell(event)
      switch event {
      case .accepted(let cookie):
        guard !unaccepted.isEmpty else { throw fail("somebody was accepted who has not connected") }
        let link = unaccepted.removeFirst()
        link.cookie = cookie
        link.epoch = epoch
        link.acceptedTime = iterationBegan
      case .received(let cookie, let count): received(cookie, count)
      case .tried(let cookie):
        guard let link = link(cookie) else { continue }
        triedInIteration.append(link)
        for operation in link.untaken where operation.sentTime != .max { operation.wasHidden = true }
      case .sent(let cookie, let bytes):
        guard let link = link(cookie) else { continue }
        link.boundary.feed(bytes)
        link.isBlocked = false
        // A file can wait although the socket takes more: the number of unread files is limited.
        // Without room, any of them can wait.
        link.pendingCount = link.expected.reduce(0) {
          $0 + ($1.post.isFile || link.isLimited && !$1.isBuffered ? $1.post.size : 0)
        }
        sentLast = link
        if link.boundary.isClosing, !isTakingOver { forgetAll(of: link) }
      case .blocked(let cookie):
        link(cookie)?.isBlocked = true
        link(cookie)?.mayLose = true
        link(cookie)?.blockedAt = taken
      case .shutDown(let cookie): try shutDown(cookie)
      case .descriptorLost(cookie: 0): wasGivenLess()
      case .descriptorLost(let cookie): link(cookie)?.losesFiles = true
      case .given(let cookie): given.insert(cookie)
      case .notified(let text, let descriptors): keeping.take(text, descriptors)
      case .idle: deliverIdle(olderThan: 0)
      case .refused:
        // A daemon that takes over stores all files again, and duplicates those that wait for their frames.
        if isTakingOver {
          doubtFiles()
          for link in known where link.fate == .survives && link.isPartial && link.hasSentFile {
            link.fate = .mayEnd
          }
        }
        // A post for the end of the iteration may be retained by now.
        for post in retained + waiting where post.isFile && !post.isStored { post.isUnstorable = true }
      case .died: return
      }
    }
  }

  func link(_ cookie: UInt64) -> Link? { cookie == 0 ? nil : known.last { $0.cookie == cookie } }

  func received(_ cookie: UInt64, _ count: Int) {
    guard let link = link(cookie) else { return }
    guard count > 0 else {
      readInIteration.append((link, []))
      guard !link.isForgotten else { return }
      taken += 1
      link.endTakenAt = taken
      return forgetAll(of: link)
    }
    let wasPartial = link.isPartial
    link.takenByteCount += count
    var operations: [Operation] = []
    while let next = link.untaken.first, next.end <= link.takenByteCount, !link.isForgotten {
      link.untaken.removeFirst()
      operations.append(next)
      take(next)
    }
    // Another part of the same frame gives it no more time.
    if !wasPartial || !operations.isEmpty { link.partialSince = iterationBegan }
    // A part of an invalid frame can be enough.
    if link.isBeginningGarbage { doubtRegistrations(of: link) }
    readInIteration.append((link, operations))
  }

  func shutDown(_ cookie: UInt64) throws(Violation) {
    guard let link = link(cookie), isTakingOver, !link.isShutDown else { return }
    if link.fate == .survives, !link.isForgotten, !link.hasLeft {
      // Each daemon that died may have been about to write to one connection.
      try require(endingsExplained > 0, "link \(link.number) was not under way, and is ended by a restart")
      endingsExplained -= 1
      link.fate = .mayEnd
    }
    detach(link)
    link.isShutDown = true
  }

  /// A daemon that takes over has logged how long a connection's registrations stay.
  func detach(_ link: Link) {
    guard link.detachedUntil == nil else { return }
    link.detachedUntil = link.detachesBy ?? Kernel.now + 5_000_000_000
    link.detachedAtMost = Kernel.now + 5_000_000_000
  }

  // MARK: Operations

  func tell(_ event: KernelEvent) {
    guard Life.isTold else { return }
    func name(_ cookie: UInt64) -> String { link(cookie).map { "link \($0.number)" } ?? "nobody" }
    switch event {
    case .accepted: tell("accepts link \(unaccepted.first?.number ?? 0)")
    case .received(let cookie, let count): tell("reads \(count) bytes of \(name(cookie))")
    case .tried(let cookie): tell("has nothing to read of \(name(cookie))")
    case .sent(let cookie, let bytes): tell("sends \(bytes.count) bytes to \(name(cookie))")
    case .blocked(let cookie): tell("cannot send more to \(name(cookie))")
    case .shutDown(let cookie): tell("shuts \(name(cookie))")
    case .descriptorLost(let cookie): tell("loses a descriptor of \(name(cookie))")
    case .given(let cookie): tell("receives \(name(cookie)) from the keeper")
    case .notified(let text, let descriptors):
      tell("notifies \(text.split(separator: "\n")) \(descriptors.count)")
    case .idle: tell("is idle")
    case .refused: tell("is refused something")
    case .died: tell("dies")
    }
  }

  func take(_ operation: Operation) {
    taken += 1
    operation.takenAt = taken
    tell("  takes \(operation.text) of link \(operation.link.number)")
    operation.isTaken = true
    operation.takenTime = iterationBegan
    operation.takenBy = latestTime
    let link = operation.link
    switch operation.what {
    case .hello: link.isOnBus = true
    case .garbage:
      link.isDismissed = true
      forgetAll(of: link)
    case .post(let post): take(post)
    case .register(let registration): take(registration, operation)
    case .cancel(let target): cancel(target, of: link, operation)
    case .amend(let hold, let number): hold.takenReason = number
    case .ask(let query): take(query)
    case .answer(let question, let answer):
      question.query.answers.append((question, answer, operation))
    case .defer(let question, _): question.query.deferrals.append((question, operation))
    case .done(let post, _): post.dones.append(operation)
    case .suspend(let isSuspended):
      link.isSuspended = isSuspended
      link.suspensionChangedAt = taken
      if !isSuspended { releaseBuffered(of: link) }
    case .succeed(let old): succeed(old, by: link)
    case .list, .impersonate, .stray, .room, .pace: break
    }
  }

  private var latestTime: UInt64 { Kernel.now + (isSlow ? Self.slowNanoseconds : 0) }

  func forgetAll(of link: Link) {
    link.isForgotten = true
    for registration in link.registrations { forget(registration) }
    for query in queries where query.link === link { query.isCancelled = true }
  }

  func doubtRegistrations(of link: Link) {
    for registration in link.registrations where registration.certainty == .certain {
      registration.certainty = .possible
    }
    for index in link.expected.indices { link.expected[index].certainty = .possible }
  }

  func doubtObservations(of link: Link) {
    for registration in link.registrations
    where registration.certainty == .certain && (registration.isObservation || registration.isMonitor) {
      registration.certainty = .possible
    }
    for index in link.expected.indices { link.expected[index].certainty = .possible }
  }

  func forget(_ registration: Registration) {
    guard registration.certainty != .gone else { return }
    registration.certainty = .gone
    registration.goneAt = taken
  }

  /// The bus refused it; its client learns that later.
  func retract(_ registration: Registration) {
    forget(registration)
    let link = registration.link
    for index in link.expected.indices
    where registration.isFor(link.expected[index].post.name, link.expected[index].post.object) {
      link.expected[index].certainty = .possible
    }
    for query in queries where query.takenAt > registration.takenAt {
      for list in [\Query.delegates, \Query.holds]
      where query[keyPath: list].contains(where: { $0 === registration }) {
        query[keyPath: list].removeAll { $0 === registration }
      }
    }
  }

  func take(_ registration: Registration, _ operation: Operation) {
    let link = registration.link
    registration.takenAt = taken
    let replaced = known.flatMap(\.registrations).filter {
      $0.certainty != .gone && registration.canReplace($0) && mayReplace($0, by: link)
    }
    judgeLimit(of: registration, replacing: replaced)
    if !registration.isAction, !registration.isWaiting, mayNotRegister(link) {
      registration.refusal = .notPermitted
    }
    guard registration.refusal == nil else {
      registration.certainty = .gone
      return
    }
    registration.defaultTimeout = UInt32(setting.configuration.delegateTimeoutNanoseconds / 1_000_000)
    for other in replaced {
      operation.ended.append(other)
      // A full log may refuse it.
      if setting.isTight || registration.mayExceedLimit {
        other.certainty = .possible
      } else {
        forget(other)
      }
    }
    if case .monitor = registration.what { link.isMonitor = true }
    // An expiry in the past is refused.
    if registration.mayHaveExpired { registration.certainty = .possible }
    limit(registration, takenIn: operation.takenTime...operation.takenBy)
    registration.mayBeRefused = setting.isTight || registration.mayExceedLimit
    link.registrations.append(registration)
    if registration.isHold || registration.isDelegate {
      registration.missed = known.flatMap(\.registrations).filter {
        ($0.isAction || registration.isHold && $0.isClaim) && isCertain($0)
          && registration.isFor($0.patterns[0], $0.object)
      }
    }
    guard registration.wantsSnapshot else { return }
    // Buffered notifications precede the snapshot.
    doubtBuffered(of: link)
    for index in link.expected.indices where link.expected[index].isBuffered {
      link.expected[index].precedes = registration
    }
    for post in retained + possiblyRetained
    where registration.isFor(post.name, post.object) && mayUse(post.name, link) {
      let isCertain =
        retained.contains { $0 === post }
        && !possiblyRetained.contains { $0.isSame(as: post) }
      link.expected.append(
        Expectation(
          post: post, isSnapshot: true, certainty: .possible,
          pending: isCertain ? registration : nil))
    }
  }

  /// A connection has a limited number of delegates and holds, without those of its own that a `set` replaces. A
  /// `set` replaces a limited number.
  private func judgeLimit(of registration: Registration, replacing replaced: [Registration]) {
    guard registration.isDelegate || registration.isHold else { return }
    let limit = setting.configuration.delegatesMax
    let own = registration.link.registrations.filter { $0.certainty != .gone && ($0.isDelegate || $0.isHold) }
    let left = own.filter { one in !replaced.contains { $0 === one } }
    let certainlyReplaced = own.count { one in isCertain(one) && replaced.contains { $0 === one } }
    if left.count(where: isCertain) >= limit || replaced.count(where: isCertain) > limit {
      registration.refusal = .limitExceeded
    }
    registration.mayExceedLimit = own.count - certainlyReplaced >= limit || replaced.count > limit
  }

  func cancel(_ target: Serial, of link: Link, _ operation: Operation) {
    if let registration = link.registration(target), registration.certainty != .gone {
      operation.ended.append(registration)
      forget(registration)
    }
    if let query = queries.last(where: { $0.link === link && $0.serial == target }) {
      query.isCancelled = true
    }
    link.operation(target)?.awaitedPost?.isCancelled = true
  }

  func take(_ query: Query) {
    query.takenAt = taken
    query.takenTime = iterationBegan
    query.takenBy = latestTime
    if query.isDefault { query.deadline = UInt32(setting.configuration.deadlineNanoseconds / 1_000_000) }
    judgeNesting(of: query)
    query.lacksRequired = query.name == required && !query.mode.isForValues
    for registration in known.flatMap(\.registrations) where registration.isFor(query.name, query.object) {
      let isCertain = isCertain(registration)
      if registration.isDelegate {
        if isCertain {
          query.delegates.append(registration)
        } else if registration.certainty != .gone {
          query.possibleDelegates.append(registration)
        }
      } else if registration.isAction || registration.isWaiting, query.slots > 0 {
        if isCertain, registration.isAction || isAhead(registration, of: query) {
          query.occupants.append(registration)
        }
      } else if registration.isHold, !query.mode.isForValues {
        if isPassed(registration, by: query) {
          query.passedHolds.append(registration)
        } else if isCertain, claims(of: query, before: registration).isEmpty {
          query.holds.append(registration)
        } else if registration.certainty != .gone {
          query.possibleHolds.append(registration)
        }
      }
    }
  }

  func isCertain(_ registration: Registration) -> Bool {
    guard registration.isKnown else { return false }
    if let until = registration.link.detachedUntil, until <= Kernel.now { return false }
    return !registration.mayHaveExpired
  }

  func succeed(_ old: Link, by link: Link) {
    guard !old.isForgotten else { return }
    // They are reported to its successor or received there, unless the successor was too late.
    let isInTime = old.detachedUntil.map { $0 > Kernel.now } ?? true
    for entry in old.expected {
      link.expected.append(entry.inherited)
      if !isInTime { link.expected[link.expected.count - 1].certainty = .possible }
    }
    link.lostCount += old.lostCount
    link.mayLose = true
    // The copies for the old connection count.
    if old.isMonitor { link.isMonitor = true }
    if old.isFollower { link.isFollower = true }
    old.expected = []
    old.isSucceeded = true
    counts.succeeded += 1
    forgetAll(of: old)
  }

  // MARK: Time

  /// The bus may close a connection whose frame is incomplete for a minute.
  func doubtThoseWhoStopped() {
    for link in known where link.isPartial && link.partialSince + 60_000_000_000 <= Kernel.now {
      doubtRegistrations(of: link)
    }
  }

  func pastDeadlines() {
    checks.append(Kernel.now)
    deliverIdle(olderThan: 1_000_000_000)
    doubtThoseWhoStopped()
    for link in known {
      if link.detachedAtMost <= Kernel.now, !link.isForgotten { forgetAll(of: link) }
      for registration in link.registrations where registration.hasExpired { forget(registration) }
    }
  }
}

extension Registration {
  var isAwaited: Bool { if case .observation(_, let isAwaited) = what { isAwaited } else { false } }
}
