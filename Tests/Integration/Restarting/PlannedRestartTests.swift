// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("Planned restarts", .timeLimit(.minutes(15)))
struct PlannedRestartTests {
  private let restarted: RestartedBus

  init() throws { restarted = try RestartedBus() }

  // MARK: What goes on

  @Test("connections, observers, holds and retained notifications move from one daemon to the next")
  func registrations() throws {
    let observer = try RawClient.observing("unit.*", on: restarted)
    let holder = try RawClient.greeted(restarted)
    try holder.sendConfirmed(Hold(), serial: 1, name: "host.shouldReboot", text: "backup")
    let (poster, welcome) = try RawClient.welcomed(restarted)
    try poster.sendConfirmed(Post(options: .retain), serial: 1, name: "unit.state", text: "kept")
    #expect(try observer.next().payload == "kept")
    for round in 1...3 {
      try restarted.restart()
      try poster.send(Post(), serial: 2, name: "unit.didStart", text: "\(round)")
      #expect(try observer.next().payload == "\(round)")
      #expect(try poster.ask("host.shouldReboot", serial: 3).outcomes.map(\.reason) == ["backup"])
      let (late, lateWelcome) = try RawClient.welcomed(restarted)
      #expect(lateWelcome.connection > welcome.connection)
      #expect(lateWelcome.busPID == UInt32(restarted.pid))
      try late.send(Observe(options: .retained), serial: 1, name: "unit.state")
      #expect(try late.next(.retained).payload == "kept")
    }
    #expect(try poster.busEntry().connections == 3)
    // Clients see the last process as the peer, not the socket's creator.
    let options = ["--listen=\(restarted.path)", "--config=\(restarted.folder.path)/etc"]
    let second = try FinishedProgram.tribuned(options)
    #expect(second.errors.contains("pid \(restarted.pid) "))
  }

  @Test("a client that posts all the time, and its observer, notice nothing")
  func busy() throws {
    let restarted = try RestartedBus(configuration: "[Queue]\nHighMark=64M\nLowMark=32M\n")
    let observer = try RawClient.observing("load.*", on: restarted)
    var next: Serial = 1
    try PostingThread.run(on: restarted.bus) { buffer, serial in
      buffer.appendFrame(Post(), flags: .acknowledge, serial: serial, name: "load.unit")
    } during: {
      for _ in 0..<5 {
        try restarted.restart()
        for _ in 0..<100 {
          #expect(try observer.next().header.serial == next)
          next += 1
        }
      }
    }
    let last = try RawClient.greeted(restarted)
    try last.send(Post(), serial: .max, name: "load.unit")
    while true {
      let serial = try observer.next().header.serial
      if serial == .max { break }
      #expect(serial == next)
      next += 1
    }
  }

  @Test("memory and the number of descriptors do not grow")
  func growth() throws {
    let clients = try (0..<50).map { _ in try RawClient.greeted(restarted) }
    for client in clients { try client.observe("load.*", serial: 1) }
    try restarted.restart()
    try clients[0].settle()
    let descriptors = try restarted.bus.openDescriptors()
    let (memory, shared) = (try restarted.bus.privateMemory(), try restarted.bus.processStatus("RssShmem"))
    for _ in 0..<10 { try restarted.restart() }
    try clients[0].settle()
    // Some are opened lazily. A leak in each restart would be ten more.
    #expect(try restarted.bus.openDescriptors() < descriptors + 5)
    #expect(try restarted.bus.privateMemory() <= memory + 1024)
    #expect(try restarted.bus.processStatus("RssShmem") <= shared + 1024)
  }

  @Test("a daemon that cannot start leaves everything to the next one")
  func failedStart() throws {
    let client = try RawClient.observing("load.*", on: restarted)
    try restarted.end(.planned)
    try restarted.folder.write("[Bus]\nQueriesMax=many\n", to: "etc/tribuned.conf")
    let failed = try FinishedProgram.tribuned([
      "--listen=\(restarted.path)", "--config=\(restarted.folder.path)/etc",
      "--keeper=\(restarted.keeper.path)",
    ])
    #expect(failed.status == 1)
    try restarted.start(configuration: "")
    try client.settle()
  }

  @Test("the socket's file has the mode of the last daemon's configuration, and is removed with that daemon")
  func socketFile() throws {
    for (text, mode) in [("[Socket]\nMode=0600\n", 0o600), ("", 0o666)] as [(String, UInt32)] {
      try restarted.folder.write(text, to: "etc/tribuned.conf")
      try restarted.restart()
      #expect(FileStatus(restarted.path)?.mode == mode)
    }
    try restarted.bus.reload("[Socket]\nMode=0600\n")
    #expect(FileStatus(restarted.path)?.mode == 0o600)
    #expect(restarted.end(SIGINT) == 0)
    #expect(FileStatus(restarted.path) == nil)
  }

  // MARK: Other users

  private func requireRoot() throws {
    guard geteuid() == 0 else { throw Programs.Missing(description: "only root can act as another user") }
  }

  @Test("the keeper gives no descriptor to another user's daemon", arguments: [0o600, 0o666] as [mode_t])
  func otherUser(mode: mode_t) throws {
    try requireRoot()
    let client = try RawClient.observing("load.*", on: restarted)
    let program = "\(restarted.folder.path)/tribuned"
    try FileManager.default.copyItem(atPath: try Programs.path(of: "tribuned"), toPath: program)
    #expect(FileStatus(restarted.keeper.path)?.mode == 0o600)
    _ = unsafe chmod(restarted.keeper.path, mode)
    let refused = try FinishedProgram([
      "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "--listen=\(restarted.path)",
      "--keeper=\(restarted.keeper.path)", "--config=\(restarted.folder.path)/etc",
    ])
    #expect(refused.status == 1)
    #expect(
      refused.errors.contains(mode == 0o600 ? "Permission denied" : "the connection was closed"),
      "\(refused.errors)")
    try restarted.restart()
    try client.settle()
  }

  @Test("a daemon does not trust a keeper that another user runs")
  func anotherUsersKeeper() throws {
    try requireRoot()
    let folder = try TestFolder()
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
    let script = """
      import os, signal, socket, sys
      os.setgroups([])
      os.setgid(65534)
      os.setuid(65534)
      listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
      listening.bind(sys.argv[1])
      listening.listen()
      print("listening", flush=True)
      signal.pause()
      """
    let impostor = try RunningProgram([
      "/usr/bin/env", "python3", "-c", script, "\(folder.path)/keeper",
    ])
    #expect(try impostor.output.line() == "listening")
    let bus = try TestBus(folder: folder, keeper: "\(folder.path)/keeper")
    #expect(try bus.log().contains("no keeper at \(folder.path)/keeper: it runs as user 65534"))
  }
}
