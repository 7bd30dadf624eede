// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneServer
import TribuneSystem

/// A keeper hands the place of one bus to another. The test plays both buses.
@MainActor
@Suite("A bus that asks for the place of another one", .timeLimit(.minutes(15)))
struct ReplacingTests {
  private let keeper: SteppedKeeper
  private let old: ScriptedBus
  private let connection: WatchedConnection
  private let new: ScriptedBus

  private static let newcomerHasGone = KeeperMessage.refusal("the bus that wanted the place has gone")
  private static let ownerHasGone = KeeperMessage.refusal("the bus to be replaced has gone")

  /// The old bus has a connection kept, and the keeper has asked for its place.
  init() throws {
    keeper = try SteppedKeeper()
    (old, connection) = (try keeper.servedBus(), try WatchedConnection())
    #expect(try old.keep([connection]) == 1)
    new = try keeper.bus(saying: .attach(.replace(logVersion: 3)))
    #expect(try old.hear() == .yieldRequest(logVersion: 3))
    #expect(try new.hear() == nil)
  }

  /// Has the old bus give its place, and the new one get everything.
  private func yield() throws {
    try old.say(.yielded)
    #expect(try new.takeAll() == [.connection(connection.cookie)])
    #expect(try old.hear() == nil)
  }

  /// Checks that the old bus still has its place, and everything that it had.
  private func expectOldServed() throws {
    let others = try WatchedConnection()
    #expect(try old.keep([others]) == 1)
    #expect(keeper.count == 2)
    let stranger = try keeper.bus(saying: .attach(.begin))
    #expect(try stranger.lastWords() == [.refusal("another bus is served")])
  }

  @Test("gets it when it is ready, after the old one has learnt that it lost it")
  func replaces() throws {
    try yield()
    try new.say(.ready)
    #expect(try old.lastWords() == [.finished])
    #expect(try new.hear() == .yielded)
    #expect(try new.keep([try WatchedConnection()]) == 1)
    #expect(keeper.count == 2)
  }

  @Test("also gets what the old one had kept last, and nothing that the old one took back")
  func lastMoment() throws {
    let another = try WatchedConnection()
    #expect(try old.keep([another]) == 1)
    #expect(try old.ask(.forget([.connection(connection.cookie)])) == .acknowledged(count: 0))
    try old.say(.yielded)
    #expect(try new.takeAll() == [.connection(another.cookie)])
  }

  @Test("does not get it if the old one refuses, which then goes on")
  func refused() throws {
    try old.say(.refusal("not now"))
    #expect(try new.lastWords() == [.refusal("not now")])
    try expectOldServed()
  }

  @Test("cannot be ready before it has got everything, and acknowledged it", arguments: [false, true])
  func readyTooEarly(isGiven: Bool) throws {
    if isGiven {
      try old.say(.yielded)
      guard case .batch? = try new.hear() else { throw Errno.inputOutput }
    }
    try new.say(.ready)
    #expect(try new.lastWords()?.count == 1)
    if !isGiven { try old.say(.yielded) }
    #expect(try old.hear() == Self.newcomerHasGone)
    try expectOldServed()
  }

  @Test(
    "leaves the old one in its place if it dies before it is ready; a keeper that is to end asks that to leave",
    arguments: [false, true])
  func dies(keeperEnds: Bool) throws {
    if keeperEnds { try keeper.signal() }
    try yield()
    new.hangUp()
    #expect(try old.hear() == Self.newcomerHasGone)
    if keeperEnds { #expect(try old.hear() == .leaving) } else { try expectOldServed() }
  }

  @Test("gets everything if the old one ends before it has answered")
  func oldEnds() throws {
    old.hangUp()
    #expect(try new.takeAll() == [.connection(connection.cookie)])
    #expect(try new.ask(.ready) == .yielded)
  }

  @Test("is refused if the old one hangs up just as it gets ready: the old one may go on without its keeper")
  func oldDiesJustBefore() throws {
    try yield()
    try new.say(.ready)
    old.hangUp()
    #expect(try new.lastWords() == [Self.ownerHasGone])
  }

  @Test("gets nothing if the old one leaves the keeper just as it gets ready, and everything is closed")
  func oldLeavesJustBefore() throws {
    try yield()
    try new.say(.ready)
    try old.say(.finished)
    old.hangUp()
    #expect(try new.lastWords() != [])
    #expect(try connection.isClosed)
  }

  @Test(
    "is refused if the old one leaves the keeper, and everything is closed: the old one may go on",
    arguments: [false, true])
  func oldLeaves(hasYielded: Bool) throws {
    if hasYielded { try yield() }
    try old.say(.finished)
    let reason = "the bus to be replaced has left the keeper"
    #expect(try new.lastWords() == [.refusal(reason)])
    #expect(try connection.isClosed)
  }

  @Test("is asked to leave by a keeper that is to end once it has the place, and not before")
  func keeperEnds() throws {
    try keeper.signal()
    #expect(try old.hear() == nil)
    try yield()
    try new.say(.ready)
    #expect(try old.lastWords() == [.finished])
    #expect(try new.hear() == .yielded)
    #expect(try new.hear() == .leaving)
    try new.say(.finished)
    #expect(try !keeper.turn())
  }
}
