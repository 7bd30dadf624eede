// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneServer
import TribuneSystem
import TribuneWire

/// A bus that a service manager has started. The manager stores a copy of the log, and the keeper's lease.
@Suite("A managed bus", .timeLimit(.minutes(2)))
struct ManagedBusTests {
  private let bus: RestartedBus
  private let manager: FakeSupervisor

  init() throws {
    bus = try RestartedBus(isManaged: true)
    manager = try #require(bus.manager)
  }

  @Test("a restart keeps all connections, and a stop ends them", arguments: RestartedBus.Way.apart)
  func lease(_ way: RestartedBus.Way) throws {
    let client = try RawClient.observing("load.*", on: bus)
    try bus.restart(way)
    try client.settle()
    try bus.end(way)
    try expectEnd(of: client)
    #expect(try bus.withKept { $0.count } == 0)
  }

  /// Drops the lease, as the manager does when a service has stopped and is not restarted.
  private func expectEnd(of client: RawClient) throws {
    manager.drop("lease")
    // Without a lease, the keeper would wait for 30 s.
    try client.setPatience(seconds: 20)
    #expect(try client.readToEnd().isEmpty)
  }

  @Test("the keeper that follows a dead one has another lease")
  func anotherKeeper() throws {
    let client = try RawClient.observing("load.*", on: bus)
    bus.keeper.die()
    try bus.startKeeper()
    try manager.wait(for: "FDNAME=lease")
    try bus.settleKeeper()
    manager.dropEnded()
    #expect(manager.names == ["bus", "lease", "state"])
    try bus.restart()
    try client.settle()
    try bus.end(.planned)
    try expectEnd(of: client)
  }

  @Test("what version 0.1.0 has stored is taken over, and taken out of the store")
  func former() throws {
    let client = try RawClient.greeted(bus)
    let contents = SharedFile.bytes(100_000)
    try client.holdAndRetain(contents)
    try bus.die()
    // That version had no keeper, and stored everything with the manager.
    try bus.withKept { kept in
      manager.store("c", try FileDescriptor.duplicate(of: kept.descriptor(.connection)))
      let file = try FileDescriptor.duplicate(of: kept.descriptor(.file))
      manager.store("f" + String(file.inode ?? 0, radix: 36), file, isPolled: false)
    }
    manager.drop("lease")
    bus.keeper.die()
    try bus.startKeeper()

    try bus.start()
    try client.settle()
    try RawClient.greeted(bus).expectHeldAndRetained(contents)
    #expect(manager.names == ["bus", "lease", "state"])
    // Now the keeper has it.
    try bus.crash()
    try client.settle()
  }
}
