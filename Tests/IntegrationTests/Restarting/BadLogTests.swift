// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneServer
import TribuneSystem
import TribuneWire

/// A daemon that is given a log, or descriptors, that are not what they should be starts, says what it dropped, and
/// serves.
@Suite("Bad logs", .timeLimit(.minutes(3)))
struct BadLogTests {
  private let bus: RestartedBus
  private let clients: [RawClient]

  /// A bus on which there is something of everything.
  init() throws {
    let bus = try RestartedBus(
      configuration: "[Bus]\nLogMax=1M\n[Notifications]\nRetainedMax=512K\nRetainedUserMax=256K\n")
    self.bus = bus
    clients = try (0..<3).map { _ in try RawClient(path: bus.path) }
    for client in clients { try client.greet() }
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

  /// - Returns: the ids of a new connection and a new query.
  @discardableResult
  private func expectService() throws -> (connection: UInt64, query: UInt64) {
    let client = try RawClient(path: bus.path)
    let welcome = try client.greet()
    try client.observe("test.*", serial: 1)
    try client.send(Post(), serial: 2, name: "test.served")
    #expect(try client.next().name == "test.served")
    return (welcome.connection.rawValue, try client.ask("test.shouldServe", serial: 3).query.rawValue)
  }

  @Test("whatever byte is not what it was, the bus serves, says what it cannot use, and gives no id twice")
  func spoiltBytes() throws {
    let last = try expectService()
    try bus.die()
    let whole = try bus.withKept { try SavedLog(of: $0.descriptor(.log)) }
    #expect(whole.pages.count >= 3)
    // Others each time.
    let first = Int.random(in: 0..<37)
    var (dropCount, damageCount) = (0, 0)
    for page in whole.pages {
      for offset in stride(from: page + first, to: page + 1024, by: 37) {
        try bus.changeLog { state in
          state = whole
          state.flip(1 << UInt8(offset % 8), at: offset)
        }
        try bus.start()
        let ids = try expectService()
        let told = try bus.bus.log()
        if told.contains("cannot be taken over, and the bus starts without") {
          dropCount += 1
        } else {
          if told.contains("the log is damaged") { damageCount += 1 }
          #expect(ids.connection > last.connection, "byte \(offset)")
          #expect(ids.query > last.query, "byte \(offset)")
        }
        bus.end(SIGKILL)
      }
    }
    // A header of which not a bit may be different, and records.
    #expect(dropCount > 0 && damageCount > 0)
    try bus.start()
  }

  @Test("a log that was cut", arguments: [0, 1, 100, 4096, 100_000, 8 << 20])
  func truncated(_ length: Int) throws {
    try bus.end(.planned)
    try bus.withKept { kept in
      _ = try kept.replace(.log, by: SavedLog(of: kept.descriptor(.log)).file(cutTo: length))
    }
    try bus.start()
    #expect(try bus.log().contains("cannot be taken over"))
    for client in clients { #expect(throws: RawClient.Ended.self) { while true { _ = try client.next() } } }
    try expectService()
    try bus.die()
    #expect(try bus.withKept { $0.count(.log) } == 1)
  }

  @Test("connections that the log does not know are closed, and those that it knows have to come back")
  func strangers() throws {
    try bus.end(.planned)
    try bus.withKept { try $0.remove(.log) }
    try bus.start()
    for client in clients { #expect(throws: RawClient.Ended.self) { while true { _ = try client.next() } } }
    #expect(try bus.log().contains("3 connections are closed of which the log does not know"))
    try expectService()

    let client = try RawClient.greeted(bus)
    try client.sendConfirmed(Hold(), serial: 1, name: "host.shouldReboot", text: "backup")
    let idle = try RawClient.greeted(bus)
    try bus.end(.planned)
    try bus.withKept { try $0.remove(.connection) }
    try bus.start()
    // Whoever had registered nothing has nothing to come back for.
    #expect(try bus.log().contains("1 connection of the log is not there any more"))
    #expect(try bus.log().contains("1 connection has to connect again"))
    let asker = try RawClient.greeted(bus)
    #expect(try asker.ask("host.shouldReboot", serial: 1).verdict == .vetoed)
    withExtendedLifetime((client, idle)) {}
  }

  @Test(
    "what is not what the keeper says is closed, and kept no more",
    arguments: [.connection, .file, .listener, .log] as [KeptItem.Kind])
  func foreign(_ kind: KeptItem.Kind) throws {
    try bus.end(.planned)
    try bus.withKept { kept in
      if kind == .log { try kept.remove(.log) }
      // Nothing of the bus's is one.
      let zeros = FileDescriptor(owning: try retrying { unsafe open("/dev/zero", O_RDWR | O_CLOEXEC) })
      try kept.add(KeptItem(kind, 7), zeros)
    }
    try bus.start()
    if kind == .log {
      #expect(try bus.log().contains("the log that was kept cannot be taken over"))
    } else {
      for client in clients { try client.settle() }
    }
    try expectService()
    #expect(try !OpenFiles.paths(of: bus.pid).contains("/dev/zero"))
    try bus.die()
    #expect(try bus.withKept { $0.has(KeptItem(kind, 7)) } == false)
  }

  @Test("a hand-over of which what was under way is missing is a death without one")
  func missingStreams() throws {
    try bus.end(.planned)
    try bus.withKept { try $0.remove(.file) }
    try bus.start()
    try clients[0].settle()
    try expectService()
  }

  /// Has a daemon die when it has taken over. What it says goes into a pipe that has room for one line: how much the
  /// keeper gave, and not for what it has taken over.
  private func perish() throws {
    let state = try bus.withKept { try FileDescriptor.duplicate(of: $0.descriptor(.log)) }
    let before = try SavedLog(of: state.rawValue).recoveries
    let (daemon, pipe) = (Process(), Pipe())
    let length = try retrying { fcntl(pipe.fileHandleForWriting.fileDescriptor, 1031, 4096) }  // F_SETPIPE_SZ
    try pipe.fileHandleForWriting.write(contentsOf: Data(count: Int(length) - 64))
    daemon.executableURL = URL(fileURLWithPath: try Programs.path(of: "tribuned"))
    daemon.arguments = [
      "--config=\(bus.folder.path)/etc", "--listen=\(bus.path)", "--keeper=\(bus.keeper.path)",
    ]
    daemon.standardError = pipe
    try daemon.run()
    while try SavedLog(of: state.rawValue).recoveries == before { sched_yield() }
    kill(daemon.processIdentifier, SIGKILL)
    daemon.waitUntilExit()
    #expect(daemon.terminationStatus == SIGKILL)
  }

  @Test("a log that three daemons in a row have died of is dropped, and no other one is")
  func deadly() throws {
    try bus.die()
    // Those that come to serve in between, and die then, do not count.
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
        "cannot be taken over, and the bus starts without: 3 processes in a row have died while they recovered from it"
      ))
    for client in clients { #expect(throws: RawClient.Ended.self) { while true { _ = try client.next() } } }
    try expectService()
    try bus.crash()
    try expectService()
    try bus.die()
    #expect(try bus.withKept { $0.count(.log) } == 1)
  }
}
