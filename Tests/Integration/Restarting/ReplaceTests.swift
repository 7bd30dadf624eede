// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// `tribuned --replace`: the next daemon gets everything through the keeper while the old one still runs.
@Suite("Replacing", .timeLimit(.minutes(3)))
struct ReplaceTests {
  private let replaced: RestartedBus

  init() throws { replaced = try RestartedBus() }

  // MARK: What goes on

  @Test("observers, holds and retained notifications go on, from one daemon to the next")
  func registrations() throws {
    let observer = try RawClient.observing("unit.*", on: replaced.bus)
    let holder = try RawClient.greeted(replaced.bus)
    try holder.sendConfirmed(Hold(), serial: 1, name: "host.shouldReboot", text: "backup")
    let (poster, welcome) = try RawClient.welcomed(replaced.bus)
    try poster.sendConfirmed(Post(options: .retain), serial: 1, name: "unit.state", text: "kept")
    #expect(try observer.next().payload == "kept")
    for round in 1...3 {
      try replaced.replace()
      try poster.send(Post(), serial: 2, name: "unit.didStart", text: "\(round)")
      #expect(try observer.next().payload == "\(round)")
      #expect(try poster.ask("host.shouldReboot", serial: 3).outcomes.map(\.reason) == ["backup"])
      let (late, lateWelcome) = try RawClient.welcomed(replaced.bus)
      #expect(lateWelcome.connection > welcome.connection)
      #expect(lateWelcome.busPID == UInt32(replaced.bus.pid))
      try late.send(Observe(options: .retained), serial: 1, name: "unit.state")
      #expect(try late.next(.retained).payload == "kept")
    }
    #expect(try poster.busEntry().connections == 3)
    // Who connects sees the last process as the peer, and not the one that made the socket.
    let options = ["--listen=\(replaced.path)", "--config=\(replaced.folder.path)/etc"]
    let second = try FinishedProgram.tribuned(options)
    #expect(second.errors.contains("pid \(replaced.bus.pid) "))
  }

  @Test("a client that posts all the time, and one that observes that, notice nothing")
  func busy() throws {
    let replaced = try RestartedBus(configuration: "[Queue]\nHighMark=64M\nLowMark=32M\n")
    let observer = try RawClient.observing("load.*", on: replaced.bus)
    var next: Serial = 1
    try PostingThread.run(on: replaced.bus) { buffer, serial in
      buffer.appendFrame(Post(), flags: .acknowledge, serial: serial, name: "load.unit")
    } during: {
      for _ in 0..<5 {
        try replaced.replace()
        for _ in 0..<100 {
          #expect(try observer.next().header.serial == next)
          next += 1
        }
      }
    }
    let last = try RawClient.greeted(replaced.bus)
    try last.send(Post(), serial: .max, name: "load.unit")
    while true {
      let serial = try observer.next().header.serial
      if serial == .max { break }
      #expect(serial == next)
      next += 1
    }
  }

  @Test("neither memory nor the number of descriptors grows")
  func growth() throws {
    let clients = try (0..<50).map { _ in try RawClient.greeted(replaced.bus) }
    for client in clients { try client.observe("load.*", serial: 1) }
    try replaced.replace()
    try clients[0].settle()
    let descriptors = try replaced.bus.openDescriptors()
    let (memory, shared) = (try replaced.bus.privateMemory(), try replaced.bus.processStatus("RssShmem"))
    for _ in 0..<10 { try replaced.replace() }
    try clients[0].settle()
    // Some are opened when they are first needed. If each replacement left one behind, there would be ten more.
    #expect(try replaced.bus.openDescriptors() < descriptors + 5)
    #expect(try replaced.bus.privateMemory() <= memory + 1024)
    #expect(try replaced.bus.processStatus("RssShmem") <= shared + 1024)
  }

  // MARK: The socket's file

  @Test("the socket's file gets its mode from the last daemon's configuration, and goes with that daemon")
  func socketFile() throws {
    for (text, mode) in [("[Socket]\nMode=0600\n", 0o600), ("", 0o666)] as [(String, UInt32)] {
      try replaced.folder.write(text, to: "etc/tribuned.conf")
      try replaced.replace()
      #expect(FileStatus(replaced.path)?.mode == mode)
    }
    try replaced.bus.reload("[Socket]\nMode=0600\n")
    #expect(FileStatus(replaced.path)?.mode == 0o600)
    #expect(replaced.end(SIGINT) == 0)
    #expect(FileStatus(replaced.path) == nil)
  }

  @Test("a bus with a relative path that was started in another folder leaves no file behind")
  func relativePath() throws {
    let folder = try TestFolder()
    let replaced = try RestartedBus(
      arguments: ["--listen=bus"], wrapper: ["/usr/bin/env", "--chdir=\(folder.path)"], folder: folder)
    for _ in 0..<2 { try replaced.replace() }
    try RawClient.greeted(replaced.bus).settle()
    #expect(replaced.end(SIGINT) == 0)
    #expect(FileStatus(replaced.path) == nil)
  }

  @Test("a bus that was passed its socket is not replaced, because the next daemon would lack it")
  func passedSocket() throws {
    let folder = try TestFolder()
    let replaced = try RestartedBus(
      arguments: [], wrapper: Activation.wrapper([.init(path: "\(folder.path)/bus")]), folder: folder)
    let client = try RawClient.greeted(replaced.bus)
    #expect(try replaced.replaceInVain().errors.contains("it does not listen at \(replaced.path)"))
    try client.settle()
    try RawClient.greeted(replaced.bus).settle()
  }

  // MARK: What is not replaced

  @Test("where the keeper serves no bus, --replace changes nothing")
  func nobody() throws {
    try replaced.die()
    try replaced.start(["--replace"])
    try RawClient.greeted(replaced.bus).settle()
    #expect(replaced.end(SIGINT) == 0)
    try replaced.start(["--replace"])
    try RawClient.greeted(replaced.bus).settle()
  }

  @Test("without a keeper, --replace fails and says why, and the bus goes on")
  func noKeeper() throws {
    let bus = try TestBus()
    let refused = try FinishedProgram.tribuned([
      "--config=\(bus.folder.path)/etc", "--replace", "--listen=\(bus.path)",
      "--keeper=\(bus.folder.path)/keeper",
    ])
    #expect(refused.status == 1)
    #expect(refused.errors.contains("no keeper at \(bus.folder.path)/keeper"))
    try RawClient.greeted(bus).settle()
  }

  private func requireRoot() throws {
    guard geteuid() == 0 else { throw Programs.Missing(description: "only root can act as another user") }
  }

  @Test("another user cannot replace the bus, and it goes on", arguments: [0o600, 0o666] as [mode_t])
  func otherUser(mode: mode_t) throws {
    try requireRoot()
    // Another user may have no access to the folder with the programs.
    let program = "\(replaced.folder.path)/tribuned"
    try FileManager.default.copyItem(atPath: try Programs.path(of: "tribuned"), toPath: program)
    #expect(FileStatus(replaced.keeper.path)?.mode == 0o600)
    _ = unsafe chmod(replaced.keeper.path, mode)
    let refused = try FinishedProgram([
      "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "--replace",
      "--listen=\(replaced.path)", "--keeper=\(replaced.keeper.path)", "--config=\(replaced.folder.path)/etc",
    ])
    #expect(refused.status == 1)
    #expect(
      refused.errors.contains(mode == 0o600 ? "Permission denied" : "the connection was closed"),
      "\(refused.errors)")
    try RawClient.greeted(replaced.bus).settle()
    try replaced.replace()
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
    let refused = try FinishedProgram.tribuned([
      "--config=\(folder.path)/etc", "--replace", "--listen=\(folder.path)/bus",
      "--keeper=\(folder.path)/keeper",
    ])
    #expect(refused.status == 1)
    #expect(refused.errors.contains("it runs as user 65534"), "\(refused.errors)")
  }

  @Test("a bus that a service manager has started is not replaced, and says how to restart it")
  func managed() throws {
    let bus = try RestartedBus(isManaged: true)
    let client = try RawClient.greeted(bus)
    let refused = try bus.replaceInVain()
    #expect(refused.status == 1)
    #expect(refused.errors.contains("use \"systemctl restart tribuned\""))
    try client.settle()
    try bus.restart()
    try client.settle()
  }

  /// Why a daemon cannot replace the bus.
  enum Flaw: CaseIterable {
    case tooFewDescriptors, badConfiguration, listensElsewhere

    var complaint: String {
      switch self {
      case .tooFewDescriptors: "descriptors; this process can have 64"
      case .badConfiguration: "not starting with a configuration that has errors"
      case .listensElsewhere: "it does not listen at"
      }
    }

    func replaceInVain(_ replaced: RestartedBus) throws -> FinishedProgram {
      switch self {
      case .tooFewDescriptors:
        return try replaced.replaceInVain(wrapper: ["/usr/bin/prlimit", "--nofile=64:64"])
      case .badConfiguration:
        try replaced.folder.write("[Bus]\nQueriesMax=many\n", to: "etc/tribuned.conf")
        let refused = try replaced.replaceInVain()
        try replaced.folder.write("", to: "etc/tribuned.conf")
        return refused
      case .listensElsewhere: return try replaced.replaceInVain(at: "\(replaced.folder.path)/other")
      }
    }
  }

  @Test("when a daemon cannot go on with everything, the bus stays", arguments: Flaw.allCases)
  func flawed(_ flaw: Flaw) throws {
    let clients = try (0..<100).map { _ in try RawClient.greeted(replaced.bus) }
    let refused = try flaw.replaceInVain(replaced)
    #expect(refused.status == 1)
    #expect(refused.errors.contains(flaw.complaint), "\(refused.errors)")
    for client in clients { try client.settle() }
    try replaced.replace()
    for client in clients { try client.settle() }
  }

  @Test("a bus whose keeper lacks something is not replaced")
  func fullKeeper() throws {
    // The log, the listening socket, and two connections.
    let replaced = try RestartedBus(room: 4)
    let clients = try (0..<3).map { _ in try RawClient.greeted(replaced.bus) }
    let refused = try replaced.replaceInVain()
    #expect(refused.status == 1)
    #expect(refused.errors.contains("the keeper has not acknowledged everything"), "\(refused.errors)")
    for client in clients { try client.settle() }
  }
}
