// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneCore
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@MainActor
private final class LinkedKeeper {
  private final class Clock {
    var now = Instant(nanoseconds: SystemClock.monotonicNanoseconds)
  }

  let keeper: SteppedKeeper
  let link: KeeperLink
  private let loop: EventLoop
  private let clock = Clock()

  init(capacity: Int = 10_000) throws {
    keeper = try SteppedKeeper(capacity: capacity)
    loop = try EventLoop(hostsMainQueue: false)
    let log = Log(level: .error, journal: nil)
    link = KeeperLink(path: keeper.path, manager: nil, loop: loop, log: log) { [clock] in clock.now }
  }

  /// Any socket serves: its kind is not checked.
  func keep(_ range: Range<Int>) throws {
    for key in range { link.keep(.connection(UInt64(key)), owning: try UnixSocket.make(nonblocking: true)) }
  }

  func forget(_ range: Range<Int>) { for key in range { link.forget(.connection(UInt64(key))) } }

  func settle(seconds: UInt64 = 0, keeperTurns: Bool = true) throws {
    clock.now = clock.now.advanced(byNanoseconds: seconds * 1_000_000_000)
    for _ in 0..<20 {
      link.tick(at: clock.now)
      link.flush()
      if keeperTurns { try keeper.turn() }
      link.receive()
    }
  }

  func keptCount(of range: Range<Int>) -> Int { range.count { link.isKept(.connection(UInt64($0))) } }
}

@MainActor
@Suite("A bus and its keeper", .timeLimit(.minutes(15)))
struct KeeperLinkTests {
  private let pair: LinkedKeeper

  init() throws { pair = try LinkedKeeper() }

  @Test("a descriptor counts as kept once the keeper has acknowledged it, and not before")
  func kept() throws {
    try pair.keep(0..<1000)
    #expect(pair.keptCount(of: 0..<1000) == 0)
    try pair.settle(seconds: 1, keeperTurns: false)
    #expect(pair.keptCount(of: 0..<1000) == 0)
    try pair.settle()
    #expect(pair.keptCount(of: 0..<1000) == 1000)
    #expect(pair.keeper.count == 1000)
    #expect(pair.link.keepsAll)
  }

  @Test("a new descriptor under the name of a withdrawn one is kept")
  func again() throws {
    try pair.keep(0..<100)
    try pair.settle(seconds: 1)
    pair.forget(0..<100)
    try pair.keep(0..<50)
    pair.forget(0..<50)
    try pair.keep(0..<25)
    try pair.settle()
    #expect(pair.keeper.count == 25)
    #expect(pair.keptCount(of: 0..<100) == 25)
  }

  @Test("a keeper that is told to end does so, and the bus sends everything to the next one")
  func leaving() throws {
    try pair.keep(0..<500)
    try pair.settle(seconds: 1)
    try pair.keeper.signal()
    while try pair.keeper.turn() { pair.link.receive() }
    #expect(pair.keptCount(of: 0..<500) == 0)
    pair.keeper.die()
    try pair.keeper.start()
    try pair.settle(seconds: 1)
    #expect(pair.keptCount(of: 0..<500) == 500)
  }

  @Test("in a hand-over, the bus waits for a slow keeper, and withdraws unacknowledged descriptors")
  func slow() throws {
    try pair.keep(0..<500)
    try pair.settle(seconds: 1)
    try pair.keep(500..<600)
    pair.link.isHandingOver = true
    try pair.settle(seconds: 6, keeperTurns: false)
    #expect(pair.link.isUp)
    #expect(pair.keptCount(of: 0..<600) == 500)
    pair.link.forgetUnkept()
    try pair.keeper.turn()
    #expect(pair.keeper.count == 500)
  }

  @Test("after 5 s without an answer, no descriptor counts as kept, and all do once the keeper continues")
  func hung() throws {
    try pair.keep(0..<500)
    try pair.settle(seconds: 1)
    #expect(pair.keptCount(of: 0..<500) == 500)
    try pair.keep(500..<501)
    try pair.settle(keeperTurns: false)
    try pair.settle(seconds: 4, keeperTurns: false)
    #expect(pair.keptCount(of: 0..<501) == 500)
    try pair.settle(seconds: 2, keeperTurns: false)
    #expect(pair.keptCount(of: 0..<501) == 0)
    try pair.settle(seconds: 1)
    #expect(pair.keptCount(of: 0..<501) == 501)
    #expect(pair.keeper.count == 501)
  }

  @Test("descriptors beyond the keeper's capacity are not kept, and the bus does not wait for them")
  func full() throws {
    let pair = try LinkedKeeper(capacity: 300)
    try pair.keep(0..<500)
    try pair.settle(seconds: 1)
    #expect(pair.keeper.count == 300)
    #expect(pair.keptCount(of: 0..<500) == 300)
    #expect(!pair.link.keepsAll)
    #expect(!pair.link.flush(within: .seconds(60)))
  }

  @Test("a bus that ends for good leaves nothing, and looks for no other keeper")
  func over() throws {
    try pair.keep(0..<10)
    try pair.settle(seconds: 1)
    pair.link.end()
    try pair.settle(seconds: 100)
    #expect(pair.keeper.count == 0)
    #expect(pair.link.nextDue == nil)
  }
}
