// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

/// How the daemon gets its socket, or says why it has none.
@Suite("Starting", .timeLimit(.minutes(2)))
struct StartingTests {
  /// Whether the bus serves.
  private func expectService(_ bus: TestBus) throws {
    try RawClient.greeted(bus).settle()
  }

  // MARK: Readiness

  @Test("readiness is the first thing that is told, with a status, and then the socket answers")
  func readiness() throws {
    let bus = try TestBus()
    #expect(bus.notifySocket.received == [bus.readiness])
    #expect(
      bus.readiness
        == "READY=1\nSTATUS=0 connections, 0 observations, 0 delegates; 0 posted, 0 lost; 0 asked, 0 vetoed")
    let (client, welcome) = try RawClient.welcomed(bus)
    #expect(welcome.busPID == UInt32(bus.pid))
    try client.settle()
  }

  @Test("a daemon that cannot start is never ready")
  func neverReady() throws {
    let folder = try TestFolder()
    try folder.write("", to: "bus")
    let socket = try NotifySocket(path: "\(folder.path)/notify")
    let daemon = try FinishedProgram.tribuned(
      ["--listen=\(folder.path)/bus", "--config=\(folder.path)"],
      environment: ["NOTIFY_SOCKET": socket.address])
    #expect(daemon.status == 1)
    try socket.drain()
    #expect(!socket.received.contains { $0.contains("READY=1") })
  }

  // MARK: The socket's file

  @Test(
    "the socket's file has the mode that is set, whatever the umask",
    arguments: [
      ("", [], 0o666), ("", ["--user"], 0o600), ("[Socket]\nMode=0660\n", [], 0o660),
      ("[Socket]\nMode=0640\n", ["--user"], 0o640),
    ] as [(String, [String], UInt32)])
  func mode(configuration: String, options: [String], mode: UInt32) throws {
    let folder = try TestFolder()
    let bus = try TestBus(
      configuration: configuration, wrapper: ["/bin/sh", "-c", "umask 0177; exec \"$0\" \"$@\""],
      arguments: ["--listen=\(folder.path)/bus"] + options, folder: folder)
    let status = try #require(FileStatus(bus.path))
    #expect(status.isSocket)
    #expect(status.mode == mode)
  }

  @Test("the socket's file goes with the daemon")
  func removal() throws {
    let bus = try TestBus()
    #expect(bus.stop() == 0)
    #expect(FileStatus(bus.path) == nil)
  }

  @Test("a socket's file that somebody else has put there meanwhile is left alone")
  func foreignFile() throws {
    let bus = try TestBus()
    try FileManager.default.removeItem(atPath: bus.path)
    try bus.folder.write("precious", to: "bus")
    #expect(bus.stop() == 0)
    #expect(try bus.folder.read("bus") == "precious")
  }

  @Test("the folder of the socket is made if it is missing")
  func missingFolder() throws {
    try expectService(try TestBus(socket: "new/bus"))
  }

  @Test("a stale socket's file is replaced, also that of a daemon that was killed")
  func staleFile() throws {
    let folder = try TestFolder()
    try UnixSocket.bind(try UnixSocket.make(nonblocking: false), to: "\(folder.path)/bus")
    let killed = try TestBus(folder: folder)
    try expectService(killed)
    killed.signal(SIGKILL)
    #expect(killed.waitForEnd() == -SIGKILL)
    #expect(FileStatus(killed.path) != nil)
    try expectService(try TestBus(folder: folder))
  }

  @Test("a socket that is in use is an error that names who answers, and stays in use")
  func liveSocket() throws {
    let bus = try TestBus()
    let second = try FinishedProgram.tribuned(["--listen=\(bus.path)", "--config=\(bus.folder.path)"])
    #expect(second.status == 1)
    #expect(second.errors.contains("\(bus.path): a bus with pid \(bus.pid) answers there already"))
    try expectService(bus)
  }

  @Test(
    "a place where no socket can be is an error that says why",
    arguments: [
      ("file", "there is a file that is no socket"), ("folder", "there is a file that is no socket"),
      ("file/bus", "Not a directory"), ("missing/folder/bus", "No such file or directory"),
      (String(repeating: "x", count: 108), "File name too long"),
    ])
  func noPlace(name: String, problem: String) throws {
    let folder = try TestFolder()
    try folder.write("precious", to: "file")
    try folder.write("", to: "folder/file")
    let path = "\(folder.path)/\(name)"
    let daemon = try FinishedProgram.tribuned(["--listen=\(path)", "--config=\(folder.path)"])
    #expect(daemon.status == 1)
    #expect(daemon.errors.contains("\(path): \(problem)"))
    #expect(try folder.read("file") == "precious")
  }

  @Test(
    "without --listen, the socket is in the unit's folder or the user's",
    arguments: [
      (["RUNTIME_DIRECTORY": "/run"], "run/bus"),
      (["RUNTIME_DIRECTORY": "/run:/other", "XDG_RUNTIME_DIR": "/user"], "run/bus"),
      (["RUNTIME_DIRECTORY": "", "XDG_RUNTIME_DIR": "/user"], "user/tribune/bus"),
    ] as [([String: String], String)])
  func defaultPlaces(variables: [String: String], socket: String) throws {
    let folder = try TestFolder()
    for name in ["run", "user"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/\(name)", withIntermediateDirectories: false)
    }
    let environment = variables.mapValues { value in
      value.split(separator: ":").map { folder.path + $0 }.joined(separator: ":")
    }
    let bus = try TestBus(environment: environment, arguments: [], socket: socket, folder: folder)
    try expectService(bus)
  }

  // MARK: Socket activation

  @Test("sockets that systemd passes are served, no child's, and their files stay")
  func activation() throws {
    let folder = try TestFolder()
    let bus = try TestBus(
      wrapper: Activation.wrapper([
        .init(path: "\(folder.path)/bus"), .init(name: "second", path: "\(folder.path)/second"),
      ]),
      arguments: ["--listen=\(folder.path)/unused"], folder: folder)
    try expectService(bus)
    let other = try RawClient(path: "\(folder.path)/second")
    _ = try other.readHello()
    #expect(FileStatus("\(folder.path)/unused") == nil)
    for descriptor in 3...4 {
      let info = try String(contentsOfFile: "/proc/\(bus.pid)/fdinfo/\(descriptor)", encoding: .utf8)
      let flags = info.split(separator: "\n").first { $0.hasPrefix("flags:") }
      let value = try #require(flags?.split(separator: "\t").last.flatMap { CInt($0, radix: 8) })
      #expect(value & O_CLOEXEC != 0)
    }
    #expect(try bus.log().contains("listening on \(folder.path)/second, passed as second"))
    #expect(bus.stop() == 0)
    #expect(FileStatus(bus.path)?.isSocket == true)
    #expect(FileStatus("\(folder.path)/second")?.isSocket == true)
  }

  @Test("a keeper listens on the socket that systemd passes, or says that it has none")
  func activatedKeeper() throws {
    let folder = try TestFolder()
    let path = "\(folder.path)/keeper"
    let keeper = try RunningProgram(
      Activation.wrapper([.init(kind: .packets, name: "keeper", path: path)])
        + [try Programs.path(of: "tribuned"), "--keep"])
    let bus = try TestBus(folder: folder, keeper: path)
    let client = try RawClient.observing("load.*", on: bus)
    #expect(bus.stop() == 0)
    let next = try TestBus(folder: folder, keeper: path)
    try client.settle()
    try expectService(next)
    withExtendedLifetime(keeper) {}
    let other = try FinishedProgram.tribuned(["--keep"])
    #expect(other.status == 1)
    #expect(other.errors.contains("no socket was passed, and no --listen=PATH given"))
  }

  @Test("a keeper takes no other one's place, and the place of one that was killed")
  func secondKeeper() throws {
    let folder = try TestFolder()
    let keeper = try TestKeeper(in: folder)
    let second = try FinishedProgram.tribuned(["--keep", "--listen=\(keeper.path)"])
    #expect(second.status == 1)
    #expect(second.errors.contains("Address already in use"))
    keeper.die()
    try expectService(try TestBus(folder: folder, keeper: try TestKeeper(in: folder).path))
  }

  @Test("descriptors that were passed to another process are not taken")
  func activationOfAnother() throws {
    let bus = try TestBus(environment: ["LISTEN_FDS": "1", "LISTEN_PID": "1"])
    try expectService(bus)
    #expect(FileStatus(bus.path)?.isSocket == true)
  }

  @Test(
    "what was passed and is no listening socket is an error that names it",
    arguments: [Activation.Socket.Kind.idle, .datagram])
  func wrongDescriptor(kind: Activation.Socket.Kind) throws {
    let folder = try TestFolder()
    let daemon = try FinishedProgram.tribuned(
      ["--config=\(folder.path)"],
      wrapper: Activation.wrapper([
        .init(path: "\(folder.path)/good"), .init(kind: kind, name: "odd", path: "\(folder.path)/wrong"),
      ]))
    #expect(daemon.status == 1)
    #expect(daemon.errors.contains("descriptor 4 (\"odd\") is no listening Unix stream socket"))
    #expect(FileStatus("\(folder.path)/wrong")?.isSocket == true)
  }

  // MARK: The command line

  @Test("--help and --version say it on standard output")
  func informs() throws {
    let help = try FinishedProgram.tribuned(["--help"])
    #expect(help.status == 0)
    #expect(help.output.hasPrefix("Usage: tribuned "))
    for option in [
      "--listen=", "--keeper=", "--keep", "--config=", "--user", "--replace", "--check-config", "--version",
    ] {
      #expect(help.output.contains("  \(option)"))
    }
    #expect(help.errors.isEmpty)
    let version = try FinishedProgram.tribuned(["--version"])
    #expect(version.status == 0)
    #expect(version.output.hasPrefix("tribuned "))
    #expect(version.output.split(separator: "\n").count == 1)
  }

  @Test(
    "a command line that is none says what is wrong with it, and exits 2",
    arguments: [
      (["--colour"], "unknown option --colour"), (["-x"], "unknown option -x"),
      (["start"], "unexpected argument start"), (["--listen"], "--listen needs a value"),
      (["--listen="], "--listen needs a value"), (["--user=yes"], "--user takes no value"),
      (["--replace=1"], "--replace takes no value"), (["--keeper"], "--keeper needs a value"),
      (["--replace"], "--replace needs --keeper=PATH"), (["--keep=yes"], "--keep takes no value"),
      ([""], "unexpected argument"), (["\u{1B}[31m"], "unexpected argument \\u{1b}[31m"),
    ])
  func wrongUsage(arguments: [String], message: String) throws {
    let daemon = try FinishedProgram.tribuned(arguments)
    #expect(daemon.status == 2)
    #expect(daemon.errors.contains("tribuned: \(message)"))
    #expect(daemon.output.isEmpty)
  }

  // MARK: The configuration

  @Test("a configuration is checked without a bus, and without a word when nothing is wrong with it")
  func checksConfiguration() throws {
    let folder = try TestFolder()
    try folder.write("[Bus]\nPayloadMax=1M\n", to: "tribuned.conf")
    let good = try FinishedProgram.tribuned(["--check-config", "--config=\(folder.path)"])
    #expect(good.status == 0)
    #expect(good.output.isEmpty && good.errors.isEmpty)

    try folder.write("[Bus]\n\nPayloadMin=1M\n", to: "tribuned.conf.d/10-odd.conf")
    let odd = try FinishedProgram.tribuned(["--check-config", "--config=\(folder.path)"])
    #expect(odd.status == 0)
    #expect(odd.errors.contains("\(folder.path)/tribuned.conf.d/10-odd.conf:3: warning: "))

    try folder.write("[Bus]\nPayloadMax=much\n", to: "tribuned.conf.d/20-bad.conf")
    let bad = try FinishedProgram.tribuned(["--check-config", "--config=\(folder.path)"])
    #expect(bad.status == 1)
    #expect(bad.errors.contains("10-odd.conf:3: warning: "))
    #expect(bad.errors.contains("\(folder.path)/tribuned.conf.d/20-bad.conf:2: error: PayloadMax=: \"much\""))
  }

  @Test("the daemon does not start with a configuration that has errors, and says where they are")
  func badConfiguration() throws {
    let folder = try TestFolder()
    try folder.write("[Queue]\nHighMark=1K\nLowMark=2K\n", to: "tribuned.conf")
    let daemon = try FinishedProgram.tribuned(["--listen=\(folder.path)/bus", "--config=\(folder.path)"])
    #expect(daemon.status == 1)
    #expect(daemon.errors.contains("\(folder.path)/tribuned.conf:3: error: "))
    #expect(FileStatus("\(folder.path)/bus") == nil)
  }

  @Test("what is only odd in a configuration is logged, and the rest counts")
  func oddConfiguration() throws {
    let bus = try TestBus(configuration: "[Bus]\nQueriesMin=1\nQueriesMax=7\n[Nowhere]\nKey=1\n")
    #expect(try RawClient.welcomed(bus).welcome.queriesMax == 7)
    let file = "\(bus.folder.path)/etc/tribuned.conf"
    #expect(try bus.log().contains("\(file):2: warning: there is no QueriesMin="))
    #expect(try bus.log().contains("\(file):4: warning: there is no section [Nowhere]"))
  }
}
