// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneServer
import TribuneWire

@Suite("Keepers", .timeLimit(.minutes(15)))
struct KeeperTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  private func surviving(_ client: RawClient) throws -> [Bool] { try client.connections().map(\.isSurviving) }

  private func waitUntilSurviving(_ expected: [Bool], _ client: RawClient) throws {
    try bus.bus.wait(serving: client) { try surviving(client) == expected }
  }

  // MARK: The keeper hangs

  @Test("a keeper ignores SIGHUP, because it has no configuration")
  func hangUp() throws {
    let client = try RawClient.observing("load.*", on: bus)
    try waitUntilSurviving([true], client)
    bus.keeper.program.signal(SIGHUP)
    try bus.crash()
    try client.settle()
  }

  @Test("a bus that left its hung keeper gives its connections to no other daemon")
  func left() throws {
    let client = try RawClient.observing("load.*", on: bus)
    try bus.settleKeeper()
    try bus.keeper.program.freeze()
    try client.observe("unit.*", serial: 2)
    try RawClient.greeted(bus).sendConfirmed(Suspend(isSuspended: false), serial: 1)
    try bus.bus.waitForLog("it has not answered in time")
    #expect(try !surviving(client).contains(true))
    try bus.bus.freeze()
    bus.keeper.program.signal(SIGCONT)
    let peer = try KeeperPeer(connectingTo: bus.keeper.path)
    try peer.send(.attach(.resume(log: 0)))
    // The bus may have attached to the keeper again, before it kept anything.
    let message = try peer.receive().message
    #expect(message == .acknowledged(count: 0) || message == .refusal("another bus is served"), "\(message)")
    peer.hangUp()
    bus.bus.signal(SIGCONT)
    try waitUntilSurviving([true], client)
  }

  // MARK: The bus ends

  @Test("a bus that ends for good leaves nothing, and tells its clients at once")
  func forGood() throws {
    let client = try RawClient.observing("load.*", on: bus)
    #expect(bus.end(SIGINT) == 0)
    try client.expectClosed(with: .shuttingDown)
    #expect(try bus.withKept { $0.count } == 0)
    #expect(FileStatus(bus.path) == nil)
    try bus.start()
    try RawClient.greeted(bus).settle()
  }

  @Test(
    "a client that connects without a daemon is served by the next one",
    arguments: RestartedBus.Way.allCases)
  func meanwhile(_ way: RestartedBus.Way) throws {
    try bus.end(way)
    let client = try RawClient(bus.bus)
    #expect(FileStatus(bus.path)?.isSocket == true)
    try bus.start()
    try client.greet()
    try client.settle()
  }

  // MARK: A full keeper

  @Test("a connection that does not fit the keeper works, and is listed as not surviving")
  func full() throws {
    // The log, the listening socket, and two connections.
    let bus = try RestartedBus(room: 4)
    let clients = try (0..<3).map { _ in try RawClient.welcomed(bus) }
    for (client, welcome) in clients {
      try client.observe("load.*", serial: 1)
      guard welcome.connection != clients[2].welcome.connection else { continue }
      try bus.waitUntilKept(welcome, client)
    }
    let (first, third) = (clients[0].client, clients[2])
    try bus.bus.waitForLog("the keeper has no space for 1 descriptor")
    #expect(try surviving(first) == [true, true, false])
    try third.client.send(Post(), serial: 2, name: "load.unit")
    #expect(try third.client.next().name == "load.unit")

    let listed = try bus.bus.tribunectl("list").lines.filter {
      $0.split(separator: " ").first == "\(third.welcome.connection)"
    }
    #expect(listed.count == 1)
    #expect(listed.first?.contains("  not surviving  ") == true)
    let status = try bus.bus.tribunectl("status", "\(third.welcome.connection)")
    #expect(status.output.contains("State: not surviving: a restart of the bus closes it\n"))
    let object = try bus.bus.tribunectl("status", "\(third.welcome.connection)", "-j").object()
    #expect(object["surviving"] as? Bool == false)

    try clients[1].client.leave()
    try bus.bus.wait(serving: first) { try surviving(first) == [true, true] }
  }
}
