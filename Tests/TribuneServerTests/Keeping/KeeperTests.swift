// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneServer
import TribuneSystem
import TribuneTestSupport

/// A keeper, and buses that say what the test has them say.
@MainActor
@Suite("A keeper", .timeLimit(.minutes(15)))
struct KeeperTests {
  private let keeper: SteppedKeeper
  private let bus: ScriptedBus

  init() throws {
    keeper = try SteppedKeeper()
    bus = try keeper.servedBus()
  }

  private func connections(_ count: Int) throws -> [WatchedConnection] {
    try (0..<count).map { _ in try WatchedConnection() }
  }

  private func items(_ connections: [WatchedConnection]) -> Set<KeptItem> {
    Set(connections.map { .connection($0.cookie) })
  }

  // MARK: Keeping

  @Test("keeps what its bus sends until the bus takes it back")
  func keeps() throws {
    let connections = try connections(3)
    #expect(try bus.keep(connections) == 3)
    #expect(keeper.count == 3)
    #expect(try bus.ask(.forget([.connection(connections[1].cookie), .connection(1)])) == .taken(count: 0))
    #expect(keeper.count == 2)
    #expect(try connections[1].isClosed)
  }

  @Test("gives the next bus all of it, and keeps it still")
  func gives() throws {
    // More than are given ahead of what is acknowledged.
    let connections = try connections(KeeperMessage.windowMax * KeeperMessage.itemsMax + 10)
    for start in stride(from: 0, to: connections.count, by: KeeperMessage.itemsMax) {
      let some = connections[start..<min(start + KeeperMessage.itemsMax, connections.count)]
      #expect(try bus.keep(Array(some)) == some.count)
    }
    for _ in 1...2 {
      bus.hangUp()
      let next = try keeper.bus()
      try next.say(.attach(.resume(log: 0)))
      #expect(Set(try next.takeAll()) == items(connections))
      #expect(keeper.count == connections.count)
      next.hangUp()
    }
  }

  @Test("gives no more than a window of messages ahead of what is acknowledged")
  func window() throws {
    let item = try WatchedConnection()
    // Nobody looks at what they are.
    for number in 0..<UInt64(KeeperMessage.windowMax + 1) {
      let items = (0..<UInt64(KeeperMessage.itemsMax)).map { KeptItem.connection(number << 32 | $0) }
      let copies = [CInt](repeating: item.passed, count: items.count)
      #expect(try bus.ask(.batch(items), passing: copies) == .taken(count: items.count))
    }
    bus.hangUp()
    let next = try keeper.bus()
    try next.say(.attach(.resume(log: 0)))
    for _ in 0..<KeeperMessage.windowMax {
      guard case .batch? = try next.hear() else { throw Errno.inputOutput }
    }
    #expect(try next.hear() == nil)
    guard case .batch? = try next.ask(.taken(count: 253)) else { throw Errno.inputOutput }
  }

  @Test("has one thing under each name, and lets go of what another one takes the place of")
  func replaces() throws {
    let states = try connections(2)
    for state in states {
      #expect(try bus.keep([], and: [.log(5)], [state.passed]) == 1)
    }
    #expect(keeper.count == 1)
    #expect(try states[0].isClosed)
  }

  @Test("takes no more than it has room for, and says how many")
  func capacity() throws {
    let keeper = try SteppedKeeper(capacity: 3)
    let bus = try keeper.servedBus()
    let connections = try connections(5)
    #expect(try bus.keep(Array(connections[..<2])) == 2)
    #expect(try bus.keep(Array(connections[2...])) == 1)
    #expect(keeper.count == 3)
    #expect(try connections[3].isClosed && connections[4].isClosed)
    // What has a place goes on having one.
    let another = try WatchedConnection()
    #expect(try bus.keep([], and: [.connection(connections[0].cookie)], [another.passed]) == 1)
    #expect(try connections[0].isClosed)
  }

  @Test("closes also a connection in which something is that nobody has read")
  func unread() throws {
    let connection = try WatchedConnection()
    try connection.write()
    #expect(try bus.keep([connection]) == 1)
    #expect(try bus.ask(.forget([.connection(connection.cookie)])) == .taken(count: 0))
    #expect(try connection.isClosed)
  }

  // MARK: Who is served

  @Test("gives what it has to a bus that means the same log, and lets go of it for any other one")
  func state() throws {
    for (attachment, isGiven) in [
      (.resume(log: 0), true), (.resume(log: 7), true), (.resume(log: 8), false), (.begin, false),
      (.replace(logVersion: 1), true),
    ] as [(KeeperAttachment, Bool)] {
      let keeper = try SteppedKeeper()
      let bus = try keeper.servedBus()
      let (connection, state) = (try WatchedConnection(), try WatchedConnection())
      #expect(try bus.keep([connection], and: [.log(7)], [state.passed]) == 2)
      bus.hangUp()
      let next = try keeper.bus()
      try next.say(.attach(attachment))
      if isGiven {
        #expect(Set(try next.takeAll()) == [.connection(connection.cookie), .log(7)])
      } else {
        #expect(try next.hear() == .taken(count: 0), "\(attachment)")
        #expect(try connection.isClosed && state.isClosed)
      }
    }
  }

  @Test(
    "serves one bus, and refuses others meanwhile",
    arguments: [.begin, .resume(log: 0)] as [KeeperAttachment])
  func second(_ attachment: KeeperAttachment) throws {
    let other = try keeper.bus()
    try other.say(.attach(attachment))
    #expect(try other.lastWords() == [.refusal("another bus is served")])
    #expect(try bus.keep([try WatchedConnection()]) == 1)
  }

  @Test("serves a bus that comes before it has seen that the last one has died")
  func diesJustBefore() throws {
    let keeper = try SteppedKeeper()
    var bus: ScriptedBus? = try keeper.servedBus()
    let next = try keeper.bus()
    try keeper.turn()
    let connection = try WatchedConnection()
    // Of one turn, the keeper hears first whoever has spoken first.
    try next.say(.attach(.resume(log: 0)))
    try bus?.say(.batch([.connection(connection.cookie)]), passing: [connection.passed])
    close(connection.passed)
    bus = nil
    #expect(try next.takeAll() == [.connection(connection.cookie)])
  }

  @Test("lets go of everything when its bus ends for good, and serves the next one anew")
  func over() throws {
    let connection = try WatchedConnection()
    #expect(try bus.keep([connection]) == 1)
    try bus.say(.over)
    try keeper.turn()
    #expect(try connection.isClosed)
    let next = try keeper.bus()
    #expect(try next.ask(.attach(.resume(log: 0))) == .taken(count: 0))
  }

  // MARK: The lease

  /// Two ends of a lease, of which the keeper has one.
  private final class Lease {
    private let pair: UnixSocket.SocketPair
    init() throws { pair = try UnixSocket.makePair() }
    var keepers: CInt { pair.one.rawValue }
    /// Whoever has the other end lets go of it.
    func end() { UnixSocket.shutdown(pair.other) }
  }

  /// A bus that has a lease and a connection kept.
  private func leased(_ keeper: SteppedKeeper) throws -> (ScriptedBus, Lease, WatchedConnection) {
    let (bus, lease, connection) = (try keeper.servedBus(), try Lease(), try WatchedConnection())
    #expect(try bus.ask(.batch([.lease]), passing: [lease.keepers]) == .taken(count: 1))
    #expect(try bus.keep([connection]) == 1)
    return (bus, lease, connection)
  }

  @Test("keeps what a bus has left for as long as there is a lease, and gives the lease to nobody")
  func lease() throws {
    let keeper = try SteppedKeeper()
    let (bus, lease, connection) = try leased(keeper)
    bus.hangUp()
    let next = try keeper.bus()
    try next.say(.attach(.resume(log: 0)))
    #expect(try next.takeAll() == [.connection(connection.cookie)])
    next.hangUp()
    try keeper.turn()
    #expect(keeper.count == 2)
    lease.end()
    try keeper.turn()
    #expect(keeper.count == 0)
    #expect(try connection.isClosed)
  }

  @Test("has nothing for a bus that comes when the lease has just ended")
  func leaseEndsJustBefore() throws {
    let keeper = try SteppedKeeper()
    let (bus, lease, connection) = try leased(keeper)
    let next = try keeper.bus()
    try keeper.turn()
    // All of that is one turn's.
    try next.say(.attach(.resume(log: 0)))
    bus.hangUp()
    lease.end()
    #expect(try next.hear() == .taken(count: 0))
    #expect(try connection.isClosed)
  }

  @Test("goes by the last lease that it was given")
  func secondLease() throws {
    let keeper = try SteppedKeeper()
    let (bus, first, _) = try leased(keeper)
    let second = try Lease()
    #expect(try bus.ask(.batch([.lease]), passing: [second.keepers]) == .taken(count: 1))
    bus.hangUp()
    first.end()
    try keeper.turn()
    #expect(keeper.count == 2)
    second.end()
    try keeper.turn()
    #expect(keeper.count == 0)
  }

  @Test("goes by a lease that comes when the last one has just ended")
  func leaseRenewedJustBefore() throws {
    let keeper = try SteppedKeeper()
    let (bus, first, _) = try leased(keeper)
    let second = try Lease()
    try bus.say(.batch([.lease]), passing: [second.keepers])
    first.end()
    #expect(try bus.hear() == .taken(count: 1))
    bus.hangUp()
    try keeper.turn()
    #expect(keeper.count == 2)
    second.end()
    try keeper.turn()
    #expect(keeper.count == 0)
  }

  @Test("goes on without the lease when the bus takes it back")
  func forgottenLease() throws {
    let keeper = try SteppedKeeper()
    let (bus, lease, _) = try leased(keeper)
    #expect(try bus.ask(.forget([.lease])) == .taken(count: 0))
    lease.end()
    let another = try Lease()
    #expect(try bus.ask(.batch([.lease]), passing: [another.keepers]) == .taken(count: 1))
    #expect(keeper.count == 2)
  }

  // MARK: Who makes no sense

  @Test(
    "refuses who says what is not to be said now, and goes on serving the others",
    arguments: [
      .batch([.connection(1)]), .forget([.connection(1)]), .taken(count: 1), .end(count: 0), .leaving, .over,
      .wanted(logVersion: 1), .yours, .ready, .refusal("no"),
    ] as [KeeperMessage])
  func stranger(_ message: KeeperMessage) throws {
    let stranger = try keeper.bus()
    let connection = try WatchedConnection()
    var passed: [CInt] = []
    if case .batch = message { passed = [connection.passed] }
    try stranger.say(message, passing: passed)
    close(connection.passed)
    let words = try #require(try stranger.lastWords())
    guard words.count == 1, case .refusal = words[0] else {
      Issue.record("\(words)")
      return
    }
    #expect(try connection.isClosed)
    #expect(try bus.keep([try WatchedConnection()]) == 1)
  }

  @Test(
    "refuses its own bus that makes no sense, and lets go of what it had: it may go on elsewhere",
    arguments: [.attach(.begin), .taken(count: 1), .end(count: 0), .wanted(logVersion: 1), .leaving]
      as [KeeperMessage])
  func owner(_ message: KeeperMessage) throws {
    let connection = try WatchedConnection()
    #expect(try bus.keep([connection]) == 1)
    try bus.say(message)
    #expect(try bus.lastWords()?.count == 1)
    #expect(try connection.isClosed)
    #expect(try keeper.servedBus().keep([try WatchedConnection()]) == 1)
  }

  @Test(
    "refuses who sends no message, and goes on serving the others",
    arguments: [
      [], [0], [0, 0, 0, 0, 99, 0, 0, 0], [0, 0, 0, 0, 2, 200, 0, 0],
      [UInt8](repeating: 0xFF, count: KeeperMessage.lengthMax + 100),
    ] as [[UInt8]])
  func garbage(_ bytes: [UInt8]) throws {
    let stranger = try keeper.bus()
    try stranger.say(bytes: bytes)
    // What is empty is like an end.
    let refusals = bytes.isEmpty ? 0 : 1
    #expect(try stranger.lastWords()?.count == refusals)
    #expect(try bus.keep([try WatchedConnection()]) == 1)
    try bus.say(bytes: bytes)
    #expect(try bus.lastWords()?.count == refusals)
    #expect(keeper.count == 1 - refusals)
  }

  @Test("hangs up on a bus that does not read what it is said")
  func deaf() throws {
    #expect(throws: KeeperChannel.Failure.ended) {
      // Each is acknowledged.
      for _ in 0..<100_000 {
        try bus.say(.forget([]))
        try keeper.turn()
      }
    }
    #expect(try keeper.servedBus().keep([try WatchedConnection()]) == 1)
  }

  @Test("lets in no more than it has places for, and serves those that it has")
  func crowd() throws {
    let idle = try (0..<10).map { _ in try keeper.bus() }
    let refusal = [KeeperMessage.refusal("too many buses are connected")]
    #expect(try idle.count { try $0.lastWords() == refusal } == 7)
    #expect(try bus.keep([try WatchedConnection()]) == 1)
    idle[0].hangUp()
    let other = try keeper.bus()
    try other.say(.attach(.begin))
    #expect(try other.lastWords() == [.refusal("another bus is served")])
  }

  // MARK: Its end

  @Test("that has nothing ends with the signal")
  func endVacant() throws {
    let keeper = try SteppedKeeper()
    #expect(try keeper.turn())
    try keeper.signal()
    #expect(try !keeper.turn())
  }

  @Test("that has something ends when its bus goes on without it")
  func endOwned() throws {
    try keeper.signal()
    #expect(try bus.hear() == .leaving)
    #expect(try bus.keep([try WatchedConnection()]) == 1)
    try bus.say(.over)
    #expect(try !keeper.turn())
  }

  @Test("whose bus has gone gives the next one everything, and ends then")
  func endAwaited() throws {
    let connection = try WatchedConnection()
    #expect(try bus.keep([connection]) == 1)
    bus.hangUp()
    try keeper.turn()
    try keeper.signal()
    #expect(try keeper.turn())
    let next = try keeper.bus()
    try next.say(.attach(.resume(log: 0)))
    #expect(try next.takeAll() == [.connection(connection.cookie)])
    #expect(try next.hear() == .leaving)
    try next.say(.over)
    #expect(try !keeper.turn())
  }

  // MARK: Where it listens

  @Test("listens in place of a keeper that has died, and of nobody else")
  func listening() throws {
    let keeper = try SteppedKeeper()
    #expect(throws: Errno.addressInUse) { _ = try Keeper.listener(at: keeper.path) }
    keeper.die()
    #expect(SocketFile.isSocket(at: keeper.path) == true)
    try keeper.start()
    #expect(try keeper.servedBus().keep([try WatchedConnection()]) == 1)
    try keeper.folder.write("file", "mine")
    let file = "\(keeper.folder.path)/file"
    #expect(throws: Errno.fileExists) { _ = try Keeper.listener(at: file) }
    #expect(SocketFile.isSocket(at: file) == false)
  }

  @Test("that has no descriptor for a bus goes on, and lets it in when there is one")
  func noDescriptors() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        let keeper = try SteppedKeeper()
        let bus = try keeper.servedBus()
        let connection = try WatchedConnection()
        let waiting = try keeper.bus()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var usual = rlimit()
        #expect(unsafe getrlimit(resource, &usual) == 0)
        var none = rlimit(rlim_cur: 0, rlim_max: usual.rlim_max)
        #expect(unsafe setrlimit(resource, &none) == 0)
        let goesOn = try keeper.turn()
        #expect(unsafe setrlimit(resource, &usual) == 0)
        #expect(goesOn)
        #expect(try bus.keep([connection]) == 1)
        bus.hangUp()
        try waiting.say(.attach(.resume(log: 0)))
        try keeper.turn { try waiting.isAddressed }
        #expect(try waiting.takeAll() == [.connection(connection.cookie)])
      }
    }
  }
}
