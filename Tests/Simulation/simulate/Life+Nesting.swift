// SPDX-License-Identifier: Apache-2.0

import TribuneTestSupport
import TribuneWire

extension Life {
  private static let ancestorsMax = 32
  /// Deep nesting outlives some daemons. The last rest takes longer.
  private static let nestingMilliseconds: UInt32 = 5_000

  func judgeNesting(of query: Query) {
    var (certain, possible): ([Query], [Query]) = ([], [])
    var isNested = true
    let line = Array(sequence(first: query, next: \.parent))
    for (child, ancestor) in zip(line, line.dropFirst()) {
      guard mayHaveAsked(ancestor, child.link.uid) else { break }
      // Queries above an ended one may or may not count.
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

  private func hasAsked(_ query: Query, _ user: UInt32) -> Bool {
    query.delegates.contains { one in
      one.link.uid == user
        && one.link.questions.contains { $0.query === query && $0.registration === one }
    }
  }

  /// False if the bus cannot have asked a delegate of that user; then the query is no parent to the user.
  private func mayHaveAsked(_ query: Query, _ user: UInt32) -> Bool {
    (query.delegates + query.possibleDelegates).contains { $0.link.uid == user }
  }

  /// The query has certainly not ended: it waits for a delegate, and no event can have ended it early.
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

  private func isSteady(_ link: Link) -> Bool {
    link.fate == .survives && link.detachedUntil == nil && link.detachesBy == nil && !link.isForgotten
      && !link.hasLeft && !link.hasEnded && !link.isDismissed && !link.isBeginningGarbage
      && !link.isLate(at: Kernel.now)
  }

  func nestDeeply(_ seat: Int) throws(Violation) {
    guard let link = links[seat], link.isOpen, link.id != 0, bus != nil else { return }
    attach(link, ["load.*"], "", false, .abstain, Self.nestingMilliseconds, 0)
    var parent: Query?
    let depth = random.oneIn(8) ? Self.ancestorsMax + 3 : Int.random(in: 2...4, using: &random)
    for _ in 0..<depth {
      let query = Query(
        number: number(), link: link, serial: link.serial(), name: "load.level",
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
