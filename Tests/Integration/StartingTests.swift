// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@Suite("Starting", .timeLimit(.minutes(15)))
struct StartingTests {
  private func expectService(_ bus: TestBus) throws { try RawClient.greeted(bus).settle() }

  @Test("the first notification announces that the daemon is ready, and then the socket answers")
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

  @Test(
    "the socket's file has the configured mode, whatever the umask",
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

  @Test("the daemon does not remove another file at the socket's path")
  func foreignFile() throws {
    let bus = try TestBus()
    try bus.folder.write("precious", to: "file")
    #expect(unsafe rename("\(bus.folder.path)/file", bus.path) == 0)
    try bus.waitForLog("\(bus.path): there is a file that is not a socket")
    #expect(bus.stop() == 0)
    #expect(try bus.folder.read("bus") == "precious")
  }

  @Test("if the socket's file is removed or moved, the daemon reports that, and makes it again")
  func lostFile() throws {
    let bus = try TestBus()
    let hold = try bus.staying("hold", "a.shouldB", "--why=busy")
    for mustRemove in [true, false, true] {
      let before = try bus.log().utf8.count
      if mustRemove {
        try FileManager.default.removeItem(atPath: bus.path)
      } else {
        #expect(unsafe rename(bus.path, "\(bus.path)-moved") == 0)
      }
      try bus.waitForLog("the file of the socket \(bus.path) was removed or replaced", behind: before)
      try bus.waitForLog("listening on \(bus.path)", behind: before)
    }
    let second = try FinishedProgram.tribuned(["--listen=\(bus.path)", "--config=\(bus.folder.path)"])
    #expect(second.status == 1)
    #expect(second.errors.contains("\(bus.path): a bus with pid \(bus.pid) answers there already"))
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 1)
    withExtendedLifetime(hold) {}
  }

  @Test("if the folder of the socket is moved, the daemon reports that, and listens in the next one")
  func lostFolder() throws {
    let folder = try TestFolder()
    func makeFolder() throws {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/run", withIntermediateDirectories: false)
    }
    try makeFolder()
    let bus = try TestBus(socket: "run/bus", folder: folder)
    let hold = try bus.staying("hold", "a.shouldB", "--why=busy")
    #expect(unsafe rename("\(folder.path)/run", "\(folder.path)/old") == 0)
    try bus.waitForLog("\(bus.path) was removed or replaced, and clients no longer reach this bus")
    let before = try bus.log().utf8.count
    try makeFolder()
    try bus.waitForLog("listening on \(bus.path)", behind: before)
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 1)
    withExtendedLifetime(hold) {}
  }

  @Test("if an earlier file of the socket comes back, it leads to the daemon, which still watches it")
  func returnedFile() throws {
    let bus = try TestBus()
    var before = 0
    func lose(_ loss: () throws -> Void) throws {
      before = try bus.log().utf8.count
      try loss()
      try bus.waitForLog("listening on \(bus.path)", behind: before)
    }
    try lose { #expect(unsafe rename(bus.path, "\(bus.path)-moved") == 0) }
    #expect(unsafe rename("\(bus.path)-moved", bus.path) == 0)
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
    try lose { try FileManager.default.removeItem(atPath: bus.path) }
    #expect(try !bus.log().contains("answers there already"))
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
  }

  @Test("if the file of systemd's socket is removed, the daemon reports that")
  func lostPassedFile() throws {
    let folder = try TestFolder()
    let bus = try TestBus(
      wrapper: Activation.wrapper([.init(path: "\(folder.path)/bus")]), arguments: [], folder: folder)
    try FileManager.default.removeItem(atPath: bus.path)
    try bus.waitForLog("\(bus.path) was removed or replaced, and clients no longer reach this bus")
    #expect(bus.stop() == 0)
  }

  @Test("if another bus takes the socket's path, the daemon reports that")
  func replacedSocket() throws {
    let (bus, other) = (try TestBus(), try TestBus())
    #expect(unsafe rename(other.path, bus.path) == 0)
    try bus.waitForLog(
      "a bus with pid \(other.pid) answers there already; clients there do not meet the holds and delegates")
    try other.waitForLog("the file of the socket \(other.path) was removed or replaced")
  }

  @Test("the daemon makes the socket's folder if it is missing")
  func missingFolder() throws { try expectService(TestBus(socket: "new/bus")) }

  @Test("a stale socket is replaced, even that of a killed daemon")
  func staleFile() throws {
    let folder = try TestFolder()
    try UnixSocket.bind(try UnixSocket.make(nonblocking: false), to: "\(folder.path)/bus")
    let killed = try TestBus(folder: folder)
    try expectService(killed)
    #expect(killed.end(SIGKILL) == -SIGKILL)
    #expect(FileStatus(killed.path) != nil)
    try expectService(try TestBus(folder: folder))
  }

  @Test("a socket in use is an error that names its bus, which continues")
  func liveSocket() throws {
    let bus = try TestBus()
    let second = try FinishedProgram.tribuned(["--listen=\(bus.path)", "--config=\(bus.folder.path)"])
    #expect(second.status == 1)
    #expect(second.errors.contains("\(bus.path): a bus with pid \(bus.pid) answers there already"))
    try expectService(bus)
  }

  @Test(
    "a path where no socket is possible is an error with a reason, and the daemon does not report that it is ready",
    arguments: [
      ("file", "there is a file that is not a socket"), ("folder", "there is a file that is not a socket"),
      ("file/bus", "Not a directory"), ("missing/folder/bus", "No such file or directory"),
      (String(repeating: "x", count: 108), "File name too long"),
    ])
  func impossiblePath(name: String, problem: String) throws {
    let folder = try TestFolder()
    try folder.write("precious", to: "file")
    try folder.write("", to: "folder/file")
    let path = "\(folder.path)/\(name)"
    let socket = try NotifySocket(path: "\(folder.path)/notify")
    let daemon = try FinishedProgram.tribuned(
      ["--listen=\(path)", "--config=\(folder.path)"], environment: ["NOTIFY_SOCKET": socket.address])
    #expect(daemon.status == 1)
    #expect(daemon.errors.contains("\(path): \(problem)"))
    try socket.drain()
    #expect(!socket.received.contains { $0.contains("READY=1") })
    #expect(try folder.read("file") == "precious")
  }

  @Test(
    "without --listen, the socket is in the unit's runtime folder or the user's",
    arguments: [
      (["RUNTIME_DIRECTORY": "/run"], "run/bus"),
      (["RUNTIME_DIRECTORY": "/run:/other", "XDG_RUNTIME_DIR": "/user"], "run/bus"),
      (["RUNTIME_DIRECTORY": "", "XDG_RUNTIME_DIR": "/user"], "user/tribune/bus"),
    ] as [([String: String], String)])
  func defaultPaths(variables: [String: String], socket: String) throws {
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

  @Test("sockets from systemd are served, are close-on-exec, and keep their files")
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

  @Test("a keeper listens on the socket from systemd, or reports that it has none")
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

  @Test("a keeper reports where it listens, and what it keeps after its bus has gone")
  func keeperLog() throws {
    let folder = try TestFolder()
    let keeper = try TestKeeper(in: folder)
    #expect(try keeper.program.errors.line()?.hasSuffix("listening on \(keeper.path)") == true)
    let bus = try TestBus(folder: folder, keeper: keeper.path)
    bus.signal(SIGKILL)
    let gone = try keeper.program.errors.line()
    #expect(gone?.contains("the bus has gone; keeping ") == true)
    #expect(gone?.hasSuffix(" for 30 s") == true)
  }

  @Test("a wrong command line exits with 2 and a reason")
  func wrongUsage() throws {
    let daemon = try FinishedProgram.tribuned(["\u{1B}[31m"])
    #expect(daemon.status == 2)
    #expect(daemon.errors.contains("tribuned: unexpected argument \\u{1b}[31m"))
    #expect(daemon.output.isEmpty)
  }

  @Test(
    "/etc/tribune may be missing, unless --config names it",
    arguments: ["tribuned", "tribune-logind", "tribune-web", "tribune-nats"], [[], ["--config=/etc/tribune"]])
  func withoutFolder(program: String, options: [String]) throws {
    let result = try FinishedProgram(
      [
        "/usr/bin/env", "unshare", "--mount", "sh", "-c", "mount -t tmpfs none /etc && exec \"$0\" \"$@\"",
        try Programs.path(of: program), "--check-config",
      ] + options)
    let isNamed = !options.isEmpty
    #expect((result.status != 0) == isNamed)
    #expect((result.output + result.errors).contains("/etc/tribune: error: does not exist") == isNamed)
  }

  @Test("--check-config needs no bus, and prints nothing if all is valid")
  func checksConfiguration() throws {
    let folder = try TestFolder()
    func check() throws -> FinishedProgram {
      try FinishedProgram.tribuned(["--check-config", "--config=\(folder.path)"])
    }
    try folder.write("[Bus]\nPayloadMax=1M\n", to: "tribuned.conf")
    let good = try check()
    #expect(good.status == 0)
    #expect(good.output.isEmpty && good.errors.isEmpty)

    try folder.write("[Bus]\n\nPayloadMin=1M\n", to: "tribuned.conf.d/10-odd.conf")
    let odd = try check()
    #expect(odd.status == 1)
    #expect(
      odd.errors
        == "\(folder.path)/tribuned.conf.d/10-odd.conf:3: mistake: there is no PayloadMin= in [Bus]; it is ignored "
        + "(did you mean PayloadMax=?)\n")

    try folder.write("[Bus]\nPayloadMax=much\n", to: "tribuned.conf.d/20-bad.conf")
    let bad = try check()
    #expect(bad.status == 1)
    #expect(bad.errors.contains("10-odd.conf:3: mistake: "))
    #expect(bad.errors.contains("\(folder.path)/tribuned.conf.d/20-bad.conf:2: error: PayloadMax=: \"much\""))
  }

  @Test("the daemon does not start with errors in its configuration, and reports where they are")
  func badConfiguration() throws {
    let folder = try TestFolder()
    try folder.write("[Queue]\nHighMark=1K\nLowMark=2K\n", to: "tribuned.conf")
    let daemon = try FinishedProgram.tribuned(["--listen=\(folder.path)/bus", "--config=\(folder.path)"])
    #expect(daemon.status == 1)
    #expect(daemon.errors.contains("\(folder.path)/tribuned.conf:3: error: "))
    #expect(FileStatus("\(folder.path)/bus") == nil)
  }

  @Test("unknown keys of the configuration are logged, and its other keys count")
  func oddConfiguration() throws {
    let bus = try TestBus(configuration: "[Bus]\nQueriesMin=1\nQueriesMax=7\n")
    #expect(try RawClient.welcomed(bus).welcome.queriesMax == 7)
    let file = "\(bus.folder.path)/etc/tribuned.conf"
    #expect(try bus.log().contains("\(file):2: mistake: there is no QueriesMin="))
  }
}
