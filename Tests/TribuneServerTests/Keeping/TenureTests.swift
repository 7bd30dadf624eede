// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneServer

/// Which bus a keeper serves or awaits. Bus 1 is served first, bus 2 asks for its place, and bus 3 is a stranger.
@Suite("The tenure of a keeper")
struct TenureTests {
  private static let now = Instant(nanoseconds: 1_000_000_000)
  private static func after(seconds: UInt64) -> Instant {
    now.advanced(byNanoseconds: seconds * 1_000_000_000)
  }

  private static let gone = "the bus that wanted the place has gone"
  private static let awaited = Tenure.State.awaited(until: after(seconds: 30))

  enum Situation: CaseIterable {
    case vacant, owned, yielding, askedInVain, yielded, awaited

    fileprivate func tenure(hasLease: Bool = false) -> Tenure {
      var tenure = Tenure()
      guard self != .vacant else { return tenure }
      _ = tenure.attach(1, .begins)
      if hasLease { tenure.leaseCame() }
      if [.yielding, .askedInVain, .yielded].contains(self) { _ = tenure.attach(2, .replaces) }
      switch self {
      case .vacant, .owned, .yielding: break
      case .askedInVain: _ = tenure.depart(2, at: now)
      case .yielded: _ = tenure.yields(1)
      case .awaited: _ = tenure.depart(1, at: now)
      }
      return tenure
    }

    fileprivate var state: Tenure.State {
      switch self {
      case .vacant: .vacant
      case .owned: .owned(by: 1)
      case .yielding: .yielding(from: 1, to: 2)
      case .askedInVain: .askedInVain(1)
      case .yielded: .yielded(from: 1, to: 2)
      case .awaited: TenureTests.awaited
      }
    }
  }

  // MARK: Coming

  @Test(
    "each situation has the state and the owner that the other tests assume", arguments: Situation.allCases)
  func situations(_ situation: Situation) {
    let owner: Int? = [.vacant, .awaited].contains(situation) ? nil : 1
    #expect(situation.tenure().state == situation.state)
    #expect(situation.tenure().owner == owner)
  }

  @Test("a bus that attaches begins anew, resumes, asks for the place or is refused")
  func attaching() {
    let refusal = Tenure.Action.refuse(3, "another bus is served")
    let cases: [(Situation, Tenure.Attachment, Tenure.Action, Tenure.State)] = [
      (.vacant, .begins, .serveAnew(3), .owned(by: 3)),
      (.vacant, .resumes(isKept: true), .serveAnew(3), .owned(by: 3)),
      (.vacant, .replaces, .serveAnew(3), .owned(by: 3)),
      (.owned, .begins, refusal, .owned(by: 1)),
      (.owned, .resumes(isKept: true), refusal, .owned(by: 1)),
      (.owned, .replaces, .askToYield(1), .yielding(from: 1, to: 3)),
      (.awaited, .begins, .serveAnew(3), .owned(by: 3)),
      (.awaited, .resumes(isKept: false), .serveAnew(3), .owned(by: 3)),
      (.awaited, .resumes(isKept: true), .give(3), .owned(by: 3)),
      (.awaited, .replaces, .give(3), .owned(by: 3)),
    ]
    for (situation, attachment, action, state) in cases {
      var tenure = situation.tenure()
      #expect(tenure.attach(3, attachment) == action, "\(situation), \(attachment)")
      #expect(tenure.state == state, "\(situation), \(attachment)")
    }
  }

  @Test(
    "no other bus can attach while a bus is asked for its place",
    arguments: [Situation.yielding, .askedInVain, .yielded])
  func attachingMeanwhile(_ situation: Situation) {
    for attachment in [.begins, .resumes(isKept: true), .replaces] as [Tenure.Attachment] {
      var tenure = situation.tenure()
      #expect(tenure.attach(3, attachment) == .refuse(3, "another bus is served"))
      // Its departure changes nothing.
      #expect(tenure.depart(3, at: Self.now) == .nothing)
      #expect(tenure.state == situation.state)
    }
  }

  // MARK: Replacing

  private static let left = "the bus to be replaced has left the keeper"

  private enum Event {
    case yields, refuses, over, ownerDeparts, newcomerDeparts

    func happen(to tenure: inout Tenure) -> Tenure.Action {
      switch self {
      case .yields: tenure.yields(1)
      case .refuses: tenure.refuses(1, "no")
      case .over: tenure.over(1)
      case .ownerDeparts: tenure.depart(1, at: now)
      case .newcomerDeparts: tenure.depart(2, at: now)
      }
    }
  }

  @Test("after any event while a bus is asked for its place, a bus has it or is awaited, or all is closed")
  func replacing() {
    let ownerHasGone = Tenure.Action.refuse(2, "the bus to be replaced has gone")
    let ownerHasLeft = Tenure.Action.clearAndRefuse(2, Self.left)
    let cases: [(Situation, Event, Tenure.Action, Tenure.State)] = [
      (.yielding, .yields, .give(2), .yielded(from: 1, to: 2)),
      (.yielding, .refuses, .refuse(2, "no"), .owned(by: 1)),
      (.yielding, .over, ownerHasLeft, .vacant),
      (.yielding, .ownerDeparts, .give(2), .owned(by: 2)),
      (.yielding, .newcomerDeparts, .nothing, .askedInVain(1)),
      (.askedInVain, .yields, .leaveInPlace(1, Self.gone), .owned(by: 1)),
      (.askedInVain, .refuses, .nothing, .owned(by: 1)),
      (.askedInVain, .over, .clear, .vacant),
      (.askedInVain, .ownerDeparts, .nothing, Self.awaited),
      (.yielded, .yields, .nothing, .yielded(from: 1, to: 2)),
      (.yielded, .refuses, .nothing, .yielded(from: 1, to: 2)),
      (.yielded, .over, ownerHasLeft, .vacant),
      (.yielded, .ownerDeparts, ownerHasGone, Self.awaited),
      (.yielded, .newcomerDeparts, .leaveInPlace(1, Self.gone), .owned(by: 1)),
      // Answers without a request.
      (.owned, .yields, .nothing, .owned(by: 1)),
      (.owned, .refuses, .nothing, .owned(by: 1)),
      (.vacant, .yields, .nothing, .vacant),
    ]
    for (situation, event, action, state) in cases {
      var tenure = situation.tenure()
      #expect(event.happen(to: &tenure) == action, "\(situation), \(event)")
      #expect(tenure.state == state, "\(situation), \(event)")
    }
  }

  @Test("a bus that is ready has the place, and can be asked for it in turn")
  func settled() {
    var tenure = Situation.yielded.tenure()
    tenure.passPlace()
    #expect(tenure.state == .owned(by: 2))
    #expect(tenure.depart(1, at: Self.now) == .nothing)
    #expect(tenure.attach(3, .replaces) == .askToYield(2))
  }

  @Test("only the bus that was asked can answer", arguments: [2, 3])
  func strangers(_ bus: Int) {
    for situation in Situation.allCases {
      var tenure = situation.tenure()
      #expect(tenure.yields(bus) == .nothing)
      #expect(tenure.refuses(bus, "no") == .nothing)
      #expect(tenure.over(bus) == .nothing)
      #expect(tenure.state == situation.state)
    }
  }

  // MARK: Going

  @Test("without a lease, a keeper waits 30 s for the next bus")
  func patience() {
    var tenure = Situation.awaited.tenure()
    #expect(tenure.nextDue == Self.after(seconds: 30))
    #expect(tenure.tick(at: Self.after(seconds: 29)) == .nothing)
    #expect(tenure.tick(at: Self.after(seconds: 30)) == .clear)
    #expect(tenure.state == .vacant && tenure.nextDue == nil)
  }

  @Test("with a lease, a keeper waits for the next bus until the lease ends")
  func lease() {
    var tenure = Situation.awaited.tenure(hasLease: true)
    #expect(tenure.nextDue == nil)
    #expect(tenure.tick(at: Self.after(seconds: 100_000)) == .nothing)
    #expect(tenure.leaseEnded() == .clear)
    #expect(tenure.state == .vacant)
  }

  @Test("a lease that ends during service changes nothing, and then the keeper waits 30 s for the next bus")
  func leaseOfOwner() {
    for situation in [.owned, .yielding, .askedInVain, .yielded] as [Situation] {
      var tenure = situation.tenure(hasLease: true)
      #expect(tenure.leaseEnded() == .nothing)
      #expect(tenure.state == situation.state)
      _ = tenure.depart(1, at: Self.now)
      // A bus that has asked for the place has it then.
      #expect(tenure.nextDue == (situation == .yielding ? nil : Self.after(seconds: 30)))
    }
  }

  @Test("a lease lasts for the next bus as well, unless that begins anew")
  func leaseOfTheNext() {
    var tenure = Situation.awaited.tenure(hasLease: true)
    _ = tenure.attach(2, .resumes(isKept: true))
    _ = tenure.depart(2, at: Self.now)
    #expect(tenure.state == .awaited(until: nil))
    _ = tenure.attach(3, .begins)
    _ = tenure.depart(3, at: Self.now)
    #expect(tenure.state == Self.awaited)
  }

  @Test("a bus that ends for good leaves nothing")
  func over() {
    var tenure = Situation.owned.tenure(hasLease: true)
    #expect(tenure.over(1) == .clear)
    #expect(tenure.depart(1, at: Self.now) == .nothing)
    #expect(tenure.state == .vacant)
  }

  // MARK: The keeper's end

  @Test("a keeper that is to end during a replacement asks the bus to leave that has the place in the end")
  func endReplacing() {
    for situation in [.yielding, .askedInVain, .yielded] as [Situation] {
      var tenure = situation.tenure()
      #expect(tenure.end(at: Self.now) == .nothing)
      #expect(tenure.asksToLeave() == .nothing)
      var late = tenure
      #expect(late.tick(at: Self.after(seconds: 8)) == .exit)
      let action = tenure.over(1)
      if case .clearAndRefuse(2, _) = action { continue }
      #expect(action == .exit, "\(situation)")
    }
    var settled = Situation.yielded.tenure()
    _ = settled.end(at: Self.now)
    settled.passPlace()
    #expect(settled.asksToLeave() == .askToLeave(2))
    for (situation, event) in [(.yielding, .refuses), (.askedInVain, .yields), (.yielded, .newcomerDeparts)]
      as [(Situation, Event)]
    {
      var tenure = situation.tenure()
      _ = tenure.end(at: Self.now)
      _ = event.happen(to: &tenure)
      #expect(tenure.asksToLeave() == .askToLeave(1), "\(situation), \(event)")
    }
  }

  @Test("a keeper that is to end does not stay for a bus that begins anew, or that ends")
  func endAnyway() {
    var tenure = Situation.awaited.tenure()
    _ = tenure.end(at: Self.now)
    #expect(tenure.attach(2, .begins) == .exit)
    tenure = Situation.owned.tenure()
    _ = tenure.end(at: Self.now)
    #expect(tenure.over(1) == .exit)
    tenure = Situation.yielding.tenure()
    _ = tenure.end(at: Self.now)
    #expect(tenure.over(1) == .clearAndRefuse(2, Self.left))
  }

  @Test("a keeper that is told to end, once or again, stays for 8 s at most", arguments: Situation.allCases)
  func endLimit(_ situation: Situation) {
    var tenure = situation.tenure(hasLease: true)
    _ = tenure.end(at: Self.now)
    _ = tenure.end(at: Self.after(seconds: 5))
    #expect(tenure.nextDue == Self.after(seconds: 8))
    #expect(tenure.tick(at: Self.after(seconds: 7)) == .nothing)
    #expect(tenure.tick(at: Self.after(seconds: 8)) == .exit)
  }
}
