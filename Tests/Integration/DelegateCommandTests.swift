// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune
import TribuneWire

@Suite("tribunectl's delegates", .timeLimit(.minutes(15)))
struct DelegateCommandTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test(
    "asked for a value, a command prints it, and --approve and --veto abstain",
    arguments: [
      (["--exec", "sh", "-c", "echo \"[$TRIBUNE_DELEGATE]\""], "[1]\n", ""),
      (["--exec", "echo", "no json"], nil, "the value is not JSON: "),
      (["--exec", "sh", "-c", "echo 1; echo 2 >&2; exit 3"], nil, "exited with 3: 2"),
      (
        ["--exec", "sh", "-c", "head -c 20000000 /dev/zero"], nil,
        "the value is longer than the limit of 16777216 bytes"
      ),
      (["--approve"], nil, ""), (["--veto=no"], nil, ""),
    ] as [([String], String?, String)])
  func values(way: [String], value: String?, reason: String) async throws {
    try bus.staying(["delegate", "a.*", "--timeout=1min"] + way)
    let connection = try await bus.connect()
    let reply = try await connection.query("a.b")
    #expect(reply.value?.text == value)
    #expect(reply.outcomes.count == 1)
    #expect(reply.outcomes.first?.reason.hasPrefix(reason) == true)
    if reason.isEmpty, value == nil { #expect(reply.outcomes.first?.kind == .abstained) }
    await connection.close()
  }

  @Test("exit statuses count, even if the parent left SIGCHLD ignored", arguments: 1...3)
  func ignoredSignal(_ round: Int) throws {
    let ignoring = [
      "/usr/bin/env", "--ignore-signal=CHLD", try Programs.path(of: "tribunectl"), "--address=\(bus.address)",
    ]
    let delegate = try RunningProgram(
      ignoring + ["delegate", "a.shouldB", "--exec", "sh", "-c", "echo no; exit 1"])
    #expect(try delegate.errors.line()?.hasPrefix("attached ") == true)
    for _ in 1...5 { #expect(try bus.tribunectl("ask", "a.shouldB").status == 1) }
    #expect(try FinishedProgram(ignoring + ["guard", "c.d", "--", "sh", "-c", "exit 3"]).status == 3)
    delegate.signal(SIGKILL)
  }

  private func concludingProgram(then end: String = "exit 0") throws -> String {
    try bus.folder.write(
      "#!/bin/sh\necho \"$TRIBUNE_QUERY $TRIBUNE_ENDING $TRIBUNE_NAME|$TRIBUNE_OBJECT|$(cat)\" >&2\n\(end)\n",
      to: "concluded", mode: 0o755)
    return "\(bus.folder.path)/concluded"
  }

  @Test("a program learns how each query ended once its command has ended; its own failure is printed once")
  func conclusions() throws {
    let program = try concludingProgram(then: "echo hidden; exit 3")
    let delegate = try bus.staying(
      "delegate", "a.*", "--concluded=\(program)", "--exec", "sh", "-c",
      "trap 'echo ended >&2; exit' TERM; echo asked >&2; test $TRIBUNE_NAME != a.shouldHang || while :; do :; done"
    )
    for (name, ending, status) in [("shouldB", "allowed", 0), ("shouldC", "vetoed", 1)]
      as [(String, String, Int32)]
    {
      let other = status == 1 ? try bus.staying("delegate", "a.shouldC", "--veto=no") : nil
      let result = try bus.tribunectl("-j", "ask", "a.\(name)", "1", "--object=o", "--mode=all")
      #expect(result.status == status)
      let query = try #require(try result.object()["query"] as? Int)
      #expect(try delegate.errors.line() == "asked")
      #expect(try delegate.errors.line() == "\(query) \(ending) a.\(name)|o|")
      if status == 0 { #expect(try delegate.errors.line() == "tribunectl: \(program) exited with 3") }
      if let other { #expect(other.end(SIGTERM) == 0) }
    }
    let asker = try bus.start("ask", "a.shouldHang")
    #expect(try delegate.errors.line() == "asked")
    asker.signal(SIGKILL)
    #expect(try delegate.errors.line() == "ended")
    #expect(try delegate.errors.line()?.hasSuffix(" cancelled a.shouldHang||") == true)
    #expect(delegate.end(SIGTERM) == 0)
    #expect(try delegate.errors.rest() == "")
  }

  @Test("a delegate that is ended first learns how its open queries ended", arguments: [false, true])
  func lastConclusions(isFolder: Bool) throws {
    let program = try concludingProgram()
    let script = "echo asked >&2; exec sleep 1000"
    var way = ["a.shouldB", "--concluded=\(program)", "--exec", "sh", "-c", script]
    if isFolder {
      try bus.folder.write("#!/bin/sh\n\(script)\n", to: "d/a.shouldB/1", mode: 0o755)
      try FileManager.default.moveItem(atPath: program, toPath: "\(bus.folder.path)/d/a.shouldB/1.concluded")
      way = ["--directory=\(bus.folder.path)/d"]
    }
    let delegate = try bus.staying(["delegate", "--timeout=1min"] + way)
    let asker = try bus.start("ask", "a.shouldB")
    #expect(try delegate.errors.line() == "asked")
    #expect(delegate.end(SIGTERM) == 0)
    #expect(try delegate.errors.rest().contains(#/ (vetoed|cancelled) a\.shouldB\|\|\n$/#))
    #expect(asker.status() == 1)
  }

  @Test("a delegate prints will and did, and runs nothing for them")
  func told() throws {
    let delegate = try bus.staying("-j", "delegate", "a.*", "--exec", "sh", "-c", "echo ran >&2; exit 1")
    #expect(try bus.tribunectl("post", "a.willB", "[1]", "--object=o").status == 0)
    #expect(try bus.tribunectl("post", "a.other").status == 0)
    #expect(try bus.tribunectl("post", "a.didB").status == 0)
    let lines = [try delegate.output.line(), try delegate.output.line()]
    #expect(lines[0]?.hasPrefix("{\"name\":\"a.willB\",\"object\":\"o\",") == true)
    #expect(lines[1]?.hasPrefix("{\"name\":\"a.didB\",") == true)
    delegate.signal(SIGTERM)
    #expect(try delegate.errors.rest() == "")
  }

  @Test("a replaced delegate names its replacement, and ends")
  func replaced() throws {
    let first = try bus.staying("delegate", "a.shouldB", "--object=o", "--approve")
    let second = try bus.staying("delegate", "a.shouldB", "--object=o", "--veto=no", "--set", "--label=other")
    #expect(first.status() == 1)
    #expect(
      try first.errors.rest().hasPrefix("tribunectl: replaced by other (tribunectl, pid \(second.pid), uid "))
    #expect(try bus.tribunectl("ask", "a.shouldB", "--object=o").status == 1)
  }

  @Test("the ready line of a delegate names its patterns that are no questions")
  func onlyForValues() throws {
    let delegate = try bus.start(
      "delegate", "browser.row", "browser.shouldOpen", "browser.didOpen", "--exec", "true")
    let line = try delegate.errors.line() ?? ""
    #expect(line.contains("; only for values: browser.row), on "), "\(line)")
    #expect(delegate.end(SIGTERM) == 0)
  }

  @Test("a value query returns the first value of the chain; collecting returns all")
  func chain() throws {
    for way in [["--approve"], ["--exec", "printf", "2"], ["--exec", "printf", "3"]] {
      try bus.staying(["delegate", "browser.*", "--object=browser/1"] + way)
    }
    try bus.tribunectl("query", "browser.rows", "--object=browser/1").expect(0, output: "2\n")
    #expect(try bus.tribunectl("query", "browser.rows", "--object=browser/1", "--collect").output == "2\n3\n")
    #expect(
      try bus.tribunectl("-j", "query", "browser.rows", "--object=browser/1").object()["value"] as? Int == 2)
    try bus.staying("delegate", "browser.rows", "--exec", "sh", "-c", "exit 3")
    try bus.tribunectl("query", "browser.rows", "--object=browser/1").expect(0, output: "2\n", errors: "")
    let some = try bus.tribunectl("query", "browser.rows", "--object=browser/1", "--collect")
    #expect(some.status == 0 && some.output == "2\n3\n")
    #expect(some.errors.hasPrefix("tribunectl: browser.rows browser/1 lacks values\n  failed by "))
    try bus.tribunectl("-q", "query", "browser.rows", "--object=browser/1", "--collect").expect(0, errors: "")
    let none = try bus.tribunectl("query", "table.columns", "--object=browser/1")
    none.expect(1, output: "")
    #expect(none.errors.contains("has no value: no delegate answered"))
  }

  @Test(
    "a user's many questions leave commands to others, and are answered in turn",
    arguments: [false, true])
  func flood(isFolder: Bool) throws {
    let bus = try TestBus.allowingAll()
    let gate = try ShellGate()
    let script = "test $TRIBUNE_ASKER_UID = \(getuid()) && echo no && exit 1; echo asked >&2; \(gate.wait)"
    var way = ["shouldA", "--exec", "sh", "-c", script]
    if isFolder {
      for name in ["shouldA", "shouldB"] {
        try bus.folder.write("#!/bin/sh\n\(script)\n", to: "d/\(name)/1")
        let path = "\(bus.folder.path)/d/\(name)/1"
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
      }
      way = ["--directory=\(bus.folder.path)/d"]
    }
    let delegate = try bus.staying(["delegate", "--timeout=1min", "--on-failure=abstain"] + way)
    let flood = try RawClient.greeted(bus, as: 65_534)
    for serial in 1...Serial(100) { try flood.send(Ask(deadline: 60_000), serial: serial, name: "shouldA") }
    for _ in 0..<30 { #expect(try delegate.errors.line() == "asked") }
    let vetoed = try bus.tribunectl("ask", isFolder ? "shouldB" : "shouldA")
    #expect(vetoed.status == 1)
    #expect(vetoed.output.contains("vetoed") && vetoed.output.contains(": no"))
    try gate.open()
    for _ in 0..<100 {
      let verdict = try flood.next(.verdict).decode(Verdict.self)
      #expect(verdict.outcomes.map(\.outcome) == [.approved])
    }
  }

  @Test(
    "a delegate vetoes even if its output is full, and prints little of another user's questions",
    arguments: ["", "-j"])
  func output(format: String) throws {
    let bus = try TestBus.allowingAll()
    let delegate = try bus.staying(
      (format.isEmpty ? [] : [format]) + [
        "delegate", "shouldA", "--veto=no", "--on-failure=abstain", "--timeout=1min",
      ])
    let flood = try RawClient.greeted(bus, as: 65_534)
    let count = 200 as Serial
    for serial in 1...count {
      try flood.send(
        Ask(), serial: serial, name: "shouldA", text: "\"" + String(repeating: "x", count: 50_000) + "\"")
      #expect(try flood.nextVerdict().verdict == .vetoed)
    }
    // More than a pipe holds, sent by root, who has no per-user limit.
    let root = try RawClient.greeted(bus)
    let userInfo = "\"" + String(repeating: "y", count: 1_000) + "\""
    for serial in 1...count {
      try root.send(Ask(), serial: serial, name: "shouldA", text: userInfo)
      #expect(try root.nextVerdict().verdict == .vetoed)
    }
    var (of, length, omissions) = (0 as Serial, 0, 0)
    while of < count {
      let line = try #require(try delegate.output.line())
      length += line.utf8.count
      if line.contains(userInfo) { of += 1 }
      if line.contains(format.isEmpty ? "(left out: " : "\"omitted\":") { omissions += 1 }
      #expect(!line.contains("xxx"))
    }
    #expect(length < 500_000)
    #expect(omissions > 0)
    #expect(delegate.end(SIGTERM) == 0)
  }

  @Test("a delegate prints little of another user's posts", arguments: ["", "-j"])
  func notifications(format: String) throws {
    let bus = try TestBus.allowingAll()
    let delegate = try bus.staying((format.isEmpty ? [] : [format]) + ["delegate", "a.*", "--veto=no"])
    let flood = try RawClient.greeted(bus, as: 65_534)
    let count = 100 as Serial
    for serial in 1...count {
      try flood.send(
        Post(), serial: serial, name: "a.didRun", text: "\"" + String(repeating: "x", count: 2_000) + "\"")
    }
    try flood.send(Ask(), serial: count + 1, name: "shouldB")
    _ = try flood.nextVerdict()
    #expect(try bus.tribunectl("post", "a.didEnd").status == 0)
    var lines: [String] = []
    while lines.last?.contains("a.didEnd") != true { lines.append(try #require(try delegate.output.line())) }
    // Twenty a second, for few seconds.
    #expect((20..<100).contains(lines.count { $0.contains("a.didRun") }))
    #expect(
      lines.contains { $0.contains(format.isEmpty ? "(2002 bytes of userInfo)" : "\"userInfoLength\":2002") })
    #expect(lines.contains { $0.contains(format.isEmpty ? "(left out: " : "\"omitted\":") })
    #expect(!lines.contains { $0.contains("xxx") })
    #expect(delegate.end(SIGTERM) == 0)
  }

  @Test("a delegate vetoes even after the reader of its output has gone")
  func closedPipe() throws {
    let delegate = try bus.staying("delegate", "shouldA", "--veto=no")
    try delegate.output.pipe.fileHandleForReading.close()
    for _ in 0..<2 { #expect(try bus.tribunectl("ask", "shouldA").status == 1) }
    #expect(try delegate.errors.line()?.contains("answers are no longer shown") == true)
    #expect(try bus.tribunectl("ask", "shouldA").status == 1)
    #expect(delegate.end(SIGTERM) == 0)
  }
}
