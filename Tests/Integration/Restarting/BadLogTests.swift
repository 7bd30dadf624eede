// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneServer
import TribuneSystem
import TribuneWire

@Suite("Bad logs", .timeLimit(.minutes(15)))
struct BadLogTests {
  private let bus: RestartedBus
  private let clients: [RawClient]

  init() throws {
    let bus = try RestartedBus(
      configuration: "[Bus]\nLogMax=1M\n[Notifications]\nRetainedMax=512K\n")
    self.bus = bus
    clients = try (0..<3).map { _ in try RawClient.greeted(bus) }
    try clients[0].observe("load.*", serial: 1)
    try clients[1].attach(Attach(timeout: 60_000, patterns: ["a.shouldB"]), serial: 1)
    try clients[1].send(Hold(), serial: 2, name: "host.shouldReboot", text: "backup")
    try clients[1].settle()
    try clients[2].send(Ask(deadline: 60_000), serial: 1, name: "a.shouldB")
    _ = try clients[1].nextQuestion()
    try clients[2].send(
      Post(options: .retain), serial: 2, flags: .acknowledge, name: "unit.state", text: "up")
    try clients[2].settle()
  }

  private func expectService() throws {
    let client = try RawClient.greeted(bus)
    try client.observe("test.*", serial: 1)
    try client.send(Post(), serial: 2, name: "test.served")
    #expect(try client.next().name == "test.served")
    #expect(try client.ask("test.shouldServe", serial: 3).verdict == .allowed)
  }

  @Test(
    "connections without an entry in the log are closed, and those without a descriptor have to reconnect")
  func strangers() throws {
    try bus.end(.planned)
    try bus.withKept { try $0.remove(.log) }
    try bus.start()
    for client in clients { _ = try client.readToEnd() }
    #expect(try bus.log().contains("closed 3 connections that are not in the log"))
    try expectService()

    let client = try RawClient.greeted(bus)
    try client.sendConfirmed(Hold(), serial: 1, name: "host.shouldReboot", text: "backup")
    let idle = try RawClient.greeted(bus)
    try bus.end(.planned)
    try bus.withKept { try $0.remove(.connection) }
    try bus.start()
    // The idle client had registered nothing, so only the other one has to reconnect.
    #expect(try bus.log().contains("1 logged connection is gone"))
    #expect(try bus.log().contains("1 connection has to reconnect"))
    let asker = try RawClient.greeted(bus)
    #expect(try asker.ask("host.shouldReboot", serial: 1).verdict == .vetoed)
    withExtendedLifetime((client, idle)) {}
  }

  @Test(
    "a descriptor that does not match the keeper's record is closed, and the keeper forgets it",
    arguments: [.connection, .file, .listener, .log] as [KeptItem.Kind])
  func foreign(_ kind: KeptItem.Kind) throws {
    try bus.end(.planned)
    try bus.withKept { kept in
      if kind == .log { try kept.remove(.log) }
      let zeros = FileDescriptor(owning: try retrying { unsafe open("/dev/zero", O_RDWR | O_CLOEXEC) })
      try kept.add(KeptItem(kind, 7), zeros)
    }
    try bus.start()
    if kind == .log {
      #expect(try bus.log().contains("cannot use the log of the previous daemon"))
    } else {
      for client in clients { try client.settle() }
    }
    try expectService()
    #expect(try !OpenFiles.paths(of: bus.pid).contains("/dev/zero"))
    try bus.die()
    #expect(try bus.withKept { $0.has(KeptItem(kind, 7)) } == false)
  }

  /// Starts a daemon, and kills it during its take-over, while it waits for the lock of its socket's folder.
  private func perish() throws {
    let state = try bus.withKept { try FileDescriptor.duplicate(of: $0.descriptor(.log)) }
    let before = try SavedLog(of: state.rawValue).recoveries
    let listened = try TestFolder()
    let folder = unsafe FileDescriptor(owning: open(listened.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    try #require(flock(folder.rawValue, LOCK_EX) == 0)
    let daemon = try RunningProgram([
      Programs.path(of: "tribuned"), "--config=\(bus.folder.path)/etc", "--listen=\(listened.path)/bus",
      "--keeper=\(bus.keeper.path)",
    ])
    while try SavedLog(of: state.rawValue).recoveries == before { sched_yield() }
    #expect(daemon.end(SIGKILL) == -SIGKILL)
    folder.close()
  }

  @Test("a log is dropped after three daemons in a row died while they took it over, not earlier")
  func deadly() throws {
    try bus.die()
    for _ in 0..<2 {
      for _ in 0..<2 { try perish() }
      try bus.start()
      for client in clients { try client.settle() }
      try bus.crash()
      try bus.die()
    }
    #expect(try !bus.log().contains("have died"))
    for _ in 0..<3 { try perish() }
    try bus.start()
    #expect(
      try bus.log().contains(
        "cannot use the log of the previous daemon, starting without it: 3 processes in a row have died while they recovered from it"
      ))
    for client in clients { _ = try client.readToEnd() }
    try expectService()
    try bus.crash()
    try expectService()
    try bus.die()
    #expect(try bus.withKept { $0.count(.log) } == 1)
  }
}
