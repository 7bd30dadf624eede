// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneServer
import TribuneSystem
import TribuneWire

/// A bus that a service manager has started. The manager stores a copy of the log, and the keeper's lease.
@Suite("A managed bus", .timeLimit(.minutes(2)))
struct ManagedBusTests {
  @Test("what version 0.1.0 has stored is taken over, and taken out of the store")
  func former() throws {
    let bus = try RestartedBus(isManaged: true)
    let manager = try #require(bus.manager)
    let client = try RawClient.greeted(bus)
    let contents = SharedFile.bytes(100_000)
    try client.sendConfirmed(Hold(), serial: 1, name: "host.shouldReboot", text: "backup")
    try client.retainFile(
      try SharedFile.make(contents), length: contents.count, as: "unit.state", serial: 2)
    try bus.die()
    // That version had no keeper, and stored everything with the manager.
    try bus.withKept { kept in
      manager.store("c", try FileDescriptor.duplicate(of: kept.descriptor(.connection)))
      let file = try FileDescriptor.duplicate(of: kept.descriptor(.file))
      manager.store("f" + String(file.inode ?? 0, radix: 36), file)
    }
    manager.drop("lease")
    bus.keeper.die()
    try bus.startKeeper()

    try bus.start()
    try client.settle()
    let asker = try RawClient.greeted(bus)
    #expect(try asker.ask("host.shouldReboot", serial: 1).outcomes.map(\.reason) == ["backup"])
    try asker.expectRetained(contents, under: "unit.state", serial: 2)
    #expect(manager.names == ["bus", "lease", "state"])
    // Now the keeper has it.
    try bus.crash()
    try client.settle()
  }
}
