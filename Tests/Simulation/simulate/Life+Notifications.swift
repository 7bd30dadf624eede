// SPDX-License-Identifier: Apache-2.0

import TribuneServer
import TribuneTestSupport
import TribuneWire

extension Life {
  func take(_ post: Posting) {
    post.takenAt = taken
    post.takenTime = iterationBegan
    post.isForbidden = post.options.contains(.retain) && mayNotRegister(post.link)
    if post.isForbidden {
      post.certainty = .gone
      return
    }
    if post.link.losesFiles, post.isFile { post.certainty = .possible }
    // A full log may refuse it: awaited posts need room there.
    if setting.isTight, post.options.contains(.awaited) { post.certainty = .possible }
    if !post.options.isDisjoint(with: .coalescing) {
      post.replaced = waiting.filter { post.replaces($0) }
      if post.certainty == .certain {
        waiting.removeAll { post.replaces($0) }
      } else {
        // A refused post replaces nothing.
        for other in post.replaced { other.certainty = .possible }
      }
      // A post for the end of the iteration may have been delivered early.
      for other in post.replaced where other.style == .asSoonAsPossible { deliver(other, as: .possible) }
    }
    if post.style == .now { deliver(post) } else { waiting.append(post) }
  }

  func deliverSoon() {
    let soon = waiting.filter { $0.style == .asSoonAsPossible }
    waiting.removeAll { $0.style == .asSoonAsPossible }
    for post in soon { deliver(post) }
  }

  func deliverIdle(olderThan age: UInt64) {
    let idle = waiting.filter { $0.style == .whenIdle && $0.takenTime + age <= Kernel.now }
    waiting.removeAll { post in idle.contains { $0 === post } }
    for post in idle { deliver(post) }
    idleDelivered += idle
  }

  /// An awaited post ends with its last observer, before its deadline.
  func judgeAwaited() throws(Violation) {
    for link in links.compactMap({ $0 }) where !link.hasEnded && !link.isForgotten && link.isOnBus {
      for operation in link.operations where operation.isTaken && operation.awaitsReply {
        guard let post = operation.awaitedPost, post.certainty == .certain, operation.certainty == .certain,
          Kernel.now < post.due
        else { continue }
        let isAwaited = post.awaited.contains { observer in
          !observer.isForgotten && !post.dones.contains { $0.link === observer && $0.certainty == .certain }
        }
        try require(isAwaited, "all are done with post \(post.number), and its poster was not told")
      }
    }
  }

  func deliver(_ post: Posting, as certainty: Certainty? = nil) {
    if post.options.contains(.retain) { retain(post, certainty ?? post.certainty) }
    if post.options.contains(.awaited) {
      post.awaited = known.filter { link in
        !link.isForgotten
          && link.registrations.contains {
            $0.isAwaited && $0.certainty != .gone && $0.isFor(post.name, post.object)
          }
      }
    }
    for link in known where !link.isForgotten && !link.hasLeft {
      deliver(post, to: link, certainty ?? post.certainty)
    }
  }

  func deliver(_ post: Posting, to link: Link, _ certainty: Certainty) {
    if certainty == .certain, link.detachedUntil == nil,
      link.registrations.contains(where: { $0.isMonitor && $0.isKnown && $0.isFor(post.name, post.object) })
    {
      link.watchedCount += 1
    }
    guard mayUse(post.name, link) else { return }
    let since = post.style == .asSoonAsPossible ? post.takenAt : taken
    var strongest: Strength?
    var strongestPossible: Strength?
    for registration in link.registrations where registration.isFor(post.name, post.object) {
      let strength: Strength
      switch registration.what {
      case .observation(let behavior, _): strength = Strength(behavior)
      case .delegate where Naming.announces(post.name): strength = .delegate
      default: continue
      }
      // A registration that came or went since the bus took the post may or may not match.
      let isThere =
        registration.isKnown && registration.takenAt <= since
        && (link.detachedUntil.map { $0 > Kernel.now } ?? true)
      if isThere {
        strongest = max(strongest ?? .drop, strength)
      } else if registration.certainty != .gone || registration.goneAt > since {
        strongestPossible = max(strongestPossible ?? .drop, strength)
      }
    }
    guard strongest != nil || strongestPossible != nil else { return }
    var entry = Expectation(post: post, isSnapshot: false, certainty: certainty)
    if strongest == nil { entry.certainty = .possible }
    if link.suspensionChangedAt > since { entry.certainty = .possible }
    switch link.isSuspended {
    case false: break
    case nil: entry.certainty = .possible
    case true?:
      let awaited = link.registrations.filter { $0.isAwaited && $0.isFor(post.name, post.object) }
      let isAwaited = post.options.contains(.awaited) && awaited.contains { $0.isKnown }
      // Delegates receive their posts even while suspended, ahead of buffered ones.
      if strongest == .delegate || strongestPossible == .delegate {
        for index in link.expected.indices where link.expected[index].isBuffered {
          link.expected[index].wasBuffered = true
        }
      }
      if strongest == .delegate { break }
      let isNow =
        post.options.contains(.immediately) || strongest == .immediate
        || isAwaited && (strongest ?? .drop) > .drop
      let mayBeNow =
        (strongestPossible ?? .drop) >= .immediate || strongest == nil
        || isAwaited && (strongestPossible ?? .drop) > .drop
        || post.options.contains(.awaited) && awaited.contains { $0.certainty != .gone && !$0.isKnown }
      if !isNow {
        guard max(strongest ?? .drop, strongestPossible ?? .drop) > .drop || link.suspensionChangedAt > since
        else { return }
        if strongest == .drop || (strongestPossible ?? .drop) > (strongest ?? .drop) {
          entry.certainty = .possible
        }
        entry.isBuffered = true
        entry.coalesces = strongest == .coalesce
      }
      if isNow, entry.certainty == .certain, strongestPossible != .delegate {
        releaseBuffered(of: link)
      } else if isNow || mayBeNow {
        entry.certainty = .possible
        doubtBuffered(of: link)
      }
    }
    if entry.isBuffered {
      for index in link.expected.indices.reversed()
      where link.expected[index].isBuffered && link.expected[index].post.name == post.name
        && link.expected[index].post.object == post.object
        && (link.expected[index].coalesces || entry.coalesces)
      {
        // A small buffer may have dropped and reported it before a later one could replace it.
        if setting.configuration.notifications.bufferMaxBytes == 1 << 20, entry.certainty == .certain,
          entry.coalesces,
          link.expected[index].coalesces,
          link.expected[index].certainty == .certain
        {
          link.expected.remove(at: index)
        } else {
          link.expected[index].certainty = .possible
        }
      }
    }
    tell(
      "    link \(link.number) is to receive post \(post.number), \(entry.certainty)\(entry.isBuffered ? " later" : "")"
    )
    link.expected.append(entry)
    link.pendingCount += post.size + (link.wantsPosters ? 128 : 0)
    // A buffered notification costs up to 2.6 times its size.
    let bufferedCount = link.expected.reduce(0) { $0 + ($1.isBuffered ? $1.post.size : 0) }
    let limit =
      min(setting.configuration.queue.highMarkBytes, setting.configuration.notifications.bufferMaxBytes) / 4
    if post.isFile || link.pendingCount + bufferedCount > limit { link.mayLose = true }
  }

  /// The handling for a suspended connection; of several matches, the strongest decides.
  private enum Strength: Int, Comparable {
    case drop, coalesce, hold, immediate
    /// A delegate of the object receives announcements of actions.
    case delegate

    init(_ behavior: SuspensionBehavior) {
      self =
        switch behavior {
        case .drop: .drop
        case .coalesce: .coalesce
        case .hold: .hold
        case .deliverImmediately: .immediate
        }
    }

    static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
  }

  func loseBuffered(of link: Link) {
    for index in link.expected.indices where link.expected[index].isBuffered {
      link.expected[index].isBuffered = false
      link.expected[index].wasBuffered = true
    }
  }

  func doubtBuffered(of link: Link) {
    for index in link.expected.indices where link.expected[index].isBuffered {
      link.expected[index].certainty = .possible
    }
  }

  func releaseBuffered(of link: Link) {
    for index in link.expected.indices { link.expected[index].isBuffered = false }
  }

  func retain(_ post: Posting, _ certainty: Certainty) {
    // The policy may have changed since.
    if post.style != .now, mayNotRegister(post.link) { return }
    let same = retained.filter { $0.isSame(as: post) }
    retainedOrReplaced.removeAll { $0.isSame(as: post) }
    if certainty == .certain {
      post.displaced = same + possiblyRetained.filter { $0.isSame(as: post) }
      post.hasReplaced = same.count == 1 && post.displaced.count == 1 && (!same[0].isFile || same[0].isStored)
      possiblyRetained.removeAll { $0.isSame(as: post) }
      retained.removeAll { $0.isSame(as: post) }
      if !post.isEmpty { retained.append(post) }
      post.retainedAt = number()
    } else {
      possiblyRetained += same
      retained.removeAll { $0.isSame(as: post) }
      if !post.isEmpty { possiblyRetained.append(post) }
    }
  }

  func doubtWaiting() {
    for post in waiting where post.style == .whenIdle {
      post.certainty = .possible
      deliver(post)
    }
  }

}

extension Expectation {
  var inherited: Expectation {
    var later = self
    later.isBuffered = false
    later.precedes = nil
    later.isInherited = true
    return later
  }
}
