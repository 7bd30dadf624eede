// SPDX-License-Identifier: Apache-2.0

import TribuneTestSupport
import TribuneWire

/// The accounts that must be even when all is at rest.
extension Life {
  func balanceAccounts(isFinal: Bool) throws(Violation) {
    for link in links.compactMap({ $0 }) where link.isOpen && link.cookie != 0 {
      try require(
        !link.isForgotten, "the bus knows nothing of link \(link.number) any more, and has not ended it")
      try require(link.detachedUntil == nil, "link \(link.number) has to connect again, and was not ended")
      let since = max(link.isOnBus ? link.partialSince : link.acceptedTime, tookOverTime)
      try require(
        !link.isLate(at: Kernel.now) || since + (link.isOnBus ? 61_000_000_000 : 11_000_000_000) > Kernel.now,
        "link \(link.number) has not said in time what it began to say, and was not ended")
    }
    for link in links.compactMap({ $0 }) where !link.hasEnded && !link.isForgotten && link.isOnBus {
      try require(link.id != 0, "link \(link.number) was not welcomed")
      try balanceNotifications(of: link)
      for operation in link.operations where operation.isTaken && operation.awaitsReply {
        if case .ask(let query) = operation.what, query.due > Kernel.now {
          try require(!isDecided(query), "query \(query.number) has heard everybody, and has no verdict")
          if operation.certainty == .certain,
            let idle = query.delegates.first(where: { isIdle($0, in: query) })
          {
            throw fail("r\(idle.number) has no question, and was not asked query \(query.number)")
          }
          continue
        }
        if case .post(let post) = operation.what,
          operation.takenBy + UInt64(post.deadline) * 1_000_000 > Kernel.now
        {
          continue
        }
        throw fail("link \(link.number) was not answered to \(operation.serial): \(operation.what)")
      }
      for question in link.questions
      where question.conclusion == nil && question.registration.certainty == .certain {
        try require(
          question.query.verdict == nil && question.query.due > Kernel.now && !isFinal,
          "link \(link.number) did not hear how query \(question.query.number) ended")
      }
      for question in link.questions {
        guard let verdict = question.query.verdict, let conclusion = question.conclusion else { continue }
        let expected: ConclusionKind = verdict.verdict == .allowed ? .allowed : .vetoed
        try require(
          conclusion == expected,
          "link \(link.number) heard that query \(question.query.number) was \(conclusion), and it was \(expected)"
        )
      }
    }
    for query in queries {
      guard let verdict = query.verdict, verdict.verdict == .allowed, !verdict.isOverridden,
        !query.mode.isForValues
      else { continue }
      for (question, answer, operation) in query.answers
      where answer == .veto && operation.certainty == .certain && !operation.isRefused
        && !question.registration.link.hasEnded && !question.registration.link.hasLeft
      {
        throw fail("the veto of r\(question.registration.number) on query \(query.number) did nothing")
      }
    }
    for (post, count) in acknowledged {
      let least = post.dones.count {
        guard case .done(_, hasFailed: false) = $0.what else { return false }
        return $0.certainty == .certain && !$0.isRefused && $0.takenBy < post.due && $0.link.isOpen
      }
      try require(
        least <= count, "\(least) are done with post \(post.number), and its poster was told of \(count)")
    }
    acknowledged = []
  }

  private func isIdle(_ delegate: Registration, in query: Query) -> Bool {
    let link = delegate.link
    return !query.mode.isSequential && !query.isCancelled
      && query.takenBy + Self.slowNanoseconds / 4 <= Kernel.now
      && Kernel.now < query.due(of: delegate) && delegate.certainty == .certain && link.isOnBus
      && !link.hasEnded && !link.isForgotten
      && !link.questions.contains { $0.query === query || $0.conclusion == nil && !$0.isAnswered }
  }

  private func isDecided(_ query: Query) -> Bool {
    query.possibleDelegates.isEmpty
      && query.delegates.allSatisfy { one in
        one.certainty == .gone
          || query.answers.contains { $0.question.registration === one && $0.operation.certainty == .certain }
          // An answer may lie behind what the bus has not read, for example of a paused poster.
          || !query.mode.isSequential && query.deferrals.isEmpty && one.link.untaken.isEmpty
            && query.due(of: one) + Self.slowNanoseconds <= Kernel.now
      }
  }

  func balanceNotifications(of link: Link) throws(Violation) {
    if link.watchedCount > 0, link.registrations.contains(where: { $0.isMonitor && $0.isKnown }) {
      try require(
        UInt64(link.watchedCount) <= UInt64(link.trafficCount) + link.lostCount,
        "link \(link.number) watches, and was not told of \(link.watchedCount) notifications")
    }
    (link.watchedCount, link.trafficCount) = (0, 0)
    let due = link.expected.filter { !$0.isBuffered }
    let certain = due.count { $0.certainty == .certain }
    let mayBe = link.expected.count { $0.isBuffered && $0.certainty == .possible }
    // A monitor's lost copies of the traffic count, and lost announcements.
    let isPlausible = link.isMonitor || link.isFollower || link.lostCount <= UInt64(due.count + mayBe)
    if UInt64(certain) > link.lostCount || !isPlausible {
      let first =
        due.first { $0.certainty == .certain }.map { "\($0.post.number)\($0.isSnapshot ? ", retained" : "")" }
        ?? "-"
      throw fail(
        """
        link \(link.number) was told that \(link.lostCount) are lost, and misses \(certain) to \(due.count); \
        the first is post \(first); \(due.map { "\($0.post.number)\($0.isSnapshot ? "r" : "")\($0.certainty == .certain ? "" : "?")" })
        """)
    }
    link.expected.removeAll { !$0.isBuffered }
    link.lostCount = 0
    link.mayLose = link.mayLose && link.expected.contains(where: \.isBuffered)
    link.isMonitor = link.registrations.contains { $0.isMonitor && $0.certainty != .gone }
    // Announcements that are buffered for a suspended connection outlast their observation.
    link.isFollower =
      link.isFollower && link.isSuspended != false
      || link.registrations.contains { $0.follows && $0.certainty != .gone }
      || link.untaken.contains { if case .register(let one) = $0.what { one.follows } else { false } }
  }
}
