// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneServer
import TribuneWire

/// A bus or its keeper ends or hangs, or both do.
@Suite("Keepers", .timeLimit(.minutes(3)))
struct KeeperTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  /// Whether each connection survives a restart, in the order of their ids.
  private func surviving(_ client: RawClient) throws -> [Bool] {
    try client.connections().map(\.isSurviving)
  }

  private func waitUntilSurviving(_ expected: [Bool], _ client: RawClient) throws {
    try bus.bus.wait(serving: client) { try surviving(client) == expected }
  }

  // MARK: The keeper ends

  @Test("no client notices when the keeper dies, and the next keeper gets everything")
  func dies() throws {
    let observer = try RawClient.observing("unit.*", on: bus)
    let holder = try RawClient.greeted(bus)
    let contents = SharedFile.bytes(100_000)
    try holder.holdAndRetain(contents)
    #expect(try observer.next().payloadBytes == contents)
    try waitUntilSurviving([true, true], observer)

    bus.keeper.die()
    try waitUntilSurviving([false, false], observer)
    try holder.sendConfirmed(Post(), serial: 3, name: "unit.didStart")
    #expect(try observer.next().name == "unit.didStart")

    try bus.startKeeper()
    try waitUntilSurviving([true, true], observer)
    try bus.crash()
    let asker = try RawClient.greeted(bus)
    try asker.expectHeldAndRetained(contents)
    try asker.send(Post(), serial: 3, name: "unit.didStop")
    #expect(try observer.next().name == "unit.didStop")
    try holder.settle()
  }

  @Test("a keeper ignores SIGHUP, because it has no configuration")
  func hangUp() throws {
    let client = try RawClient.observing("load.*", on: bus)
    try waitUntilSurviving([true], client)
    bus.keeper.program.signal(SIGHUP)
    try bus.crash()
    try client.settle()
  }

  @Test(
    "a bus whose keeper hangs serves on, and lists its connections as not surviving until the keeper goes on")
  func hangs() throws {
    let client = try RawClient.observing("load.*", on: bus)
    try waitUntilSurviving([true], client)
    try bus.keeper.program.freeze()
    let other = try RawClient.observing("load.*", on: bus)
    #expect(try surviving(client) == [true, false])
    try other.send(Post(), serial: 2, name: "load.unit")
    for observer in [client, other] { #expect(try observer.next().name == "load.unit") }
    // Until then, the keeper may still take what it was sent.
    try bus.bus.waitForLog("it has not answered in time")
    #expect(try surviving(client) == [false, false])
    bus.keeper.program.signal(SIGCONT)
    try waitUntilSurviving([true, true], client)
    try bus.crash()
    for observer in [client, other] { try observer.settle() }
  }

  @Test("no other daemon gets the connections of a bus that has left its hung keeper")
  func left() throws {
    let client = try RawClient.observing("load.*", on: bus)
    try bus.settleKeeper()
    try bus.keeper.program.freeze()
    try client.observe("unit.*", serial: 2)
    try RawClient.greeted(bus).sendConfirmed(Suspend(isSuspended: false), serial: 1)
    try bus.bus.waitForLog("it has not answered in time")
    try bus.bus.freeze()
    bus.keeper.program.signal(SIGCONT)
    let peer = try KeeperPeer(connectingTo: bus.keeper.path)
    try peer.send(.attach(.resume(log: 0)))
    // The bus may have attached to the keeper again, and have nothing kept yet.
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
    let silent = try RawClient(bus.bus)
    try RawClient.greeted(bus).settle()
    #expect(bus.end(SIGINT) == 0)
    #expect(try client.nextError() == .shuttingDown)
    #expect(try client.readToEnd().isEmpty)
    _ = try silent.readHello()
    #expect(try silent.nextError() == .shuttingDown)
    #expect(try bus.withKept { $0.count } == 0)
    #expect(FileStatus(bus.path) == nil)
    try bus.start()
    try RawClient.greeted(bus).settle()
  }

  @Test(
    "a client that connects while there is no daemon is served by the next one",
    arguments: RestartedBus.Way.apart)
  func meanwhile(_ way: RestartedBus.Way) throws {
    try bus.end(way)
    let client = try RawClient(bus.bus)
    #expect(FileStatus(bus.path)?.isSocket == true)
    try bus.start()
    try client.greet()
    try client.settle()
  }

  // MARK: Both end

  @Test("when both die, clients reconnect by themselves, and register again")
  func bothDie() throws {
    let observer = try bus.bus.staying("-j", "observe", "unit.*", "end")
    let hold = try bus.bus.staying("hold", "host.shouldReboot", "--why=backup")
    try bus.die()
    bus.keeper.die()
    try bus.startKeeper()
    try bus.start()
    for program in [observer, hold] {
      #expect(try program.errors.line()?.hasPrefix("tribunectl: reconnected to the bus") == true)
    }
    #expect(try bus.bus.tribunectl("ask", "host.shouldReboot").status == 1)
    #expect(try bus.bus.tribunectl("post", "unit.didStart").status == 0)
    #expect(try observer.output.line() == #"{"interrupted":true}"#)
    #expect(try observer.output.line()?.contains("unit.didStart") == true)
  }

  @Test("when both die and a service manager has the log, holds stand until their holders are back")
  func bothDieManaged() throws {
    let bus = try RestartedBus(isManaged: true)
    let hold = try bus.bus.staying("hold", "host.shouldReboot", "--why=backup")
    let (holder, welcome) = try RawClient.welcomed(bus)
    try holder.sendConfirmed(Hold(), serial: 1, name: "host.shouldSuspend", text: "a recording")
    try bus.die()
    bus.keeper.die()
    // This client asks before any other is served.
    let asker = try RawClient(bus.bus)
    try asker.send { buffer in
      Hello().append(to: buffer)
      for (serial, name) in [(1, "host.shouldReboot"), (2, "host.shouldSuspend")] as [(Serial, String)] {
        buffer.appendFrame(Ask(), serial: serial, name: name)
      }
    }
    try bus.startKeeper()
    try bus.start()
    _ = try asker.readHello()
    for reason in ["backup", "a recording"] {
      let verdict = try asker.nextVerdict()
      #expect(verdict.verdict == .vetoed)
      #expect(verdict.outcomes.map(\.reason) == [reason])
    }
    #expect(try hold.errors.line()?.contains("; the hold was in force all the time") == true)
    // The second holder is back without its hold, and the first one has its hold again.
    let successor = try RawClient.greeted(bus)
    try successor.send(Succeed(predecessor: welcome.connection, received: 0), serial: 1)
    _ = try successor.next(.ok)
    #expect(try asker.ask("host.shouldSuspend", serial: 3).verdict == .allowed)
    #expect(try asker.ask("host.shouldReboot", serial: 4).outcomes.map(\.reason) == ["backup"])
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

    // It gets the slot of one that leaves.
    try clients[1].client.leave()
    try bus.bus.wait(serving: first) { try surviving(first) == [true, true] }
  }
}
