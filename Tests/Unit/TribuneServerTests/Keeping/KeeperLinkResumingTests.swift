// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

/// A bus's link to a keeper that follows a script.
@MainActor
private final class ScriptedKeeper: EventLoopTarget {
  let script: KeeperScript
  let link: KeeperLink
  let passed = PassedAtStart()
  private let loop: EventLoop

  init(_ steps: [KeeperScript.Step]) throws {
    script = try KeeperScript(steps)
    loop = try EventLoop(hostsMainQueue: false)
    let log = Log(level: .error, destination: .standardError)
    link = KeeperLink(path: script.path, manager: nil, loop: loop, log: log)
  }

  /// Runs the event loop until a message of the keeper has had its effect.
  func wait(until hasHappened: () -> Bool) throws {
    while !hasHappened() {
      if case .down = link.state { throw KeeperLink.Failure(description: "the keeper is gone") }
      _ = try loop.iterate(for: self)
    }
  }

  var isUp: Bool { if case .up = link.state { true } else { false } }

  /// Leaves the keeper, and waits for its end.
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

/// A connection and a log that a keeper has.
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

  /// The steps in which a keeper gives both. Call it once.
  ///
  /// - Parameter more: items without a descriptor.
  func given(to attachment: KeeperAttachment, and more: [KeptItem] = []) throws -> [KeeperScript.Step] {
    let descriptors = [connection.passed, try FileDescriptor.duplicate(of: log.rawDescriptor).release()]
    return [.hears(.attach(attachment)), .gives(items + more, descriptors), .hears(.acknowledged(count: 2))]
  }
}

private let replace = KeeperAttachment.replace(logVersion: WriteAheadLog.version)

@MainActor
@Suite("A bus that takes over what a keeper has", .timeLimit(.minutes(15)))
struct KeeperLinkResumingTests {
  @Test("goes on with all of it, which stays kept, and has the keeper forget what it does not need")
  func resumes() async throws {
    let (kept, other) = (try Kept(), try WatchedConnection())
    let bus = try ScriptedKeeper(
      try kept.given(to: .resume(log: 0)) + [
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

  /// The last steps of keepers that die too early, or break the protocol.
  private nonisolated static let nonsense: [[KeeperScript.Step]] = [
    [], [.says(.end(count: 1))], [.says(.yielded)], [.says(.yieldRequest(logVersion: 1))], [.says(.finished)],
    [.says(.attach(.begin))], [.says(.forget([]))], [.says(.ready)], [.saysBytes([1, 2, 3])],
  ]

  @Test("goes on with what has come if a keeper does not give everything", arguments: nonsense.indices)
  func nonsense(_ index: Int) async throws {
    let kept = try Kept()
    let bus = try ScriptedKeeper(
      try kept.given(to: .resume(log: 0)) + Self.nonsense[index]
        // The bus sends everything to the next keeper.
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

  @Test("goes on without the descriptors that are beyond this process's limit")
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
@Suite("A bus that replaces another one", .timeLimit(.minutes(15)))
struct KeeperLinkReplacingTests {
  @Test(
    "has the place when the keeper says so, even if the keeper is leaving",
    arguments: [[.yielded], [.leaving, .yielded]] as [[KeeperMessage]])
  func takesPlace(_ words: [KeeperMessage]) async throws {
    let kept = try Kept()
    let bus = try ScriptedKeeper(
      try kept.given(to: replace) + [.says(.end(count: 2)), .hears(.ready)] + words.map { .says($0) }
        + [.hearsEnd])
    try bus.link.replace(into: bus.passed)
    #expect(bus.passed.logInode == kept.state)
    try bus.link.takePlace()
    #expect(bus.isUp)
    await bus.end()
  }

  @Test(
    "fails if the keeper refuses, before the bus is ready or then",
    arguments: [
      (false, .refusal("not now")), (false, nil), (true, .refusal("not now")), (true, nil),
      (true, .finished), (true, .yieldRequest(logVersion: 1)),
    ] as [(Bool, KeeperMessage?)])
  func refused(isReady: Bool, _ word: KeeperMessage?) async throws {
    let steps: [KeeperScript.Step] = isReady ? [.says(.end(count: 2)), .hears(.ready)] : []
    let kept = try Kept()
    let bus = try ScriptedKeeper(try kept.given(to: replace) + steps + (word.map { [.says($0)] } ?? []))
    if isReady { try bus.link.replace(into: bus.passed) }
    let error = #expect(throws: KeeperLink.Failure.self) {
      if isReady { try bus.link.takePlace() } else { try bus.link.replace(into: bus.passed) }
    }
    let reason = word == nil ? "the connection was closed" : "not now"
    #expect(isReady || error?.description == "cannot replace the bus: \(reason)")
    await bus.script.expectEnd()
  }

  @Test("fails if it cannot take everything: the other bus can go on")
  func lost() async throws {
    let kept = try Kept()
    let bus = try ScriptedKeeper(try kept.given(to: replace, and: [.connection(1)]) + [.says(.end(count: 3))])
    let error = #expect(throws: KeeperLink.Failure.self) { try bus.link.replace(into: bus.passed) }
    #expect(error?.description.hasPrefix("cannot replace the bus: could not receive 1 descriptor; ") == true)
    await bus.script.expectEnd()
  }

  @Test("fails if the other bus has no log")
  func withoutState() async throws {
    let connection = try WatchedConnection()
    let bus = try ScriptedKeeper([
      .hears(.attach(replace)), .gives([.connection(connection.cookie)], [connection.passed]),
      .hears(.acknowledged(count: 1)), .says(.end(count: 1)),
    ])
    #expect(throws: KeeperLink.Failure.self) { try bus.link.replace(into: bus.passed) }
    await bus.script.expectEnd()
  }
}

@MainActor
@Suite("A bus that is asked for its place", .timeLimit(.minutes(15)))
struct KeeperLinkYieldingTests {
  /// A bus that has promised its place.
  private static func asked(_ steps: [KeeperScript.Step]) throws -> ScriptedKeeper {
    let bus = try ScriptedKeeper(
      [.hears(.attach(.begin)), .says(.acknowledged(count: 0)), .says(.yieldRequest(logVersion: 3))] + steps)
    bus.link.tick(at: bus.link.now)
    try bus.wait { bus.link.yieldRequest != .none }
    #expect(bus.link.yieldRequest == .received(logVersion: 3))
    bus.link.acceptRequest()
    return bus
  }

  @Test(
    "has lost it when the keeper says so, even if the keeper is leaving",
    arguments: [[.finished], [.leaving, .finished]] as [[KeeperMessage]])
  func lost(_ words: [KeeperMessage]) async throws {
    let bus = try Self.asked([.hears(.yielded)] + words.map { .says($0) })
    try bus.link.givePlace()
    await bus.script.expectEnd()
  }

  @Test("has lost it even if the keeper hung up after saying so")
  func lostAtLast() async throws {
    let bus = try Self.asked([.hearsBatch, .says(.finished)])
    let file = try SharedFile(length: 1)
    bus.link.keep(.file(1), lending: file.rawDescriptor)
    bus.link.flush()
    await bus.script.expectEnd()
    try bus.link.givePlace()
    #expect(!bus.isUp)
  }

  @Test("goes on with its keeper if the other bus has gone")
  func refused() async throws {
    let bus = try Self.asked([
      .hears(.yielded), .says(.refusal("it has gone")), .hears(.batch([.file(1)])),
      .says(.acknowledged(count: 1)), .hearsEnd,
    ])
    #expect(throws: KeeperChannel.Failure.refused("it has gone")) { try bus.link.givePlace() }
    // The next request is another bus's.
    bus.link.refusePlace(because: "it has been refused")
    let file = try SharedFile(length: 1)
    bus.link.keep(.file(1), lending: file.rawDescriptor)
    #expect(bus.link.flush(within: .seconds(60)))
    await bus.end()
  }

  @Test(
    "goes on without its keeper if that dies, or breaks the protocol",
    arguments: [nil, .yielded, .end(count: 1)] as [KeeperMessage?])
  func keeperDies(_ word: KeeperMessage?) async throws {
    let bus = try Self.asked([.hears(.yielded)] + (word.map { [.says($0)] } ?? []))
    #expect(throws: KeeperChannel.Failure.self) { try bus.link.givePlace() }
    #expect(!bus.isUp)
    await bus.script.expectEnd()
  }

  @Test("does not wait for another keeper during a hand-over")
  func keeperDiesEarly() async throws {
    let file = try SharedFile(length: 1)
    let bus = try Self.asked([
      .hears(.batch([.file(1)])), .hangsUp, .hears(.attach(.begin)), .says(.acknowledged(count: 0)),
      .hearsEnd,
    ])
    bus.link.keep(.file(1), lending: file.rawDescriptor)
    #expect(!bus.link.flush(within: .seconds(60)))
    #expect(throws: KeeperChannel.Failure.ended) { try bus.link.givePlace() }
    bus.link.tick(at: bus.link.now.advanced(byMilliseconds: 200))
    try bus.wait { bus.isUp }
    // This keeper has not asked for the place.
    #expect(throws: KeeperChannel.Failure.ended) { try bus.link.givePlace() }
    #expect(bus.isUp)
    await bus.end()
  }

  @Test("says why it stays")
  func stays() async throws {
    let bus = try Self.asked([.hears(.refusal("not now")), .hearsEnd])
    bus.link.refusePlace(because: "not now")
    bus.link.refusePlace(because: "it has been refused")
    #expect(bus.link.yieldRequest == .none)
    await bus.end()
  }

  /// Checks that a bus leaves its keeper after these steps.
  private func hasLeft(_ steps: [KeeperScript.Step]) async throws {
    let file = try SharedFile(length: 1)
    let bus = try Self.asked([.hears(.batch([.file(1)]))] + steps + [.hearsEnd])
    bus.link.keep(.file(1), lending: file.rawDescriptor)
    bus.link.flush()
    #expect(throws: KeeperLink.Failure.self) { try bus.wait { false } }
    #expect(bus.link.yieldRequest == .none && !bus.link.isKept(.file(1)))
    await bus.script.expectEnd()
  }

  @Test(
    "leaves a keeper that sends a message at the wrong time",
    arguments: [
      .attach(.begin), .batch([]), .forget([]), .acknowledged(count: 0), .end(count: 0), .finished, .yielded,
      .ready, .yieldRequest(logVersion: 4),
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
    try bus.wait { bus.link.isSettled }
    #expect(!bus.link.isKept(item))
    bus.link.tick(at: bus.link.now.advanced(byNanoseconds: 1_000_000_000))
    try bus.wait { bus.link.isKept(item) }
    #expect(bus.link.nextDue == nil)
    await bus.end()
  }
}
