// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@MainActor
private final class ScriptedKeeper: EventLoopTarget {
  let script: KeeperScript
  let link: KeeperLink
  let passed = PassedAtStart()
  private let loop: EventLoop

  init(_ steps: [KeeperScript.Step]) throws {
    script = try KeeperScript(steps)
    loop = try EventLoop(hostsMainQueue: false)
    let log = Log(level: .error, journal: nil)
    link = KeeperLink(path: script.path, manager: nil, loop: loop, log: log)
  }

  func wait(until hasHappened: () -> Bool) throws {
    while !hasHappened() {
      if case .down = link.state { throw KeeperLink.Failure(description: "the keeper is gone") }
      _ = try loop.iterate(for: self)
    }
  }

  var isUp: Bool { if case .up = link.state { true } else { false } }

  func end() async {
    link.leave(because: "the test ends")
    await script.expectEnd()
  }

  let hasWork = false
  let wantsIdle = false
  func beginIteration() {}
  func handleEvent(_ token: WatchToken, _ readiness: Readiness) { link.receive() }
  func becameIdle() {}
  func endIteration() -> Bool {
    link.flush()
    return true
  }
}

private struct Kept {
  let connection: WatchedConnection
  let log: WriteAheadLog
  let items: [KeptItem]
  let state: UInt64

  init() throws {
    connection = try WatchedConnection()
    log = try WriteAheadLog(slotCount: 0, segmentCapacity: 4096)
    state = try #require(FileDescriptor.lending(log.rawDescriptor) { $0.inode })
    items = [.connection(connection.cookie), .log(state)]
  }

  /// Call it once: the steps own the descriptors.
  func given() throws -> [KeeperScript.Step] {
    let descriptors = [connection.passed, try FileDescriptor.duplicate(of: log.rawDescriptor).release()]
    return [
      .hears(.attach(.resume(log: 0))), .gives(items, descriptors), .hears(.acknowledged(count: 2)),
    ]
  }
}

@MainActor
@Suite("A bus that takes over a keeper's descriptors", .timeLimit(.minutes(15)))
struct KeeperLinkResumingTests {
  @Test("gets all, which stay kept, and has the keeper forget those that it does not need")
  func resumes() async throws {
    let (kept, other) = (try Kept(), try WatchedConnection())
    let bus = try ScriptedKeeper(
      try kept.given() + [
        .says(.leaving), .gives([.connection(other.cookie)], [other.passed]), .hears(.acknowledged(count: 1)),
        .says(.end(count: 3)), .hears(.forget([.connection(other.cookie)])), .says(.acknowledged(count: 0)),
        .hearsEnd,
      ])
    try bus.link.resume(into: bus.passed)
    #expect(bus.passed.connectionCookies == [kept.connection.cookie, other.cookie].sorted())
    #expect(bus.passed.logInode == kept.state)
    for item in kept.items {
      bus.link.keep(item, lending: kept.log.rawDescriptor)
      #expect(bus.link.isKept(item))
    }
    bus.link.forgetUnclaimed()
    #expect(bus.link.flush(within: .seconds(60)))
    await bus.end()
  }

  @Test("tells the keeper which log it got elsewhere")
  func means() async throws {
    let kept = try Kept()
    let bus = try ScriptedKeeper([
      .hears(.attach(.resume(log: kept.state))), .says(.acknowledged(count: 0)), .hearsEnd,
    ])
    bus.passed.take([.log(kept.state)], [try FileDescriptor.duplicate(of: kept.log.rawDescriptor).release()])
    try bus.link.resume(into: bus.passed)
    #expect(bus.isUp)
    await bus.end()
  }

  @Test(
    "does not start if the keeper serves another bus, or does not answer",
    arguments: [
      (.says(.refusal("another one is served")), ": another one is served"), (.hearsEnd, " does not answer"),
    ] as [(KeeperScript.Step, String)])
  func refused(_ step: KeeperScript.Step, _ reason: String) async throws {
    let bus = try ScriptedKeeper([.hears(.attach(.resume(log: 0))), step])
    let error = #expect(throws: KeeperLink.Failure.self) { try bus.link.resume(into: bus.passed) }
    #expect(error?.description == "the keeper at \(bus.script.path)\(reason)")
    await bus.script.expectEnd()
  }

  private nonisolated static let nonsense: [[KeeperScript.Step]] = [
    [], [.says(.end(count: 1))], [.says(.finished)], [.says(.attach(.begin))], [.says(.forget([]))],
    [.saysBytes([1, 2, 3])],
  ]

  @Test("continues with the received ones if a keeper does not give everything", arguments: nonsense.indices)
  func nonsense(_ index: Int) async throws {
    let kept = try Kept()
    let bus = try ScriptedKeeper(
      try kept.given() + Self.nonsense[index]
        + [.hangsUp, .hears(.attach(.begin)), .says(.acknowledged(count: 0)), .hears(.batch([.file(1)]))]
        + [.says(.acknowledged(count: 1)), .hearsEnd])
    try bus.link.resume(into: bus.passed)
    #expect(!bus.isUp)
    #expect(bus.passed.connectionCookies == [kept.connection.cookie])
    bus.link.keep(.file(1), lending: kept.log.rawDescriptor)
    #expect(!bus.link.isKept(.file(1)))
    bus.link.tick(at: bus.link.now)
    try bus.wait { bus.link.isKept(.file(1)) }
    await bus.end()
  }

  @Test("continues without the descriptors beyond this process's limit")
  func lost() async throws {
    let connection = try WatchedConnection()
    let bus = try ScriptedKeeper([
      .hears(.attach(.resume(log: 0))),
      .gives([.connection(connection.cookie), .connection(1)], [connection.passed]),
      .hears(.acknowledged(count: 1)), .says(.end(count: 2)), .hearsEnd,
    ])
    try bus.link.resume(into: bus.passed)
    #expect(bus.isUp)
    #expect(bus.passed.connectionCookies == [connection.cookie])
    await bus.end()
  }
}

@MainActor
@Suite("A bus whose keeper breaks the protocol", .timeLimit(.minutes(15)))
struct BrokenKeeperTests {
  private func hasLeft(_ steps: [KeeperScript.Step]) async throws {
    let file = try SharedFile(length: 1)
    let bus = try ScriptedKeeper(
      [.hears(.attach(.begin)), .says(.acknowledged(count: 0)), .hears(.batch([.file(1)]))] + steps
        + [.hearsEnd])
    bus.link.keep(.file(1), lending: file.rawDescriptor)
    bus.link.tick(at: bus.link.now)
    #expect(throws: KeeperLink.Failure.self) { try bus.wait { false } }
    #expect(!bus.link.isKept(.file(1)))
    await bus.script.expectEnd()
  }

  @Test(
    "leaves a keeper that sends a message at the wrong time",
    arguments: [
      .attach(.begin), .batch([]), .forget([]), .acknowledged(count: 0), .end(count: 0), .finished,
    ] as [KeeperMessage])
  func nonsense(_ word: KeeperMessage) async throws {
    try await hasLeft([.says(.acknowledged(count: 1)), .says(word)])
  }

  @Test("leaves a keeper that sends garbage, passes descriptors or acknowledges too much")
  func garbage() async throws {
    let file = try SharedFile(length: 1)
    try await hasLeft([.saysBytes([1, 2, 3])])
    try await hasLeft([.gives([.file(2)], [try FileDescriptor.duplicate(of: file.rawDescriptor).release()])])
    try await hasLeft([.says(.acknowledged(count: 2))])
  }
}

@MainActor
@Suite("A bus whose keeper had no space", .timeLimit(.minutes(15)))
struct RefusedDescriptorTests {
  @Test("offers the keeper the same descriptor again after a second")
  func again() async throws {
    let item = KeptItem.connection(1)
    let bus = try ScriptedKeeper([
      .hears(.attach(.begin)), .says(.acknowledged(count: 0)),
      .hears(.batch([item])), .says(.acknowledged(count: 0)),
      .hears(.batch([item])), .says(.acknowledged(count: 1)), .hearsEnd,
    ])
    bus.link.keep(item, owning: try UnixSocket.make(nonblocking: true))
    bus.link.tick(at: bus.link.now)
    try bus.wait { bus.link.isUpToDate }
    #expect(!bus.link.isKept(item))
    bus.link.tick(at: bus.link.now.advanced(byNanoseconds: 1_000_000_000))
    try bus.wait { bus.link.isKept(item) }
    #expect(bus.link.nextDue == nil)
    await bus.end()
  }
}
