// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneServer

/// Which bus a keeper serves or awaits. Bus 1 is served first, bus 2 asks for its place, and bus 3 is a stranger.
@Suite("The state of a keeper")
struct KeeperStateTests {
  private static let now = Instant(nanoseconds: 1_000_000_000)
  private static func after(seconds: UInt64) -> Instant {
    now.advanced(byNanoseconds: seconds * 1_000_000_000)
  }

  private static let gone = "the bus that wanted the place has gone"
  private static let awaited = KeeperState.Phase.awaited(until: after(seconds: 30))

  enum Situation: CaseIterable {
    case vacant, owned, yielding, askedInVain, yielded, awaited

    fileprivate func keeper(hasLease: Bool = false) -> KeeperState {
      var keeper = KeeperState()
      guard self != .vacant else { return keeper }
      _ = keeper.attach(1, .begin)
      if hasLease { keeper.beginLease() }
      if [.yielding, .askedInVain, .yielded].contains(self) { _ = keeper.attach(2, .replace) }
      switch self {
      case .vacant, .owned, .yielding: break
      case .askedInVain: _ = keeper.depart(2, at: now)
      case .yielded: _ = keeper.yield(1)
      case .awaited: _ = keeper.depart(1, at: now)
      }
      return keeper
    }

    fileprivate var phase: KeeperState.Phase {
      switch self {
      case .vacant: .vacant
      case .owned: .owned(by: 1)
      case .yielding: .yielding(from: 1, to: 2)
      case .askedInVain: .askedInVain(1)
      case .yielded: .yielded(from: 1, to: 2)
      case .awaited: KeeperStateTests.awaited
      }
    }
  }

  // MARK: Coming

  @Test(
    "each situation has the phase and the owner that the other tests assume", arguments: Situation.allCases)
  func situations(_ situation: Situation) {
    let owner: KeeperState.BusID? = [.vacant, .awaited].contains(situation) ? nil : 1
    #expect(situation.keeper().phase == situation.phase)
    #expect(situation.keeper().owner == owner)
  }

  @Test("a bus that attaches begins anew, resumes, asks for the place or is refused")
  func attaching() {
    let refusal = KeeperState.Action.refuse(3, "another bus is served")
    let cases: [(Situation, KeeperState.Attachment, KeeperState.Action, KeeperState.Phase)] = [
      (.vacant, .begin, .serveAnew(3), .owned(by: 3)),
      (.vacant, .resume(isKept: true), .serveAnew(3), .owned(by: 3)),
      (.vacant, .replace, .serveAnew(3), .owned(by: 3)),
      (.owned, .begin, refusal, .owned(by: 1)),
      (.owned, .resume(isKept: true), refusal, .owned(by: 1)),
      (.owned, .replace, .askToYield(1), .yielding(from: 1, to: 3)),
      (.awaited, .begin, .serveAnew(3), .owned(by: 3)),
      (.awaited, .resume(isKept: false), .serveAnew(3), .owned(by: 3)),
      (.awaited, .resume(isKept: true), .give(3), .owned(by: 3)),
      (.awaited, .replace, .give(3), .owned(by: 3)),
    ]
    for (situation, attachment, action, phase) in cases {
      var keeper = situation.keeper()
      #expect(keeper.attach(3, attachment) == action, "\(situation), \(attachment)")
      #expect(keeper.phase == phase, "\(situation), \(attachment)")
    }
  }

  @Test(
    "no other bus can attach while a bus is asked for its place",
    arguments: [Situation.yielding, .askedInVain, .yielded])
  func attachingMeanwhile(_ situation: Situation) {
    for attachment in [.begin, .resume(isKept: true), .replace] as [KeeperState.Attachment] {
      var keeper = situation.keeper()
      #expect(keeper.attach(3, attachment) == .refuse(3, "another bus is served"))
      // Its departure changes nothing.
      #expect(keeper.depart(3, at: Self.now) == .nothing)
      #expect(keeper.phase == situation.phase)
    }
  }

  // MARK: Replacing

  private static let left = "the bus to be replaced has left the keeper"

  private enum Event {
    case yield, refuse, finish, departOwner, departNewcomer

    func happen(to keeper: inout KeeperState) -> KeeperState.Action {
      switch self {
      case .yield: keeper.yield(1)
      case .refuse: keeper.refuse(1, "no")
      case .finish: keeper.finish(1)
      case .departOwner: keeper.depart(1, at: now)
      case .departNewcomer: keeper.depart(2, at: now)
      }
    }
  }

  @Test("after any event while a bus is asked for its place, a bus has it or is awaited, or all is closed")
  func replacing() {
    let ownerHasGone = KeeperState.Action.refuse(2, "the bus to be replaced has gone")
    let ownerHasLeft = KeeperState.Action.clearAndRefuse(2, Self.left, exits: false)
    let cases: [(Situation, Event, KeeperState.Action, KeeperState.Phase)] = [
      (.yielding, .yield, .give(2), .yielded(from: 1, to: 2)),
      (.yielding, .refuse, .refuse(2, "no"), .owned(by: 1)),
      (.yielding, .finish, ownerHasLeft, .vacant),
      (.yielding, .departOwner, .give(2), .owned(by: 2)),
      (.yielding, .departNewcomer, .nothing, .askedInVain(1)),
      (.askedInVain, .yield, .leaveInPlace(1, Self.gone), .owned(by: 1)),
      (.askedInVain, .refuse, .nothing, .owned(by: 1)),
      (.askedInVain, .finish, .clear, .vacant),
      (.askedInVain, .departOwner, .nothing, Self.awaited),
      (.yielded, .yield, .nothing, .yielded(from: 1, to: 2)),
      (.yielded, .refuse, .nothing, .yielded(from: 1, to: 2)),
      (.yielded, .finish, ownerHasLeft, .vacant),
      (.yielded, .departOwner, ownerHasGone, Self.awaited),
      (.yielded, .departNewcomer, .leaveInPlace(1, Self.gone), .owned(by: 1)),
      // Answers without a request.
      (.owned, .yield, .nothing, .owned(by: 1)),
      (.owned, .refuse, .nothing, .owned(by: 1)),
      (.vacant, .yield, .nothing, .vacant),
    ]
    for (situation, event, action, phase) in cases {
      var keeper = situation.keeper()
      #expect(event.happen(to: &keeper) == action, "\(situation), \(event)")
      #expect(keeper.phase == phase, "\(situation), \(event)")
    }
  }

  @Test("a bus that is ready has the place, and can be asked for it in turn")
  func settled() {
    var keeper = Situation.yielded.keeper()
    keeper.passPlace()
    #expect(keeper.phase == .owned(by: 2))
    #expect(keeper.depart(1, at: Self.now) == .nothing)
    #expect(keeper.attach(3, .replace) == .askToYield(2))
  }

  @Test("only the bus that was asked can answer", arguments: [2, 3])
  func strangers(_ bus: KeeperState.BusID) {
    for situation in Situation.allCases {
      var keeper = situation.keeper()
      #expect(keeper.yield(bus) == .nothing)
      #expect(keeper.refuse(bus, "no") == .nothing)
      #expect(keeper.finish(bus) == .nothing)
      #expect(keeper.phase == situation.phase)
    }
  }

  // MARK: Going

  @Test("without a lease, a keeper waits 30 s for the next bus")
  func waitLimit() {
    var keeper = Situation.awaited.keeper()
    #expect(keeper.nextDue == Self.after(seconds: 30))
    #expect(keeper.tick(at: Self.after(seconds: 29)) == .nothing)
    #expect(keeper.tick(at: Self.after(seconds: 30)) == .clear)
    #expect(keeper.phase == .vacant && keeper.nextDue == nil)
  }

  @Test("with a lease, a keeper waits for the next bus until the lease ends")
  func lease() {
    var keeper = Situation.awaited.keeper(hasLease: true)
    #expect(keeper.nextDue == nil)
    #expect(keeper.tick(at: Self.after(seconds: 100_000)) == .nothing)
    #expect(keeper.endLease() == .clear)
    #expect(keeper.phase == .vacant)
  }

  @Test("a lease that ends during service changes nothing, and then the keeper waits 30 s for the next bus")
  func leaseOfOwner() {
    for situation in [.owned, .yielding, .askedInVain, .yielded] as [Situation] {
      var keeper = situation.keeper(hasLease: true)
      #expect(keeper.endLease() == .nothing)
      #expect(keeper.phase == situation.phase)
      _ = keeper.depart(1, at: Self.now)
      // A bus that has asked for the place has it then.
      #expect(keeper.nextDue == (situation == .yielding ? nil : Self.after(seconds: 30)))
    }
  }

  @Test("a lease lasts for the next bus as well, unless that begins anew")
  func leaseOfTheNext() {
    var keeper = Situation.awaited.keeper(hasLease: true)
    _ = keeper.attach(2, .resume(isKept: true))
    _ = keeper.depart(2, at: Self.now)
    #expect(keeper.phase == .awaited(until: nil))
    _ = keeper.attach(3, .begin)
    _ = keeper.depart(3, at: Self.now)
    #expect(keeper.phase == Self.awaited)
  }

  @Test("a bus that ends for good leaves nothing")
  func finished() {
    var keeper = Situation.owned.keeper(hasLease: true)
    #expect(keeper.finish(1) == .clear)
    #expect(keeper.depart(1, at: Self.now) == .nothing)
    #expect(keeper.phase == .vacant)
  }

  // MARK: The keeper's end

  @Test("a keeper that is to end during a replacement asks the bus to leave that has the place in the end")
  func endReplacing() {
    for situation in [.yielding, .askedInVain, .yielded] as [Situation] {
      var keeper = situation.keeper()
      #expect(keeper.end(at: Self.now) == .nothing)
      #expect(keeper.askToLeaveIfEnding() == .nothing)
      var late = keeper
      #expect(late.tick(at: Self.after(seconds: 8)) == .exit)
      let action = keeper.finish(1)
      if case .clearAndRefuse(2, _, exits: true) = action { continue }
      #expect(action == .exit, "\(situation)")
    }
    var settled = Situation.yielded.keeper()
    _ = settled.end(at: Self.now)
    settled.passPlace()
    #expect(settled.askToLeaveIfEnding() == .askToLeave(2))
    for (situation, event) in [(.yielding, .refuse), (.askedInVain, .yield), (.yielded, .departNewcomer)]
      as [(Situation, Event)]
    {
      var keeper = situation.keeper()
      _ = keeper.end(at: Self.now)
      _ = event.happen(to: &keeper)
      #expect(keeper.askToLeaveIfEnding() == .askToLeave(1), "\(situation), \(event)")
    }
  }

  @Test("a keeper that is to end does not stay for a bus that begins anew, or that ends")
  func endAnyway() {
    var keeper = Situation.awaited.keeper()
    _ = keeper.end(at: Self.now)
    #expect(keeper.attach(2, .begin) == .exit)
    keeper = Situation.owned.keeper()
    _ = keeper.end(at: Self.now)
    #expect(keeper.finish(1) == .exit)
    keeper = Situation.yielding.keeper()
    _ = keeper.end(at: Self.now)
    #expect(keeper.finish(1) == .clearAndRefuse(2, Self.left, exits: true))
  }

  @Test("a keeper that is told to end, once or again, stays for 8 s at most", arguments: Situation.allCases)
  func endLimit(_ situation: Situation) {
    var keeper = situation.keeper(hasLease: true)
    _ = keeper.end(at: Self.now)
    _ = keeper.end(at: Self.after(seconds: 5))
    #expect(keeper.nextDue == Self.after(seconds: 8))
    #expect(keeper.tick(at: Self.after(seconds: 7)) == .nothing)
    #expect(keeper.tick(at: Self.after(seconds: 8)) == .exit)
  }
}
