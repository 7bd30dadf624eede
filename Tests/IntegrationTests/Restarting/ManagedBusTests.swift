// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneServer
import TribuneSystem
import TribuneWire

/// A bus with a keeper that a service manager has started, which has a copy of the log and a lease.
@Suite("A managed bus", .timeLimit(.minutes(2)))
struct ManagedBusTests {
  private let bus: RestartedBus
  private let manager: FakeSupervisor

  init() throws {
    bus = try RestartedBus(isManaged: true)
    manager = try #require(bus.manager)
  }

  @Test(
    "the manager has one log and one lease, however often the bus is restarted",
    arguments: RestartedBus.Way.apart)
  func stored(_ way: RestartedBus.Way) throws {
    for _ in 0..<3 {
      // Each bus has a lease of its own.
      try bus.settleKeeper()
      manager.dropEnded()
      #expect(manager.names == ["bus", "lease", "state"])
      // It may drop the lease by itself, and nothing else.
      #expect(manager.stored.filter { $0.isPolled }.map(\.name) == ["lease"])
      try bus.restart(way)
    }
  }

  @Test("a restart keeps everybody, and a stop lets everybody go", arguments: RestartedBus.Way.apart)
  func lease(_ way: RestartedBus.Way) throws {
    let client = try RawClient.observing("load.*", on: bus)
    try bus.restart(way)
    try client.settle()
    try bus.end(way)
    // What the manager does when a service has stopped, and no restart is on its way. Without a lease, the keeper would
    // wait for 30 s.
    manager.drop("lease")
    try client.setPatience(seconds: 20)
    #expect(try client.readToEnd().isEmpty)
    #expect(try bus.withKept { $0.count } == 0)
  }

  @Test("a keeper that dies is replaced under another lease")
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
    manager.drop("lease")
    try client.setPatience(seconds: 20)
    #expect(try client.readToEnd().isEmpty)
  }

  @Test("what version 0.1.0 has stored is taken over, and stored no more")
  func former() throws {
    let client = try RawClient.greeted(bus)
    try client.sendConfirmed(Hold(), serial: 1, name: "host.shouldReboot", text: "backup")
    let contents = SharedFile.bytes(100_000)
    try client.post(
      "unit.state", options: .retain, file: try SharedFile.make(contents), length: contents.count, serial: 2,
      flags: .acknowledge)
    _ = try client.next(.ok)
    try bus.die()
    // As that version would have stored it, with no keeper.
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
    let asker = try RawClient.greeted(bus)
    #expect(try asker.ask("host.shouldReboot", serial: 1).outcomes.map(\.reason) == ["backup"])
    try asker.send(Observe(options: .retained), serial: 2, name: "unit.state")
    #expect(try asker.next(.retained).payloadBytes == contents)
    #expect(manager.names == ["bus", "lease", "state"])
    // From now on it is the keeper's.
    try bus.crash()
    try client.settle()
  }

  @Test("what the manager has is of no use where it is not what it was", arguments: ["state", "c", "f1"])
  func foreign(name: String) throws {
    try bus.end(.planned)
    bus.keeper.die()
    try bus.startKeeper()
    manager.drop("lease")
    if name == "state" { manager.drop("state") }
    manager.store(
      name, FileDescriptor(owning: try retrying { unsafe open("/dev/zero", O_RDWR | O_CLOEXEC) }),
      isPolled: false)
    try bus.start()
    try RawClient.greeted(bus).settle()
    #expect(try !OpenFiles.paths(of: bus.pid).contains("/dev/zero"))
    #expect(manager.names == ["bus", "lease", "state"])
  }

  @Test("a manager that cannot be reached keeps nobody from being served")
  func noManager() throws {
    let folder = try TestFolder()
    let keeper = try TestKeeper(in: folder)
    let bus = try TestBus(
      environment: ["NOTIFY_SOCKET": "\(folder.path)/nobody"], folder: folder, keeper: keeper.path)
    let client = try RawClient.greeted(bus)
    try client.settle()
    #expect(try bus.log().contains("$NOTIFY_SOCKET"))
    bus.signal(SIGINT)
    #expect(try client.nextError() == .shuttingDown)
    #expect(bus.waitForEnd() == 0)
  }
}
