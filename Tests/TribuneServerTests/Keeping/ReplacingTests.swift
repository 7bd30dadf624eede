// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneServer
import TribuneSystem

/// How a keeper has one bus take the place of another one. Both say what the test has them say.
@MainActor
@Suite("A bus that wants the place of another one", .timeLimit(.minutes(15)))
struct ReplacingTests {
  private let keeper: SteppedKeeper
  private let old: ScriptedBus
  private let connection: WatchedConnection
  private let new: ScriptedBus

  private static let newcomerHasGone = KeeperMessage.refusal("the one that wanted the place has gone")
  private static let ownerHasGone = KeeperMessage.refusal("the bus that was asked for its place has gone")

  /// The old bus has a connection kept, and has been asked.
  init() throws {
    keeper = try SteppedKeeper()
    (old, connection) = (try keeper.servedBus(), try WatchedConnection())
    #expect(try old.keep([connection]) == 1)
    new = try keeper.bus()
    try new.say(.attach(.replace(logVersion: 3)))
    #expect(try old.hear() == .wanted(logVersion: 3))
    #expect(try new.hear() == nil)
  }

  /// The old bus gives its place, and the new one gets everything.
  private func yield() throws {
    try old.say(.yours)
    #expect(try new.takeAll() == [.connection(connection.cookie)])
    #expect(try old.hear() == nil)
  }

  /// The old bus is in its place, with all that it had.
  private func expectOldServed() throws {
    let others = try WatchedConnection()
    #expect(try old.keep([others]) == 1)
    #expect(keeper.count == 2)
    let stranger = try keeper.bus()
    try stranger.say(.attach(.begin))
    #expect(try stranger.lastWords() == [.refusal("another bus is served")])
  }

  @Test("has it when it is ready, and the other one is told first that it has lost it")
  func replaces() throws {
    try yield()
    try new.say(.ready)
    #expect(try old.lastWords() == [.over])
    #expect(try new.hear() == .yours)
    #expect(try new.keep([try WatchedConnection()]) == 1)
    #expect(keeper.count == 2)
  }

  @Test("is given also what the other one has kept at the last moment, and nothing that has ended")
  func lastMoment() throws {
    let another = try WatchedConnection()
    #expect(try old.keep([another]) == 1)
    #expect(try old.ask(.forget([.connection(connection.cookie)])) == .taken(count: 0))
    try old.say(.yours)
    #expect(try new.takeAll() == [.connection(another.cookie)])
  }

  @Test("is refused by the other one, which goes on")
  func refused() throws {
    try old.say(.refusal("not now"))
    #expect(try new.lastWords() == [.refusal("not now")])
    try expectOldServed()
  }

  @Test("is not ready before it has been given everything")
  func readyTooEarly() throws {
    try new.say(.ready)
    #expect(try new.lastWords()?.count == 1)
    #expect(try old.ask(.yours) == Self.newcomerHasGone)
    try expectOldServed()
  }

  @Test("is not ready either before it has acknowledged everything")
  func readyWithoutTaking() throws {
    try old.say(.yours)
    guard case .batch? = try new.hear() else { throw Errno.inputOutput }
    try new.say(.ready)
    #expect(try new.lastWords()?.count == 1)
    #expect(try old.hear() == Self.newcomerHasGone)
    try expectOldServed()
  }

  @Test("and dies before it is ready leaves the other one in its place")
  func dies() throws {
    try yield()
    new.hangUp()
    #expect(try old.hear() == Self.newcomerHasGone)
    try expectOldServed()
  }

  @Test("and dies before it is given anything leaves the other one in its place, whatever that answers")
  func diesEarly() throws {
    for (answer, isAnswered) in [(.yours, true), (.refusal("not now"), false)] as [(KeeperMessage, Bool)] {
      let test = try Self()
      test.new.hangUp()
      // Nobody else asks before there is an answer, which would be taken for one to that.
      let third = try test.keeper.bus()
      try third.say(.attach(.replace(logVersion: 4)))
      #expect(try third.lastWords() == [.refusal("another bus is served")])
      #expect(try test.old.ask(answer) == (isAnswered ? Self.newcomerHasGone : nil))
      try test.expectOldServed()
      let fourth = try test.keeper.bus()
      try fourth.say(.attach(.replace(logVersion: 5)))
      #expect(try test.old.hear() == .wanted(logVersion: 5))
    }
  }

  @Test("is given everything when the other one ends before it has answered")
  func oldEnds() throws {
    old.hangUp()
    #expect(try new.takeAll() == [.connection(connection.cookie)])
    #expect(try new.ask(.ready) == .yours)
  }

  @Test("is refused when the other one dies that has given its place, whose things are kept for the next bus")
  func oldDies() throws {
    try yield()
    old.hangUp()
    #expect(try new.lastWords() == [Self.ownerHasGone])
    let next = try keeper.bus()
    try next.say(.attach(.replace(logVersion: 3)))
    #expect(try next.takeAll() == [.connection(connection.cookie)])
    #expect(try next.ask(.ready) == .yours)
  }

  @Test("is refused when it is ready and the other one has just died: it may go on without its keeper")
  func oldDiesJustBefore() throws {
    try yield()
    try new.say(.ready)
    old.hangUp()
    #expect(try new.lastWords() == [Self.ownerHasGone])
  }

  @Test("has nothing of a bus that has just left the keeper when it is ready, nor has anybody else")
  func oldLeavesJustBefore() throws {
    try yield()
    try new.say(.ready)
    try old.say(.over)
    old.hangUp()
    #expect(try new.lastWords() != [])
    #expect(try connection.isClosed)
  }

  @Test(
    "is refused when the other one leaves the keeper: it may go on, and nobody has what was kept",
    arguments: [false, true])
  func oldLeaves(hasYielded: Bool) throws {
    if hasYielded { try yield() }
    try old.say(.over)
    let reason = "the bus that was asked for its place has left the keeper"
    #expect(try new.lastWords() == [.refusal(reason)])
    #expect(try connection.isClosed)
  }

  @Test("has a keeper that is to end ask it to go when it has the place, and not before")
  func keeperEnds() throws {
    try keeper.signal()
    #expect(try old.hear() == nil)
    try yield()
    try new.say(.ready)
    #expect(try old.lastWords() == [.over])
    #expect(try new.hear() == .yours)
    #expect(try new.hear() == .leaving)
    try new.say(.over)
    #expect(try !keeper.turn())
  }

  @Test("has a keeper that is to end ask the other one to go when that stays")
  func keeperEndsWithTheOldBus() throws {
    try keeper.signal()
    try yield()
    new.hangUp()
    #expect(try old.hear() == Self.newcomerHasGone)
    #expect(try old.hear() == .leaving)
  }
}
