// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneCommands

@Suite("tribunectl posts and lists", .timeLimit(.minutes(15)))
struct CommandTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test("an observer prints one line for each notification, in order, and -N ends it")
  func lines() throws {
    let observer = try bus.staying("observe", "backup.**", "x", "-N", "3")
    for arguments in [
      ["backup.didFinish", #"{"bytes": 1}"#, "--object=volume/a b"], ["other"], ["x"], ["backup.a.b", "[]"],
    ] {
      #expect(try TestBus.tribunectl(["post"] + arguments, address: bus.address).status == 0)
    }
    let lines = try observer.output.rest().split(separator: "\n")
    #expect(observer.status() == 0)
    #expect(lines.count == 3)
    for (line, end) in zip(
      lines, [#"  backup.didFinish  volume/a b  {"bytes": 1}"#, "  x  -", "  backup.a.b  -  []"])
    {
      #expect(line.hasSuffix(end))
      #expect(line.wholeMatch(of: /\d\d:\d\d:\d\d\.\d\d\d  :\d+ tribunectl\[\d+\]  .*/) != nil)
    }
  }

  @Test("in JSON, userInfo is unchanged, whatever the length of its numbers")
  func json() throws {
    let observer = try bus.staying("-j", "observe", "**")
    let number = "123456789012345678901234567890"
    #expect(
      try bus.tribunectl("post", "a", "{ \"n\": \(number), \"s\": \"\u{9B}é\" }", "--object=o").status == 0)
    let line = try #require(try observer.output.line())
    #expect(line.hasPrefix(#"{"name":"a","object":"o","sender":":"#))
    #expect(line.hasSuffix(#","userInfo":{"n":"# + number + #","s":"\u009bé"}}"#))
  }

  @Test("an observer prints how many it lost at the place of the loss")
  func lost() throws {
    let observer = try bus.staying("-j", "observe", "a", "b")
    observer.signal(SIGSTOP)
    let count = 400
    let client = try RawClient.greeted(bus)
    let payload = String(repeating: "1", count: 60_000)
    for serial in 1...count { try client.send(Post(), serial: Serial(serial), name: "a", text: payload) }
    try client.sendConfirmed(Post(), serial: 1000, name: "b")
    observer.signal(SIGCONT)
    var received = 0
    var lost = 0
    while let line = try observer.output.line() {
      let object = try jsonObject(line)
      if object["name"] as? String == "b" { break }
      if let some = object["lost"] as? Int { lost += some } else { received += 1 }
    }
    #expect(lost > 0)
    #expect(received + lost == count)
  }

  private static let staying = [
    ["observe", "**"], ["delegate", "a.*", "--approve"], ["monitor"], ["capture"],
  ]

  @Test("a verb that stays sends READY=1 once the bus has confirmed its registration")
  func ready() throws {
    let folder = try TestFolder()
    let notifySocket = try NotifySocket(path: "\(folder.path)/n")
    for arguments in Self.staying {
      let program = try bus.start(arguments, environment: ["NOTIFY_SOCKET": notifySocket.address])
      try notifySocket.wait(for: "READY=1")
      #expect(program.end(SIGTERM) == 0)
    }
  }

  @Test("a signal ends a verb that stays with exit status 0", arguments: [SIGINT, SIGTERM, SIGHUP])
  func interrupted(signal: CInt) throws {
    for arguments in Self.staying {
      let program = try bus.staying(arguments)
      #expect(program.end(signal) == 0)
      #expect(try program.errors.rest() == "")
    }
  }

  @Test("tribunectl works without standard input, output and error")
  func withoutStandardDescriptors() throws {
    let program = try Programs.path(of: "tribunectl")
    let observer = try bus.staying("observe", "**")
    let script = """
      "$0" delegate shouldA --exec sh -c 'echo failing >&2; exit 3' <&- >&- 2>&- & delegate=$!
      until "$0" -j explain shouldA | grep -q delegate; do :; done
      "$0" -q ask shouldA; first=$?
      "$0" -q ask shouldA <&- >&- 2>&-; second=$?
      "$0" post b <&- >&- 2>&-
      "$0" guard c -- sh -c 'test -e /proc/self/fd/0 -a -e /proc/self/fd/1' <&- >&-; third=$?
      kill $delegate; wait $delegate; fourth=$?
      "$0" list >&- 2>&-; fifth=$?
      "$0" post d - <&- 2>&-
      echo "$first $second $third $fourth $fifth $?"
      """
    let shell = try FinishedProgram(
      ["/bin/sh", "-c", script, program], environment: ["TRIBUNE_ADDRESS": bus.address])
    #expect(shell.output == "1 1 0 0 1 1\n")
    #expect(try observer.output.line()?.hasSuffix("  b  -") == true)
    #expect(!(try bus.log().contains("closing connection")))
  }

  @Test("a verb that stays ends with 1 and the reason when the bus goes for good", arguments: ["0", "100ms"])
  func busGoes(patience: String) throws {
    let programs = try Self.staying.map { try bus.staying($0 + ["--reconnect=\(patience)"]) }
    bus.signal(SIGKILL)
    for program in programs {
      #expect(program.status() == 1)
      #expect(try program.errors.rest().hasPrefix("tribunectl: "))
    }
  }

  @Test(
    "a closed output ends a program without a message", arguments: ["observe", "capture"])
  func closedOutput(verb: String) throws {
    let program = try bus.staying(verb, "**")
    try program.stopReading()
    #expect(try bus.tribunectl("post", "a").status == 0)
    #expect([0, -SIGPIPE].contains(program.status()))
    #expect(try program.errors.rest() == "")
  }

  @Test("tribunectl prints the bus's refusals")
  func refused() throws {
    let reserved = try bus.tribunectl("post", "tribune.x")
    #expect(reserved.status == 1)
    #expect(reserved.errors.hasPrefix("tribunectl: "))
    #expect(try bus.tribunectl("ask", "tribune.shouldX", "--if-unreachable=allow").status == 255)
    #expect(try bus.tribunectl("defer", "1000000", "20s").status == 1)
  }

  @Test("list shows the connections, with and without its legend")
  func list() throws {
    let observer = try bus.staying("observe", "a.**")
    #expect(try bus.tribunectl("list").lines.count == 4)
    let bare = try bus.tribunectl("--no-legend", "list")
    #expect(bare.lines.count == 2)
    #expect(bare.lines.contains { $0.contains(" \(observer.pid)  tribunectl ") })
    #expect(try bus.connection(of: observer)?["observations"] as? Int == 1)
    #expect(try bus.connection(of: observer)?["holds"] as? Int == 0)
    let holder = try bus.staying("hold", "b.shouldC", "--why=busy")
    let held = try #require(try bus.connection(of: holder))
    #expect(held["holds"] as? Int == 1)
    let id = try #require(held["connection"] as? String)
    #expect(try bus.tribunectl("status", id).lines.contains { $0.contains("  b.shouldC  ") })
  }

  @Test("status shows the bus, or one connection and its registrations")
  func status() throws {
    let delegate = try bus.staying("delegate", "a.shouldB", "--approve", "--label=me", "--object=o")
    let observer = try bus.staying("observe", "seen.**", "--object=x/1")
    try bus.tribunectl("ask", "none.shouldB").expect(0)
    let status = try bus.tribunectl("status").output
    #expect(status.contains("PID: \(bus.pid)\n"))
    // A verdict that nobody answered took no time.
    #expect(!status.contains("Verdicts: "))
    try bus.tribunectl("ask", "a.shouldB").expect(0)
    #expect(try bus.tribunectl("status").output.contains("Verdicts: median "))
    #expect(try bus.tribunectl("status", "-j").object()["pid"] as? Int == Int(bus.pid))

    for (program, shown) in [(delegate, "a.shouldB"), (observer, "seen.**   x/1")] {
      let id = try #require(try bus.connection(of: program)?["connection"] as? String)
      for text in [id, String(id.dropFirst())] {
        let one = try bus.tribunectl("status", text)
        #expect(one.status == 0)
        #expect(one.output.contains("PID: \(program.pid)\n"))
        #expect(one.output.contains(shown))
      }
    }
    try bus.tribunectl("status", ":999999").expect(1, errors: "tribunectl: there is no connection :999999\n")
  }

  @Test("status of a departed connection shows that, the bus's records, and why it was closed")
  func departed() throws {
    let (client, welcome) = try RawClient.welcomed(bus)
    let id = welcome.connection.description
    try client.sendConfirmed(Post(), serial: 1, name: "a")
    try client.leave()
    let gone = try bus.tribunectl("status", id)
    #expect(gone.status == 1 && gone.errors == "tribunectl: there is no connection \(id) any more\n")
    #expect(gone.output.contains(" PID: \(getpid())\n"))
    #expect(gone.output.contains("Notifications: 1 posted, 0 lost\n"))
    #expect(gone.output.firstMatch(of: /State: gone for [^:]*\n/) != nil, "\(gone.output)")

    let (invalid, other) = try RawClient.welcomed(bus)
    try invalid.send([UInt8](repeating: 0xFF, count: FrameHeader.length))
    let code = try #require(try invalid.nextError())
    #expect(try invalid.readToEnd().isEmpty)
    let closed = try bus.tribunectl("-j", "status", other.connection.description)
    #expect(closed.status == 1)
    #expect(try closed.object()["closedBecause"] as? String == "\(code)")
  }

  @Test("explain shows the chain in order, without a question")
  func explain() throws {
    let late = try bus.staying("delegate", "a.*", "--exec", "false")
    let early = try bus.staying(
      "delegate", "a.shouldB", "--approve", "--order=-1", "--label=first", "--on-failure=abstain",
      "--timeout=1min")
    let other = try bus.staying("delegate", "a.shouldB", "--approve", "--object=other")
    let chain = try bus.tribunectl("explain", "a.shouldB", "--object=x", "-j").lines.map {
      try jsonObject($0)
    }
    #expect(chain.map { $0["pid"] as? Int } == [Int(early.pid), Int(late.pid)])
    #expect(chain.first?["label"] as? String == "first")
    #expect(chain.first?["onFailure"] as? String == "abstain")
    #expect(chain.first?["timeout"] as? Int == 60)
    let text = try bus.tribunectl("explain", "a.shouldB", "--object=other")
    #expect(text.lines.last == "3 delegates would be asked.")
    #expect(text.lines.contains { $0.contains(" \(other.pid) ") && $0.contains("  other ") })
    try bus.tribunectl("explain", "x").expect(
      0,
      output: "No delegate would be asked: the asker's own default decides. "
        + "It is no question, and can only be queried for a value.\n")
  }

  @Test("monitor shows each frame of a post and of a query")
  func monitor() throws {
    let delegate = try bus.staying("delegate", "a.shouldB", "--veto=not now")
    let people = try bus.staying("monitor")
    #expect(try bus.tribunectl("post", "b.c", "{\"x\":1}").status == 0)
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 1)
    var seen: [String] = []
    while !seen.contains(where: { $0.contains("verdict") }) {
      seen.append(try #require(try people.output.line()))
    }
    for words in [
      ["post", "b.c", "{\"x\":1}"], ["ask", "a.shouldB"], ["question", "a.shouldB"], ["answer", "not now"],
      ["verdict", "vetoed"],
    ] {
      #expect(seen.contains { line in words.allSatisfy { line.contains($0) } })
    }
    #expect(delegate.end(SIGTERM) == 0)
  }

  @Test("--user and --system override the environment, and the ready line names the bus")
  func choosing() throws {
    let folder = try TestFolder()
    try folder.write("", to: "tribune/placeholder")
    let bus = try TestBus(socket: "tribune/bus", folder: folder)
    let environment = ["TRIBUNE_ADDRESS": self.bus.address, "XDG_RUNTIME_DIR": folder.path]
    let user = try bus.start(["--user", "hold", "a.shouldB", "--why=user"], environment: environment)
    #expect(try user.errors.line()?.hasSuffix(", on \(bus.address)") == true)
    // In a mount namespace, the folder is /run: the bus is the system's.
    let system = try RunningProgram(
      [
        "/usr/bin/env", "unshare", "--mount", "sh", "-c", #"mount --bind "$0" /run && exec "$@""#,
        folder.path, try Programs.path(of: "tribunectl"), "--system", "hold", "a.shouldB", "--why=system",
      ],
      environment: ["TRIBUNE_ADDRESS": self.bus.address, "XDG_RUNTIME_DIR": "/nowhere"])
    #expect(try system.errors.line()?.hasSuffix(", on unix:/run/tribune/bus") == true)
    let verdict = try bus.tribunectl("-j", "ask", "a.shouldB", "--mode=all")
    #expect(try verdict.outcomes().map { $0["reason"] as? String } == ["user", "system"])
    try self.bus.tribunectl("ask", "a.shouldB").expect(0)
    for arguments in [
      ["hold", "host.*", "--why=x"], ["hold", "*.shouldReboot", "--why=x"],
      ["delegate", "host.shouldReboot", "--approve"],
      ["ask", "host.shouldReboot"], ["guard", "host.reboot", "--", "echo", "ran"],
      ["explain", "host.shouldReboot"], ["hold", "cluster.shouldReboot", "--why=x"],
    ] {
      for (address, option) in [(bus.address, []), (self.bus.address, ["--user"])] as [(String, [String])] {
        let refused = try TestBus.tribunectl(
          option + arguments, address: address, environment: ["XDG_RUNTIME_DIR": folder.path])
        refused.expect(2, output: "")
        #expect(
          refused.errors.contains("is asked on the system's bus") && refused.errors.contains("--system"))
      }
    }
    try self.bus.tribunectl("--user", "list", environment: ["XDG_RUNTIME_DIR": ""]).expect(
      2, output: "", errors: "tribunectl: --user needs $XDG_RUNTIME_DIR\n")
    withExtendedLifetime((user, system)) {}
  }

  @Test(
    "without /proc, which libdispatch reads, programs report that",
    arguments: [
      ("tribunectl", 255), ("tribuned", 1), ("tribune-nats", 1), ("tribune-logind", 1), ("tribune-web", 1),
    ] as [(String, Int32)])
  func withoutProc(program: String, status: Int32) throws {
    let verbs = program == "tribunectl" ? VerbName.allCases.map(\.rawValue) : ["--help"]
    let runs = Seeds.isLong ? 200 : 3
    for verb in verbs {
      let result = try FinishedProgram([
        "/usr/bin/env", "unshare", "--mount", "sh", "-c",
        "umount --lazy /proc; n=\(runs); while [ $n -gt 0 ]; do \"$0\" $1; echo $?; n=$((n - 1)); done",
        try Programs.path(of: program), verb,
      ])
      #expect(result.output == String(repeating: "\(status)\n", count: runs), "\(verb)")
      let error = "\(program): /proc is needed, and not mounted here: mount -t proc proc /proc\n"
      #expect(result.errors == String(repeating: error, count: runs), "\(verb)")
    }
  }

  @Test(
    "a program that cannot start threads reports that",
    arguments: [("tribunectl", 255), ("tribuned", 1), ("tribune-nats", 1)] as [(String, Int32)])
  func withoutThreads(program: String, status: Int32) throws {
    let user = "54321"
    for limit in [1, 3, 6] {
      let result = try FinishedProgram([
        "/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "prlimit",
        "--nproc=\(limit)",
        try Programs.path(of: program), "--help",
      ])
      result.expect(
        status, output: "",
        errors: "\(program): no thread can be started (see ulimit -u, and TasksMax= of systemd): "
          + "Resource temporarily unavailable\n")
    }
  }

  @Test(
    "a signal ends a verb that waits for a bus that does not answer",
    arguments: [
      ["delegate", "a.shouldB", "--veto=x"], ["observe", "a.*"], ["monitor", "a.*"],
      ["hold", "a.shouldB", "--why=x"],
      ["guard", "a.b", "--", "true"], ["capture"],
    ])
  func interruptedAtStart(arguments: [String]) throws {
    let folder = try TestFolder()
    let listener = try UnixSocket.listening(at: "\(folder.path)/bus")
    let program = try RunningProgram(
      [try Programs.path(of: "tribunectl")] + arguments,
      environment: ["TRIBUNE_ADDRESS": "unix:\(folder.path)/bus"])
    let client = try RawClient(acceptedAt: listener)
    #expect([-SIGTERM, 128 + SIGTERM].contains(program.end(SIGTERM)))
    withExtendedLifetime(client) {}
  }

  @Test(
    "no arguments make tribunectl trap",
    arguments: [
      [""], ["-"], ["--"], ["---"], ["--="], ["-j="], ["--json"], ["--timeout=99999999y", "list"], ["\u{0}x"],
      ["--address=unix:", "list"], ["--system", "--user", "list"],
      ["--address=unix:\(String(repeating: "x", count: 1000))", "list"],
      ["--timeout=0", "list"], ["--timeout=1us", "list"], ["observe", "**", "-N", "9223372036854775807"],
      ["post", "a", String(repeating: "[", count: 100_000)], ["status", "18446744073709551616"],
      ["status", "18446744073709551615"], ["ask", "shouldA", "--timeout=4294967296ms"],
      ["--no-pager", "help", "--", "list"],
      ["delegate", "shouldA", "--order=-2147483648", "--approve"], ["help", "help", "help"],
      ["version", "-jqh"],
    ])
  func neverTraps(arguments: [String]) throws {
    let result = try TestBus.tribunectl(arguments, address: "unix:/nonexistent/bus")
    #expect([0, 1, 2, 255].contains(result.status), "\(result)")
    if result.status != 0 { #expect(result.errors.hasPrefix("tribunectl: ")) }
  }

  @Test(
    "a command gives up on a bus that hangs after its own time limit, and runs nothing",
    arguments: [
      (["ask", "shouldA", "--timeout=200ms"], 255),
      (["ask", "shouldA", "--timeout=200ms", "--if-unreachable=veto"], 1),
      (["list", "--timeout=200ms"], 1), (["post", "a", "--wait=200ms"], 255),
      (["guard", "a.b", "--timeout=200ms", "--", "echo", "ran"], 255),
      (["ask", "shouldA", "--timeout=200ms", "--wait-until-allowed=1h"], 255),
    ] as [([String], Int32)])
  func hungBus(arguments: [String], status: Int32) throws {
    try bus.freeze()
    defer { bus.signal(SIGCONT) }
    let result = try TestBus.tribunectl(arguments, address: bus.address)
    #expect(result.status == status)
    #expect(result.errors.contains("the bus has not answered within 200ms"))
    #expect(!result.output.contains("ran"))
  }

  @Test("arguments that are not UTF-8 are refused, not changed")
  func odd() throws {
    // A Swift string cannot hold this byte, but printf can write it.
    let program = try Programs.path(of: "tribunectl")
    let shell = try RunningProgram(["/bin/sh", "-c", "exec \(program) post a \"$(printf '\"\\377\"')\""])
    #expect(shell.status() == 2)
    #expect(try shell.errors.rest().contains("is not UTF-8"))
  }

  @Test(
    "help and version need no bus",
    arguments: [["help"], ["--help"], ["help", "ask"], ["ask", "--help"], ["version"], ["--version"]])
  func help(arguments: [String]) throws {
    let result = try TestBus.tribunectl(arguments, address: "unix:/nonexistent/bus")
    #expect(result.status == 0)
    #expect(result.output.hasPrefix("tribunectl"))
    #expect(result.errors == "")
  }
}
