// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// `tribuned --replace`: where no service manager keeps what a bus has, the next daemon gets it from the bus.
@Suite("Replacing", .timeLimit(.minutes(3)))
struct ReplaceTests {
  private let replaced: ReplacedBus

  init() throws { replaced = try ReplacedBus() }

  // MARK: What goes on

  @Test("observers, holds and what is retained go on, from one daemon to the next")
  func registrations() throws {
    let observer = try RawClient.greeted(replaced.bus)
    try observer.observe("unit.*", serial: 1)
    let holder = try RawClient.greeted(replaced.bus)
    try holder.send(Hold(), serial: 1, name: "host.shouldReboot", text: "backup")
    _ = try holder.next(.ok)
    let (poster, welcome) = try RawClient.welcomed(replaced.bus)
    try poster.send(Post(options: .retain), serial: 1, flags: .acknowledge, name: "unit.state", text: "kept")
    _ = try poster.next(.ok)
    #expect(try observer.next().payload == "kept")
    for round in 1...3 {
      try replaced.replace()
      try poster.send(Post(), serial: 2, name: "unit.didStart", text: "\(round)")
      #expect(try observer.next().payload == "\(round)")
      try poster.send(Ask(), serial: 3, name: "host.shouldReboot")
      #expect(try poster.nextVerdict().outcomes.map(\.reason) == ["backup"])
      let (late, lateWelcome) = try RawClient.welcomed(replaced.bus)
      #expect(lateWelcome.connection > welcome.connection)
      #expect(lateWelcome.busPID == UInt32(replaced.bus.pid))
      try late.send(Observe(options: .retained), serial: 1, name: "unit.state")
      #expect(try late.next(.retained).payload == "kept")
    }
    #expect(try poster.busEntry().connections == 3)
  }

  @Test("a query under way comes to its verdict")
  func query() throws {
    let delegate = try RawClient.greeted(replaced.bus)
    try delegate.attach(Attach(timeout: 60_000, label: "x", patterns: ["a.shouldB"]), serial: 1)
    let asker = try RawClient.greeted(replaced.bus)
    try asker.send(Ask(deadline: 60_000), serial: 7, name: "a.shouldB")
    let question = try delegate.nextQuestion().question
    for _ in 0..<2 { try replaced.replace() }
    try delegate.answer(question, .veto, "no")
    let frame = try asker.next(.verdict)
    #expect(frame.header.serial == 7)
    #expect(try frame.decode(Verdict.self).outcomes.map(\.reason) == ["no"])
    #expect(try delegate.nextConclusion() == .vetoed)
  }

  @Test("what waits to be read is read after it, and a frame that has come in part goes on")
  func streams() throws {
    let observer = try RawClient.greeted(replaced.bus)
    try observer.observe("load.*", serial: 1)
    let poster = try RawClient.greeted(replaced.bus)
    // More than the kernel takes for the observer, less than the high mark on top of that.
    let payload = String(repeating: "x", count: 1000)
    for serial in 1...1000 {
      try poster.send(Post(), serial: Serial(serial), name: "load.unit", text: payload)
    }
    let frame = ByteBuffer(capacity: 64)
    frame.appendFrame(Post(), serial: 1001, name: "load.unit", text: "last")
    let bytes = [UInt8](frame.bytes)
    try poster.settle()
    try poster.send(Array(bytes[..<40]))
    // It has been read when somebody who came later has been served.
    try RawClient.greeted(replaced.bus).settle()
    for _ in 0..<2 { try replaced.replace() }
    try poster.send(Array(bytes[40...]))
    for serial in 1...1000 { #expect(try observer.next().header.serial == Serial(serial)) }
    #expect(try observer.next().payload == "last")
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
    let replaced = try ReplacedBus(configuration: "[Queue]\nHighMark=64M\nLowMark=32M\n")
    let observer = try RawClient.greeted(replaced.bus)
    try observer.observe("load.*", serial: 1)
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
    #expect(replaced.bus.stop() == 0)
    #expect(FileStatus(replaced.path) == nil)
  }

  @Test("the socket's file gets the mode that the last daemon's configuration says")
  func socketMode() throws {
    replaced.configuration = "[Socket]\nMode=0600\n"
    try replaced.replace()
    #expect(FileStatus(replaced.path)?.mode == 0o600)
    replaced.configuration = ""
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
    let bus = try TestBus(
      wrapper: ["/usr/bin/env", "--chdir=\(folder.path)"], arguments: ["--listen=bus"], folder: folder)
    let replaced = ReplacedBus(bus)
    for _ in 0..<2 { try replaced.replace() }
    try RawClient.greeted(replaced.bus).settle()
    #expect(replaced.bus.stop() == 0)
    #expect(FileStatus(replaced.path) == nil)
  }

  @Test("a socket that the service manager made stays its own")
  func passedSocket() throws {
    let folder = try TestFolder()
    let bus = try TestBus(
      wrapper: Activation.wrapper([.init(path: "\(folder.path)/bus")]), arguments: [], folder: folder)
    let replaced = ReplacedBus(bus)
    let client = try RawClient.greeted(bus)
    try replaced.replace()
    try client.settle()
    #expect(replaced.bus.stop() == 0)
    #expect(FileStatus(replaced.path)?.isSocket == true)
  }

  // MARK: Whom it takes no place of

  @Test("where nobody listens, a daemon with --replace is the first")
  func nobody() throws {
    let folder = try TestFolder()
    let bus = try TestBus(arguments: ["--replace", "--listen=\(folder.path)/bus"], folder: folder)
    try RawClient.greeted(bus).settle()
    #expect(try bus.log().contains("no bus listens at \(folder.path)/bus, which could be replaced"))
    #expect(bus.stop() == 0)
    #expect(FileStatus(bus.path) == nil)
  }

  @Test("another user is refused, and the bus goes on")
  func otherUser() throws {
    guard geteuid() == 0 else {
      throw Programs.Missing(description: "only root can be another user for once")
    }
    // Where the program lies, another user may not get to.
    let program = "\(replaced.folder.path)/tribuned"
    try FileManager.default.copyItem(atPath: try Programs.path(of: "tribuned"), toPath: program)
    let refused = try FinishedProgram([
      "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "--replace",
      "--listen=\(replaced.path)", "--config=\(replaced.folder.path)/etc",
    ])
    #expect(refused.status == 1)
    #expect(
      refused.errors
        == "tribuned: cannot take the place of the bus at \(replaced.path): "
        + "only user 0, who runs the bus, and root can have it replaced\n")
    try RawClient.greeted(replaced.bus).settle()
  }

  @Test("what another user runs is no bus whose place is taken")
  func anotherUsersBus() throws {
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
      listening = socket.socket(socket.AF_UNIX)
      listening.bind(sys.argv[1])
      listening.listen()
      print("listening", flush=True)
      signal.pause()
      """
    let impostor = try RunningProgram([
      "/usr/bin/env", "python3", "-c", script, "\(folder.path)/bus",
    ])
    #expect(try impostor.output.line() == "listening")
    let refused = try FinishedProgram.tribuned([
      "--config=\(folder.path)/etc", "--replace", "--listen=\(folder.path)/bus",
    ])
    #expect(refused.status == 1)
    #expect(
      refused.errors
        == "tribuned: cannot take the place of the bus at \(folder.path)/bus: user 65534 runs it, "
        + "and only user 0, who runs this one, and root are trusted\n")
  }

  @Test("a bus that a service manager keeps says how it is restarted, and goes on")
  func keptBus() throws {
    let bus = try RestartedBus()
    let client = try RawClient.greeted(bus)
    let refused = try FinishedProgram.tribuned([
      "--replace", "--listen=\(bus.path)", "--config=\(bus.folder.path)",
    ])
    #expect(refused.status == 1)
    #expect(refused.errors.contains("\"systemctl restart tribuned\" replaces it"))
    try client.settle()
    try bus.restart()
    try client.settle()
  }

  @Test("a daemon that a service manager passes something, or keeps something for, takes nobody's place")
  func keptDaemon() throws {
    let activated = Activation.wrapper([.init(path: "\(replaced.folder.path)/other")])
    for (wrapper, environment) in [(activated, [:]), ([], ["TRIBUNE_FDSTORE": "10"])] {
      let refused = try replaced.replaceInVain(wrapper: wrapper, environment: environment)
      #expect(refused.status == 1)
      #expect(
        refused.errors.contains(
          "--replace is for a bus of which the service manager keeps and passes nothing"))
    }
    try RawClient.greeted(replaced.bus).settle()
  }

  @Test("a daemon that cannot have as many descriptors leaves the bus where it is")
  func fewDescriptors() throws {
    let clients = try (0..<100).map { _ in try RawClient.greeted(replaced.bus) }
    let refused = try replaced.replaceInVain(wrapper: ["/usr/bin/prlimit", "--nofile=64:64"])
    #expect(refused.status == 1)
    #expect(refused.errors.contains("cannot take the place of the bus"))
    for client in clients { try client.settle() }
    #expect(try replaced.bus.log().contains("the bus goes on"))
    try replaced.replace()
    for client in clients { try client.settle() }
  }
}
