// SPDX-License-Identifier: Apache-2.0

import TribuneTestSupport
import TribuneWire

extension Life {
  /// The queries that a query can be nested in.
  private static let ancestorsMax = 32
  /// How long queries that are nested on purpose may take: some daemons come and go meanwhile. The last rest is longer.
  private static let nestingMilliseconds: UInt32 = 5_000

  /// Decides whether the bus must refuse a query because of the queries that it is nested in.
  func judgeNesting(of query: Query) {
    var (certain, possible): ([Query], [Query]) = ([], [])
    var isNested = true
    let line = Array(sequence(first: query, next: \.parent))
    for (child, ancestor) in zip(line, line.dropFirst()) {
      guard mayHaveAsked(ancestor, child.link.uid) else { break }
      // The queries above one that has ended may count, or not.
      isNested = isNested && isUnderWay(ancestor) && hasAsked(ancestor, child.link.uid)
      if isNested { certain.append(ancestor) }
      if !ancestor.isOver { possible.append(ancestor) }
    }
    func isRefused(within ancestors: [Query]) -> Bool {
      ancestors.count > Self.ancestorsMax
        || ancestors.contains { $0.name == query.name && $0.object == query.object }
    }
    (query.mustRecur, query.mayRecur) = (isRefused(within: certain), isRefused(within: possible))
  }

  /// Whether a delegate of a user has read the question of a query.
  private func hasAsked(_ query: Query, _ user: UInt32) -> Bool {
    query.delegates.contains { one in
      one.link.uid == user
        && one.link.questions.contains { $0.query === query && $0.registration === one }
    }
  }

  /// Whether the bus can have asked a delegate of a user. If not, the query is no parent to that user.
  private func mayHaveAsked(_ query: Query, _ user: UInt32) -> Bool {
    (query.delegates + query.possibleDelegates).contains { $0.link.uid == user }
  }

  /// Whether a query has certainly not ended: it waits for a delegate, and nothing can have ended it early.
  private func isUnderWay(_ query: Query) -> Bool {
    guard !query.isOver, !query.isCancelled, isSteady(query.link) else { return false }
    let latest = Kernel.now + (isSlow ? Self.slowNanoseconds : 0)
    func isInTime(_ one: Registration) -> Bool {
      isCertain(one) && isSteady(one.link) && latest < query.due(of: one)
    }
    let isAwaited = query.delegates.contains { one in
      isInTime(one) && one.link.questions.contains { $0.query === query && $0.registration === one }
        && !query.answers.contains { $0.question.registration === one }
    }
    if !isAwaited || query.mode == .all || query.mode == .collect || query.flags.contains(.overrides) {
      return isAwaited
    }
    return query.possibleDelegates.isEmpty && query.delegates.allSatisfy(isInTime)
      && query.answers.allSatisfy { $0.answer == .approve || $0.answer == .abstain }
  }

  /// Nothing has happened that can have ended the connection.
  private func isSteady(_ link: Link) -> Bool {
    link.fate == .survives && link.detachedUntil == nil && link.detachesBy == nil && !link.isForgotten
      && !link.isClosed && !link.hasEnded && !link.isDismissed && !link.isBeginningGarbage
      && !link.isLate(at: Kernel.now)
  }

  /// A client asks itself, and asks again while it answers, at times more deeply than the bus lets it.
  func nestDeeply(_ seat: Int) throws(Violation) {
    guard let link = links[seat], link.isOpen, link.id != 0, bus != nil else { return }
    attach(link, ["load.*"], "", false, .abstain, Self.nestingMilliseconds, 0)
    var parent: Query?
    let depth = random.oneIn(8) ? Self.ancestorsMax + 3 : Int.random(in: 2...4, using: &random)
    for _ in 0..<depth {
      let query = Query(
        number: number(), link: link, serial: link.serial(), name: "load.shouldRise",
        object: "nested/\(numbers)", mode: .collect, fallback: .allowed, flags: [],
        deadline: Self.nestingMilliseconds)
      (query.parent, query.parentID) = (parent, parent?.id ?? 0)
      ask(query)
      link.send()
      try iterate(faults: Faults())
      try read(seat, everything: true)
      guard query.id != 0, bus != nil, link.isOpen else { return }
      parent = query
    }
  }
}
