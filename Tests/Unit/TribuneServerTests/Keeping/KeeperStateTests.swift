// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneServer

/// Bus 1 is served first.
@Suite("The state of a keeper")
struct KeeperStateTests {
  private static let now = Instant(nanoseconds: 1_000_000_000)
  private static func after(seconds: UInt64) -> Instant {
    now.advanced(byNanoseconds: seconds * 1_000_000_000)
  }

  private static let awaited = KeeperState.Phase.awaited(until: after(seconds: 30))

  enum Situation: CaseIterable {
    case vacant, owned, awaited

    fileprivate func keeper(hasLease: Bool = false) -> KeeperState {
      var keeper = KeeperState()
      guard self != .vacant else { return keeper }
      _ = keeper.attach(1, .begin)
      if hasLease { keeper.beginLease() }
      if self == .awaited { keeper.depart(1, at: now) }
      return keeper
    }

    fileprivate var phase: KeeperState.Phase {
      switch self {
      case .vacant: .vacant
      case .owned: .owned(by: 1)
      case .awaited: KeeperStateTests.awaited
      }
    }
  }

  // MARK: Coming

  @Test(
    "each situation has the phase and the owner that the other tests assume", arguments: Situation.allCases)
  func situations(_ situation: Situation) {
    let owner: KeeperState.BusID? = situation == .owned ? 1 : nil
    #expect(situation.keeper().phase == situation.phase)
    #expect(situation.keeper().owner == owner)
  }

  @Test("a bus that attaches begins anew, resumes or is refused")
  func attaching() {
    let refusal = KeeperState.Action.refuse(3, "another bus is served")
    let cases: [(Situation, KeeperState.Attachment, KeeperState.Action, KeeperState.Phase)] = [
      (.vacant, .begin, .serveAnew(3), .owned(by: 3)),
      (.vacant, .resume(isKept: true), .serveAnew(3), .owned(by: 3)),
      (.owned, .begin, refusal, .owned(by: 1)),
      (.owned, .resume(isKept: true), refusal, .owned(by: 1)),
      (.awaited, .begin, .serveAnew(3), .owned(by: 3)),
      (.awaited, .resume(isKept: false), .serveAnew(3), .owned(by: 3)),
      (.awaited, .resume(isKept: true), .give(3), .owned(by: 3)),
    ]
    for (situation, attachment, action, phase) in cases {
      var keeper = situation.keeper()
      #expect(keeper.attach(3, attachment) == action, "\(situation), \(attachment)")
      #expect(keeper.phase == phase, "\(situation), \(attachment)")
    }
  }

  @Test("only the bus that is served can end its service", arguments: Situation.allCases)
  func strangers(_ situation: Situation) {
    var keeper = situation.keeper()
    #expect(keeper.finish(2) == .nothing)
    keeper.depart(2, at: Self.now)
    #expect(keeper.phase == situation.phase)
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
    var keeper = Situation.owned.keeper(hasLease: true)
    #expect(keeper.endLease() == .nothing)
    #expect(keeper.phase == .owned(by: 1))
    keeper.depart(1, at: Self.now)
    #expect(keeper.phase == Self.awaited)
  }

  @Test("a lease is also valid for the next bus, unless that begins anew")
  func leaseOfTheNext() {
    var keeper = Situation.awaited.keeper(hasLease: true)
    _ = keeper.attach(2, .resume(isKept: true))
    keeper.depart(2, at: Self.now)
    #expect(keeper.phase == .awaited(until: nil))
    _ = keeper.attach(3, .begin)
    keeper.depart(3, at: Self.now)
    #expect(keeper.phase == Self.awaited)
  }

  @Test("a bus that ends for good leaves nothing")
  func finished() {
    var keeper = Situation.owned.keeper(hasLease: true)
    #expect(keeper.finish(1) == .clear)
    keeper.depart(1, at: Self.now)
    #expect(keeper.phase == .vacant)
  }

  // MARK: The keeper's end

  @Test("a keeper that has to end asks its bus to leave: at once, or once it has given everything")
  func endServing() {
    var keeper = Situation.owned.keeper()
    #expect(keeper.askToLeaveIfEnding() == .nothing)
    #expect(keeper.end(at: Self.now) == .askToLeave(1))
    keeper = Situation.awaited.keeper()
    #expect(keeper.end(at: Self.now) == .nothing)
    #expect(keeper.askToLeaveIfEnding() == .nothing)
    _ = keeper.attach(2, .resume(isKept: true))
    #expect(keeper.askToLeaveIfEnding() == .askToLeave(2))
  }

  @Test("a keeper that has to end does not stay for a bus that begins anew, or that ends")
  func endAnyway() {
    var keeper = Situation.awaited.keeper()
    _ = keeper.end(at: Self.now)
    #expect(keeper.attach(2, .begin) == .exit)
    keeper = Situation.owned.keeper()
    _ = keeper.end(at: Self.now)
    #expect(keeper.finish(1) == .exit)
  }

  @Test("a keeper that is told to end, once or again, stays for at most 8 s", arguments: Situation.allCases)
  func endLimit(_ situation: Situation) {
    var keeper = situation.keeper(hasLease: true)
    _ = keeper.end(at: Self.now)
    _ = keeper.end(at: Self.after(seconds: 5))
    #expect(keeper.nextDue == Self.after(seconds: 8))
    #expect(keeper.tick(at: Self.after(seconds: 7)) == .nothing)
    #expect(keeper.tick(at: Self.after(seconds: 8)) == .exit)
  }
}
