// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@Suite("tribunectl observes", .timeLimit(.minutes(15)))
struct ObservingCommandTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private static func names(_ lines: [String?]) throws -> [String] {
    try lines.map { line in
      let object = try jsonObject(line ?? "")
      let mark = object["retained"] as? Bool == true ? "retained " : ""
      if let lost = object["lost"] as? Int { return "lost \(lost)" }
      return "\(mark)\(object["name"] ?? "") \(object["object"] ?? "")"
    }
  }

  @Test("retained notifications come first, with a mark, then posted ones; -N counts both")
  func retained() throws {
    for object in ["o/1", "o/2"] {
      #expect(try bus.tribunectl("post", "a.b", "1", "--retain", "--object=\(object)").status == 0)
    }
    #expect(try bus.tribunectl("post", "a.b", "2").status == 0)
    let observer = try bus.staying("-j", "observe", "a.**", "--retained", "-N3")
    let plain = try bus.staying("-j", "observe", "a.**", "-N1")
    #expect(try bus.tribunectl("post", "a.c", "--object=o/3").status == 0)
    let lines = try observer.output.rest().split(separator: "\n").map { String($0) }
    #expect(try Self.names(lines) == ["retained a.b o/1", "retained a.b o/2", "a.c o/3"])
    #expect(!(lines.last ?? "retained").contains("retained"))
    #expect(observer.status() == 0)
    #expect(try Self.names([plain.output.line()]) == ["a.c o/3"])
    let people = try bus.tribunectl("observe", "**", "--object=o/2", "--retained", "-N1")
    #expect(people.output.hasSuffix("  a.b  o/2  1  (retained)\n"))
  }

  @Test("an empty --object means any object, and the ready line names none")
  func emptyObject() throws {
    let observer = try bus.start(["-j", "observe", "a.**", "--object=", "-N1"])
    #expect(try observer.errors.line() == "observing a.**, on \(bus.address)")
    #expect(try bus.tribunectl("post", "a.b", "--object=o").status == 0)
    #expect(try Self.names([observer.output.line()]) == ["a.b o"])
    #expect(observer.status() == 0)
  }

  @Test("observe shows the poster's process as text, as JSON and to commands, also of retained notifications")
  func posters() throws {
    let json = try bus.staying("-j", "observe", "a.b", "-N1")
    let people = try bus.staying("observe", "a.b", "-N1")
    let variables = ["PROCESS", "UID", "PID", "UNIT", "SYSTEM_UNIT", "USER_UNIT"]
    let echo = "echo " + variables.map { "\"$TRIBUNE_SENDER_\($0)\"" }.joined(separator: ",")
    let command = try bus.staying("observe", "a.b", "-N1", "--exec", "sh", "-c", echo)
    #expect(try bus.tribunectl("post", "a.b", "1", "--retain", "--object=o").status == 0)
    let line = try json.output.line() ?? ""
    let poster = try #require(try jsonObject(line)["poster"] as? [String: Any])
    #expect(
      poster["process"] as? String == "tribunectl" && poster["uid"] as? Int == Int(getuid()), "\(poster)")
    let pid = try #require(poster["pid"] as? Int)
    #expect(try people.output.line()?.hasSuffix(" tribunectl[\(pid)]  a.b  o  1") == true)
    let unit = poster["unit"] as? String ?? "-"
    #expect(
      try command.output.line()
        == "tribunectl,\(getuid()),\(pid),\(unit),\(poster["systemUnit"] ?? ""),\(poster["userUnit"] ?? "")")
    let kept = try bus.tribunectl("-j", "observe", "a.b", "--retained", "-N1").object()
    #expect((kept["poster"] as? [String: Any])?["pid"] as? Int == pid)
  }

  @Test("list --retained shows retained notifications, but no cleared ones")
  func listRetained() throws {
    #expect(try bus.tribunectl("list", "--retained").output == "0 notifications retained.\n")
    #expect(try bus.tribunectl("post", "a.b", "[1,2]", "--retain", "--object=o").status == 0)
    #expect(try bus.tribunectl("post", "a.c", "1", "--retain").status == 0)
    let list = try bus.tribunectl("list", "--retained")
    #expect(
      list.lines.first?.split(separator: " ")
        == ["NAME", "OBJECT", "BYTES", "AGE", "CONNECTION", "UID", "USERINFO"])
    #expect(list.lines.count == 4)
    #expect(list.lines[1].wholeMatch(of: /a\.b +o +5 +\S+ +:\d+ +\d+  \[1,2\]/) != nil)
    #expect(list.lines.last == "2 notifications retained.")
    #expect(try bus.tribunectl("post", "a.c", "--retain").status == 0)
    let left = try bus.tribunectl("list", "--retained", "-j").object()
    #expect(left["name"] as? String == "a.b")
    #expect(left["object"] as? String == "o")
    #expect(left["bytes"] as? Int == 5)
    #expect(left["uid"] as? Int == Int(getuid()))
    #expect(left["age"] is NSNumber)
    #expect((left["connection"] as? String)?.hasPrefix(":") == true)
  }

  @Test("a monitor omits frames from an excluded connection, and frames for it alone")
  func excluded() throws {
    let delegate = try bus.staying("delegate", "a.shouldB", "--approve")
    let id = try #require(try bus.connection(of: delegate)?["connection"] as? String)
    let monitor = try bus.staying("monitor", "a.**", "--exclude=\(id)", "-o", "{kind}")
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
    var kinds: [String] = []
    while kinds.last != "verdict", let kind = try monitor.output.line() { kinds.append(kind) }
    #expect(kinds.first == "ask" && kinds.last == "verdict")
    #expect(!kinds.contains("question") && !kinds.contains("answer"))
    for wrong in ["", ":x", "tribune-web"] {
      #expect(try bus.tribunectl("monitor", "--exclude=\(wrong)").status == 2)
    }
  }

  private static func awaitResumption(in monitor: RunningProgram) throws {
    while let line = try monitor.output.line(), !line.contains("\"says\":\"resumes\"") {}
  }

  @Test(
    "an observer that SIGTSTP stops is suspended; --suspension decides what it receives later",
    arguments: [
      ([], ["b ", "a ", "end "]), (["--suspension=coalesce"], ["b ", "a ", "end "]),
      (["--suspension=drop"], ["end "]), (["--suspension=hold"], ["a ", "b ", "a ", "end "]),
      (["--suspension=immediately"], ["a ", "b ", "a ", "end "]),
    ] as [([String], [String])])
  func suspension(options: [String], expected: [String]) throws {
    let observer = try bus.staying(["-j", "observe", "**"] + options)
    #expect(try bus.isSuspended(observer) == false)
    observer.signal(SIGTSTP)
    try observer.waitUntilStopped()
    #expect(try bus.isSuspended(observer) == true)
    for name in ["a", "b", "a"] { #expect(try bus.tribunectl("post", name).status == 0) }
    let monitor = try bus.staying("-j", "monitor")
    observer.signal(SIGCONT)
    try Self.awaitResumption(in: monitor)
    #expect(try bus.tribunectl("post", "end").status == 0)
    #expect(try Self.names(expected.map { _ in try observer.output.line() }) == expected)
    guard expected.first == "b " else { return }
    #expect(
      try observer.errors.line()
        == "tribunectl: 1 notification coalesced: later ones of the same name and object replaced them")
  }

  @Test("an observer can be stopped repeatedly, even while the bus is stopped, and SIGTERM still ends it")
  func stoppedAgain() throws {
    let observer = try bus.staying("-j", "observe", "**", "--suspension=hold")
    for name in ["a", "b", "c"] {
      observer.signal(SIGTSTP)
      try observer.waitUntilStopped()
      #expect(try bus.tribunectl("post", name).status == 0)
      observer.signal(SIGCONT)
      #expect(try Self.names([observer.output.line()]) == ["\(name) "])
    }
    let monitor = try bus.staying("-j", "monitor")
    // SIGCONT needs a stop before it.
    observer.signal(SIGCONT)
    bus.signal(SIGSTOP)
    observer.signal(SIGTSTP)
    try observer.waitUntilStopped()
    observer.signal(SIGCONT)
    bus.signal(SIGCONT)
    try Self.awaitResumption(in: monitor)
    #expect(observer.end(SIGTERM) == 0)
  }

  @Test("status and list show that an observer is suspended, its buffered count, and its options")
  func status() throws {
    let observer = try bus.staying("observe", "a.**", "--suspension=hold", "--awaited")
    observer.signal(SIGTSTP)
    try observer.waitUntilStopped()
    #expect(try bus.tribunectl("post", "a.b", "1").status == 0)
    let connection = try #require(try bus.connection(of: observer))
    let id = try #require(connection["connection"] as? String)
    let buffered = try #require(connection["bufferedBytes"] as? Int)
    #expect(buffered > 0)
    let list = try bus.tribunectl("list")
    #expect(list.lines.contains { $0.contains(" \(observer.pid) ") && $0.contains("  suspended  ") })
    let people = try bus.tribunectl("status", id)
    #expect(
      people.output.contains(
        "State: suspended; \(buffered) bytes are buffered for it, 0 notifications coalesced\n"))
    #expect(people.lines.contains { $0.split(separator: " ") == ["a.**", "any", "hold", "yes"] })
    let programs = try bus.tribunectl("status", id, "-j").object()
    let observations = try #require(programs["observations"] as? [[String: Any]])
    #expect(observations.first?["suspension"] as? String == "hold")
    #expect(observations.first?["awaited"] as? Bool == true)
    observer.signal(SIGCONT)
  }

  @Test("an awaited observer acknowledges each notification that it prints, including the last")
  func awaited() throws {
    let observer = try bus.staying("-j", "observe", "a", "--awaited", "-N2")
    for _ in 0..<2 {
      let post = try bus.tribunectl("post", "a", "--wait=1min", "-j")
      post.expect(0, output: "{\"acknowledged\":1,\"missing\":[]}\n")
    }
    #expect(observer.status() == 0)
    #expect(try Self.names([observer.output.line(), observer.output.line()]) == ["a ", "a "])
  }
}

extension TestBus {
  func connection(of program: RunningProgram) throws -> [String: Any]? {
    for line in try tribunectl("list", "-j").lines {
      let value = try jsonObject(line)
      if value["pid"] as? Int == Int(program.pid) { return value }
    }
    return nil
  }

  func isSuspended(_ program: RunningProgram) throws -> Bool? {
    try connection(of: program)?["suspended"] as? Bool
  }
}
