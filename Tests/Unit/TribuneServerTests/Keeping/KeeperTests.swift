// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneServer
import TribuneSystem
import TribuneTestSupport

@MainActor
@Suite("A keeper", .timeLimit(.minutes(15)))
struct KeeperTests {
  private let keeper: SteppedKeeper
  private let bus: KeptBus

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

  @Test("keeps its bus's descriptors until the bus withdraws them")
  func keeps() throws {
    let connections = try connections(3)
    #expect(try bus.keep(connections) == 3)
    #expect(keeper.count == 3)
    #expect(
      try bus.ask(.forget([.connection(connections[1].cookie), .connection(1)])) == .acknowledged(count: 0))
    #expect(keeper.count == 2)
    #expect(try connections[1].isClosed)
  }

  @Test("gives the next bus everything, and still keeps it")
  func gives() throws {
    // More than the keeper gives before it waits for an acknowledgement.
    let connections = try connections(KeeperMessage.windowMax * KeeperMessage.itemsMax + 10)
    for start in stride(from: 0, to: connections.count, by: KeeperMessage.itemsMax) {
      let some = connections[start..<min(start + KeeperMessage.itemsMax, connections.count)]
      #expect(try bus.keep(Array(some)) == some.count)
    }
    for _ in 1...2 {
      bus.hangUp()
      let next = try keeper.bus(saying: .attach(.resume(log: 0)))
      #expect(Set(try next.takeAll()) == items(connections))
      #expect(keeper.count == connections.count)
      next.hangUp()
    }
  }

  @Test("sends no more than a window of unacknowledged messages")
  func window() throws {
    let item = try WatchedConnection()
    // The descriptors' kinds are not checked.
    for number in 0..<UInt64(KeeperMessage.windowMax + 1) {
      let items = (0..<UInt64(KeeperMessage.itemsMax)).map { KeptItem.connection(number << 32 | $0) }
      let copies = [CInt](repeating: item.passed, count: items.count)
      #expect(try bus.ask(.batch(items), passing: copies) == .acknowledged(count: items.count))
    }
    bus.hangUp()
    let next = try keeper.bus(saying: .attach(.resume(log: 0)))
    for _ in 0..<KeeperMessage.windowMax {
      guard case .batch? = try next.hear() else { throw Errno.inputOutput }
    }
    #expect(try next.hear() == nil)
    guard case .batch? = try next.ask(.acknowledged(count: 253)) else { throw Errno.inputOutput }
  }

  @Test("takes no more than its capacity, and reports how many it took")
  func capacity() throws {
    let keeper = try SteppedKeeper(capacity: 3)
    let bus = try keeper.servedBus()
    let connections = try connections(5)
    #expect(try bus.keep(Array(connections[..<2])) == 2)
    #expect(try bus.keep(Array(connections[2...])) == 1)
    #expect(keeper.count == 3)
    #expect(try connections[3].isClosed && connections[4].isClosed)
    let another = try WatchedConnection()
    #expect(try bus.keep([], and: [.connection(connections[0].cookie)], [another.passed]) == 1)
    #expect(try connections[0].isClosed)
    #expect(keeper.count == 3)
  }

  @Test("also closes a connection with unread bytes")
  func unread() throws {
    let connection = try WatchedConnection()
    try connection.write()
    #expect(try bus.keep([connection]) == 1)
    #expect(try bus.ask(.forget([.connection(connection.cookie)])) == .acknowledged(count: 0))
    #expect(try connection.isClosed)
  }

  // MARK: Serving

  @Test(
    "gives everything to a bus with the same log, and closes it for a bus with another one",
    arguments: [
      (.resume(log: 0), true), (.resume(log: 7), true), (.resume(log: 8), false), (.begin, false),
    ] as [(KeeperAttachment, Bool)])
  func state(_ attachment: KeeperAttachment, isGiven: Bool) throws {
    let (connection, state) = (try WatchedConnection(), try WatchedConnection())
    #expect(try bus.keep([connection], and: [.log(7)], [state.passed]) == 2)
    bus.hangUp()
    let next = try keeper.bus(saying: .attach(attachment))
    if isGiven {
      #expect(Set(try next.takeAll()) == [.connection(connection.cookie), .log(7)])
    } else {
      #expect(try next.hear() == .acknowledged(count: 0))
      #expect(try connection.isClosed && state.isClosed)
    }
  }

  @Test("serves a bus that comes before the keeper notices that the last one died")
  func diesJustBefore() throws {
    let keeper = try SteppedKeeper()
    var bus: KeptBus? = try keeper.servedBus()
    let next = try keeper.bus()
    try keeper.turn()
    let connection = try WatchedConnection()
    // Within a turn, the keeper reads messages in their order of arrival.
    try next.say(.attach(.resume(log: 0)))
    try bus?.say(.batch([.connection(connection.cookie)]), passing: [connection.passed])
    close(connection.passed)
    bus = nil
    #expect(try next.takeAll() == [.connection(connection.cookie)])
  }

  // MARK: The lease

  private final class Lease {
    private let pair: UnixSocket.SocketPair
    init() throws { pair = try UnixSocket.makePair() }
    var keepers: CInt { pair.one.rawValue }
    func end() { UnixSocket.shutdown(pair.other) }
  }

  private func leased() throws -> (Lease, WatchedConnection) {
    let (lease, connection) = (try Lease(), try WatchedConnection())
    #expect(try bus.ask(.batch([.lease]), passing: [lease.keepers]) == .acknowledged(count: 1))
    #expect(try bus.keep([connection]) == 1)
    return (lease, connection)
  }

  @Test("keeps a bus's descriptors until the lease ends, and gives the lease to no bus")
  func lease() throws {
    let (lease, connection) = try leased()
    bus.hangUp()
    let next = try keeper.bus(saying: .attach(.resume(log: 0)))
    #expect(try next.takeAll() == [.connection(connection.cookie)])
    next.hangUp()
    try keeper.turn()
    #expect(keeper.count == 2)
    lease.end()
    try keeper.turn()
    #expect(keeper.count == 0)
    #expect(try connection.isClosed)
  }

  @Test("gives nothing to a bus that arrives just as the lease ends")
  func leaseEndsJustBefore() throws {
    let (lease, connection) = try leased()
    let next = try keeper.bus()
    try keeper.turn()
    try next.say(.attach(.resume(log: 0)))
    bus.hangUp()
    lease.end()
    #expect(try next.hear() == .acknowledged(count: 0))
    #expect(try connection.isClosed)
  }

  @Test(
    "uses the last lease that it got, even if the previous one ends at that moment",
    arguments: [false, true])
  func secondLease(endsJustThen: Bool) throws {
    let (first, _) = try leased()
    let second = try Lease()
    try bus.say(.batch([.lease]), passing: [second.keepers])
    if endsJustThen { first.end() }
    #expect(try bus.hear() == .acknowledged(count: 1))
    bus.hangUp()
    first.end()
    try keeper.turn()
    #expect(keeper.count == 2)
    second.end()
    try keeper.turn()
    #expect(keeper.count == 0)
  }

  @Test("stays with its bus when a lease that the bus withdrew ends")
  func forgottenLease() throws {
    let (lease, _) = try leased()
    #expect(try bus.ask(.forget([.lease])) == .acknowledged(count: 0))
    lease.end()
    let another = try Lease()
    #expect(try bus.ask(.batch([.lease]), passing: [another.keepers]) == .acknowledged(count: 1))
    #expect(keeper.count == 2)
  }

  // MARK: Broken protocol

  @Test(
    "refuses a stranger that sends a message at the wrong time, and still serves its bus",
    arguments: [
      .batch([.connection(1)]), .forget([.connection(1)]), .acknowledged(count: 1), .end(count: 0), .leaving,
      .finished, .refusal("no"),
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
    "refuses its own bus after a breach of protocol, and closes its descriptors: the bus may continue elsewhere",
    arguments: [
      .attach(.begin), .acknowledged(count: 1), .end(count: 0), .leaving, .refusal("no"),
    ] as [KeeperMessage])
  func owner(_ message: KeeperMessage) throws {
    let connection = try WatchedConnection()
    #expect(try bus.keep([connection]) == 1)
    try bus.say(message)
    #expect(try bus.lastWords()?.count == 1)
    #expect(try connection.isClosed)
    #expect(try keeper.servedBus().keep([try WatchedConnection()]) == 1)
  }

  @Test(
    "refuses a stranger that sends garbage, and still serves its bus",
    arguments: [
      [], [0], [0, 0, 0, 0, 99, 0, 0, 0], [0, 0, 0, 0, 2, 200, 0, 0],
      [UInt8](repeating: 0xFF, count: KeeperMessage.lengthMax + 100),
    ] as [[UInt8]])
  func garbage(_ bytes: [UInt8]) throws {
    let stranger = try keeper.bus()
    try stranger.say(bytes: bytes)
    // An empty packet looks like the end of the stream.
    let refusals = bytes.isEmpty ? 0 : 1
    #expect(try stranger.lastWords()?.count == refusals)
    #expect(try bus.keep([try WatchedConnection()]) == 1)
    try bus.say(bytes: bytes)
    #expect(try bus.lastWords()?.count == refusals)
    #expect(keeper.count == 1 - refusals)
  }

  @Test("hangs up on a bus that does not read")
  func deaf() throws {
    #expect(throws: KeeperChannel.Failure.ended) {
      for _ in 0..<100_000 {
        try bus.say(.forget([]))
        try keeper.turn()
      }
    }
    #expect(try keeper.servedBus().keep([try WatchedConnection()]) == 1)
  }

  @Test("refuses connections beyond its limit, and still serves its bus")
  func crowd() throws {
    let idle = try (0..<10).map { _ in try keeper.bus() }
    let refusal = [KeeperMessage.refusal("too many buses are connected")]
    #expect(try idle.count { try $0.lastWords() == refusal } == 7)
    #expect(try bus.keep([try WatchedConnection()]) == 1)
    for bus in idle[..<3] { bus.hangUp() }
    for bus in try (0..<4).map({ _ in try keeper.bus() }) { bus.hangUp() }
    let other = try keeper.bus(saying: .attach(.begin))
    #expect(try other.lastWords() == [.refusal("another bus is served")])
  }

  // MARK: Its end

  @Test("without descriptors, ends at the signal")
  func endVacant() throws {
    let keeper = try SteppedKeeper()
    #expect(try keeper.turn())
    try keeper.signal()
    #expect(try !keeper.turn())
  }

  @Test("with descriptors, asks its bus to leave, and ends when it has left")
  func endOwned() throws {
    try keeper.signal()
    #expect(try bus.hear() == .leaving)
    #expect(try bus.keep([try WatchedConnection()]) == 1)
    try bus.say(.finished)
    #expect(try !keeper.turn())
  }

  @Test("gives everything to the next bus before it ends, if its bus has gone")
  func endAwaited() throws {
    let connection = try WatchedConnection()
    #expect(try bus.keep([connection]) == 1)
    bus.hangUp()
    try keeper.turn()
    try keeper.signal()
    #expect(try keeper.turn())
    let next = try keeper.bus(saying: .attach(.resume(log: 0)))
    #expect(try next.takeAll() == [.connection(connection.cookie)])
    #expect(try next.hear() == .leaving)
    try next.say(.finished)
    #expect(try !keeper.turn())
  }

  // MARK: Listening

  @Test("takes over the socket of a dead keeper, but no other file")
  func listening() throws {
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

  @Test("without a free descriptor for a bus, continues, and admits the bus once it has one")
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
