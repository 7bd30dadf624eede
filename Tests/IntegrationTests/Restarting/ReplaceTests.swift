// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// `tribuned --replace`: the next daemon gets what the bus has over the keeper, while the bus is there.
@Suite("Replacing", .timeLimit(.minutes(3)))
struct ReplaceTests {
  private let replaced: RestartedBus

  init() throws { replaced = try RestartedBus() }

  // MARK: What goes on

  @Test("observers, holds and what is retained go on, from one daemon to the next")
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
  }

  @Test("files that wait, and one that is retained, go along")
  func files() throws {
    let observer = try RawClient(replaced.bus)
    try observer.greet(capabilities: .descriptors)
    try observer.observe("load.*", serial: 1)
    let poster = try RawClient.greeted(replaced.bus)
    let payload = String(repeating: "x", count: 1000)
    for serial in 1...600 {
      try poster.send(Post(), serial: Serial(serial), name: "load.unit", text: payload)
    }
    let contents = [UInt8](repeating: 7, count: 100_000)
    try poster.post(
      "load.file", options: .retain, file: try SharedFile.make(contents), length: contents.count, serial: 601,
      flags: .acknowledge)
    _ = try poster.next(.ok)
    for _ in 0..<2 { try replaced.replace() }
    for serial in 1...600 { #expect(try observer.next().header.serial == Serial(serial)) }
    #expect(try observer.next().name == "load.file")
    #expect(try observer.takeFile(length: contents.count).length == contents.count)
    let late = try RawClient.greeted(replaced.bus)
    try late.send(Observe(options: .retained), serial: 1, name: "load.*")
    #expect(try late.next(.retained).payloadBytes == contents)
  }

  @Test("whoever has said nothing yet, or half a hello, is still to say it")
  func hello() throws {
    let silent = try RawClient(replaced.bus)
    let begun = try RawClient(replaced.bus)
    let hello = ByteBuffer(capacity: 64)
    Hello().append(to: hello)
    try begun.send(Array([UInt8](hello.bytes).prefix(3)))
    try RawClient.greeted(replaced.bus).settle()
    for _ in 0..<2 { try replaced.replace() }
    try begun.send(Array([UInt8](hello.bytes).dropFirst(3)))
    _ = try begun.readHello()
    _ = try begun.next(.welcome)
    try silent.greet()
    try replaced.replace()
    for client in [silent, begun] { try client.settle() }
  }

  @Test("who posts all the time notices nothing, nor who observes that")
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

  @Test("a client of the library goes on")
  func library() throws {
    let observer = try replaced.bus.staying("observe", "unit.*")
    for _ in 0..<2 { try replaced.replace() }
    #expect(try replaced.bus.tribunectl("post", "unit.didStart").status == 0)
    #expect(try observer.output.line()?.contains("unit.didStart") == true)
  }

  @Test("many connections are all there")
  func many() throws {
    let clients = try (0..<600).map { _ in try RawClient.greeted(replaced.bus) }
    for (index, client) in clients.enumerated() { try client.observe("load.n\(index)", serial: 1) }
    for _ in 0..<2 { try replaced.replace() }
    let poster = try RawClient.greeted(replaced.bus)
    for index in clients.indices { try poster.send(Post(), serial: 1, name: "load.n\(index)") }
    for (index, client) in clients.enumerated() { #expect(try client.next().name == "load.n\(index)") }
  }

  @Test("neither memory nor descriptors grow with it")
  func growth() throws {
    let clients = try (0..<50).map { _ in try RawClient.greeted(replaced.bus) }
    for client in clients { try client.observe("load.*", serial: 1) }
    try replaced.replace()
    try clients[0].settle()
    let descriptors = try replaced.bus.openDescriptors()
    let (memory, shared) = (try replaced.bus.privateMemory(), try replaced.bus.processStatus("RssShmem"))
    for _ in 0..<10 { try replaced.replace() }
    try clients[0].settle()
    // Some are opened when they are first needed; what each replacement left would be ten.
    #expect(try replaced.bus.openDescriptors() < descriptors + 5)
    #expect(try replaced.bus.privateMemory() <= memory + 1024)
    #expect(try replaced.bus.processStatus("RssShmem") <= shared + 1024)
  }

  // MARK: The socket's file

  @Test("the socket's file stays, and is the last daemon's to change and to remove")
  func socketFile() throws {
    for _ in 0..<2 { try replaced.replace() }
    #expect(FileStatus(replaced.path)?.mode == 0o666)
    try replaced.bus.reload("[Socket]\nMode=0600\n")
    #expect(FileStatus(replaced.path)?.mode == 0o600)
    #expect(replaced.end(SIGINT) == 0)
    #expect(FileStatus(replaced.path) == nil)
  }

  @Test("the socket's file gets the mode that the last daemon's configuration says")
  func socketMode() throws {
    try replaced.folder.write("[Socket]\nMode=0600\n", to: "etc/tribuned.conf")
    try replaced.replace()
    #expect(FileStatus(replaced.path)?.mode == 0o600)
    try replaced.folder.write("", to: "etc/tribuned.conf")
    try replaced.replace()
    #expect(FileStatus(replaced.path)?.mode == 0o666)
  }

  @Test("the socket answers for the daemon that serves")
  func answering() throws {
    try replaced.replace()
    let second = try FinishedProgram.tribuned([
      "--listen=\(replaced.path)", "--config=\(replaced.folder.path)",
    ])
    #expect(second.errors.contains("a bus with pid \(replaced.bus.pid) answers there already"))
  }

  @Test("a bus that was started elsewhere leaves no file behind either")
  func relativePath() throws {
    let folder = try TestFolder()
    let replaced = try RestartedBus(
      arguments: ["--listen=bus"], wrapper: ["/usr/bin/env", "--chdir=\(folder.path)"], folder: folder)
    for _ in 0..<2 { try replaced.replace() }
    try RawClient.greeted(replaced.bus).settle()
    #expect(replaced.end(SIGINT) == 0)
    #expect(FileStatus(replaced.path) == nil)
  }

  @Test("a bus that was passed its socket goes on with it: no other daemon would have it")
  func passedSocket() throws {
    let folder = try TestFolder()
    let replaced = try RestartedBus(
      arguments: [], wrapper: Activation.wrapper([.init(path: "\(folder.path)/bus")]), folder: folder)
    let client = try RawClient.greeted(replaced.bus)
    #expect(try replaced.replaceInVain().errors.contains("it does not listen at \(replaced.path)"))
    try client.settle()
    try RawClient.greeted(replaced.bus).settle()
  }

  // MARK: Whom it takes no place of

  @Test("where the keeper serves no bus, a daemon with --replace starts as without")
  func nobody() throws {
    try replaced.die()
    try replaced.start(["--replace"])
    try RawClient.greeted(replaced.bus).settle()
    #expect(replaced.end(SIGINT) == 0)
    try replaced.start(["--replace"])
    try RawClient.greeted(replaced.bus).settle()
  }

  @Test("where there is no keeper, a daemon with --replace says so, and the bus goes on")
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

  @Test("another user cannot have the bus replaced, and it goes on", arguments: [0o600, 0o666] as [mode_t])
  func otherUser(mode: mode_t) throws {
    guard geteuid() == 0 else {
      throw Programs.Missing(description: "only root can be another user for once")
    }
    // Where the program lies, another user may not get to.
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
      refused.errors.contains(mode == 0o600 ? "Permission denied" : "it has hung up"), "\(refused.errors)")
    try RawClient.greeted(replaced.bus).settle()
    try replaced.replace()
  }

  @Test("what another user runs is no keeper that is trusted with anything")
  func anotherUsersKeeper() throws {
    guard geteuid() == 0 else {
      throw Programs.Missing(description: "only root can be another user for once")
    }
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
    #expect(refused.errors.contains("user 65534 runs it"), "\(refused.errors)")
  }

  @Test("a bus that a service manager has started says how it is restarted, and goes on")
  func managed() throws {
    let bus = try RestartedBus(isManaged: true)
    let client = try RawClient.greeted(bus)
    let refused = try bus.replaceInVain()
    #expect(refused.status == 1)
    #expect(refused.errors.contains("\"systemctl restart tribuned\" replaces it"))
    try client.settle()
    try bus.restart()
    try client.settle()
  }

  /// Why a daemon cannot take the place of the bus.
  enum Flaw: CaseIterable {
    case tooFewDescriptors, badConfiguration, listensElsewhere

    var complaint: String {
      switch self {
      case .tooFewDescriptors: "descriptors did not come, and this process can have 64"
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
      case .listensElsewhere: return try replaced.replaceInVain(["--listen=\(replaced.folder.path)/other"])
      }
    }
  }

  @Test("a daemon that cannot go on with everything leaves the bus where it is", arguments: Flaw.allCases)
  func flawed(_ flaw: Flaw) throws {
    let clients = try (0..<100).map { _ in try RawClient.greeted(replaced.bus) }
    let refused = try flaw.replaceInVain(replaced)
    #expect(refused.status == 1)
    #expect(refused.errors.contains(flaw.complaint), "\(refused.errors)")
    for client in clients { try client.settle() }
    try replaced.replace()
    for client in clients { try client.settle() }
  }

  @Test("a bus of which the keeper has not everything stays where it is")
  func fullKeeper() throws {
    // The log, the listening socket, and two connections.
    let replaced = try RestartedBus(room: 4)
    let clients = try (0..<3).map { _ in try RawClient.greeted(replaced.bus) }
    let refused = try replaced.replaceInVain()
    #expect(refused.status == 1)
    #expect(refused.errors.contains("the keeper has not taken everything"), "\(refused.errors)")
    for client in clients { try client.settle() }
  }
}
