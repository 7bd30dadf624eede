// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("tribunectl's folder of delegates", .timeLimit(.minutes(15)))
struct DelegateFolderTests {
  private let bus: TestBus
  private let folder: TestFolder

  private var root: String { "\(folder.path)/d" }

  init() throws {
    bus = try TestBus()
    folder = try TestFolder()
  }

  /// Puts a program into the folder with a rename, as package tools do.
  private func add(_ name: String, _ script: String = "exit 0", mode: Int = 0o755) throws {
    try folder.write("#!/bin/sh\n\(script)\n", to: "new")
    let (new, place) = ("\(folder.path)/new", URL(fileURLWithPath: "\(root)/\(name)"))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: new)
    try FileManager.default.createDirectory(
      at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
    try move(new, place.path)
  }

  private func move(_ from: String, _ to: String) throws {
    guard unsafe rename(from, to) == 0 else { throw Errno.current }
  }

  private func setMode(_ path: String, _ mode: Int) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  private func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(root)/\(name)") }

  private func started(_ arguments: String...) throws -> RunningProgram {
    try bus.start(["delegate", "--directory=\(root)"] + arguments)
  }

  /// The delegates that the bus asks, in order: label, outcome and reason.
  private func asked(_ name: String, _ options: String...) throws -> [String] {
    let result = try TestBus.tribunectl(["-j", "ask", name, "--mode=all"] + options, address: bus.address)
    return try result.outcomes().map { "\($0["label"] ?? "") \($0["outcome"] ?? "") \($0["reason"] ?? "")" }
  }

  /// The next lines of standard error, sorted and without the delegates' numbers.
  private func lines(_ count: Int, of program: RunningProgram) throws -> [String] {
    try (0..<count).map { _ in
      (try program.errors.line() ?? "(end)").replacing(#/ \(delegate \d+\)/#, with: "")
    }.sorted()
  }

  @Test("each executable is a delegate for its folder's name, and file names give the order")
  func scan() throws {
    try add("host.*/20-b", "echo b; exit 1")
    try add("host.*/10-a", "exit 198")
    try add("host.shouldReboot/15-x", "echo \"$TRIBUNE_NAME|$TRIBUNE_OBJECT\"; cat; exit 1")
    try add("host.shouldReboot/x.dpkg-new", "exit 1")
    try add("host.shouldReboot/plain", "exit 1", mode: 0o644)
    let program = try started("--object=o")
    #expect(try program.errors.line() == "attached \(root) (object o, 3 delegates), on \(bus.address)")
    #expect(
      try asked("host.shouldReboot", "--object=o", "{}") == [
        "10-a abstained ", "15-x vetoed host.shouldReboot|o\n{}", "20-b vetoed b",
      ])
    #expect(try asked("host.shouldReboot", "--object=p").isEmpty)
    #expect(try program.output.line()?.contains("→ ") == true)
    #expect(program.end(SIGTERM) == 0)
  }

  @Test("files that come, go, are renamed or change permissions are noticed, and a lasting problem once")
  func changes() throws {
    try add("a/50", "echo 50; exit 1")
    try add("no name/1")
    let program = try started()
    #expect(try program.errors.line()?.hasPrefix("tribunectl: \(root)/no name is ignored: ") == true)
    #expect(try program.errors.line() == "attached \(root) (any object, 1 delegate), on \(bus.address)")
    try add("a/60", "echo 60; exit 1")
    #expect(try lines(1, of: program) == ["attached a/60"])
    try add("a/40", "echo 40; exit 1")
    #expect(try lines(1, of: program) == ["attached a/40"])
    try add("a/55", "echo 55; exit 1")
    #expect(try lines(1, of: program) == ["attached a/55"])
    #expect(try asked("a") == ["40 vetoed 40", "50 vetoed 50", "55 vetoed 55", "60 vetoed 60"])
    try setMode("\(root)/a/40", 0o644)
    #expect(try lines(1, of: program) == ["detached a/40"])
    try move("\(root)/a/50", "\(root)/a/70")
    #expect(try lines(2, of: program) == ["attached a/70", "detached a/50"])
    try remove("a/55")
    #expect(try lines(1, of: program) == ["detached a/55"])
    try setMode("\(root)/a/40", 0o755)
    #expect(try lines(1, of: program) == ["attached a/40"])
    #expect(try asked("a") == ["40 vetoed 40", "60 vetoed 60", "70 vetoed 50"])
    // The same with folders.
    try add("b/1", "exit 1")
    #expect(try lines(1, of: program) == ["attached b/1"])
    try move("\(root)/b", "\(root)/c")
    #expect(try lines(2, of: program) == ["attached c/1", "detached b/1"])
    #expect(try asked("b").isEmpty)
    #expect(try asked("c") == ["1 vetoed "])
    try remove("a")
    #expect(try lines(3, of: program) == ["detached a/40", "detached a/60", "detached a/70"])
    #expect(try asked("a").isEmpty)
  }

  @Test("a missing folder is waited for, and so are the folders above it")
  func absent() throws {
    let program = try started()
    let problem = "tribunectl: \(root) does not exist: No such file or directory"
    #expect(try program.errors.line() == problem)
    #expect(try program.errors.line() == "attached \(root) (any object, 0 delegates), on \(bus.address)")
    try add("a/1", "exit 1")
    #expect(try lines(1, of: program) == ["attached a/1"])
    let (here, away) = (folder.path, "\(folder.path)-away")
    try move(here, away)
    #expect(try lines(2, of: program) == ["detached a/1", problem])
    #expect(try asked("a").isEmpty)
    try move(away, here)
    #expect(try lines(1, of: program) == ["attached a/1"])
    #expect(try asked("a") == ["1 vetoed "])
  }

  @Test("a removed file is not asked any more, but its running command may finish")
  func runningCommand() throws {
    let gate = try ShellGate()
    try add("a/1", "echo started >&2; \(gate.wait); echo late; exit 1")
    let observer = try RawClient.observing("tribune.delegate.didDetach", on: bus)
    let program = try started("--timeout=1min")
    _ = try program.errors.line()
    let asker = try bus.start("ask", "a")
    #expect(try program.errors.line() == "started")
    try remove("a/1")
    #expect(try lines(1, of: program) == ["detached a/1"])
    #expect(try asked("a") == ["1 abstained "])
    // The file may come back meanwhile.
    try add("a/1", "echo new; exit 1")
    #expect(try lines(1, of: program) == ["attached a/1"])
    #expect(try asked("a") == ["1 vetoed new"])
    try remove("a/1")
    #expect(try lines(1, of: program) == ["detached a/1"])
    try gate.open()
    #expect(asker.status() == 1)
    #expect(try asker.output.rest().contains(": late"))
    _ = try observer.next(.post)
    #expect(try asked("a").isEmpty)
  }

  @Test("if two delegates have no order between them left, all get new orders, and each is asked once")
  func renumbering() throws {
    try add("a/a", "exit 198")
    try add("a/z", "exit 198")
    let departures = try Departures(ofBusAt: bus.path)
    let program = try started()
    _ = try program.errors.line()
    var names = ["a"]
    // Each new file halves the distance to the last one.
    for _ in 0..<20 {
      names.append((names.last ?? "") + "a")
      try add("a/\(names.last ?? "")", "exit 198")
      #expect(try lines(1, of: program) == ["attached a/\(names.last ?? "")"])
    }
    let expected = (names + ["z"]).map { "\($0) abstained " }
    // The delegates with the old orders go with their connection, once the new ones are there.
    try departures.wait(count: 1)
    #expect(try asked("a") == expected)
    #expect(try bus.tribunectl("list", "--no-legend").lines.count == 3)
  }

  @Test("files beyond the number of questions at a time answer when others have")
  func bound() throws {
    let gate = try ShellGate()
    for number in 0..<70 { try add("a/\(number)", "echo asked >&2; \(gate.wait); exit 198") }
    let program = try started("--timeout=1min")
    #expect(try program.errors.line()?.contains("70 delegates)") == true)
    let asker = try bus.start("ask", "a", "--mode=all", "--default=allow")
    for _ in 0..<60 { #expect(try program.errors.line() == "asked") }
    try gate.open()
    for _ in 60..<70 { #expect(try program.errors.line() == "asked") }
    for _ in 0..<70 { #expect(try program.output.line()?.hasSuffix("→ abstained") == true) }
    #expect(asker.status() == 0)
    #expect(program.end(SIGTERM) == 0)
  }

  @Test("one that is replaced makes it fail and say by whom, and when it is started again all are asked")
  func replaced() throws {
    try add("a/1", "echo no; exit 1")
    try add("b/1", "echo never; exit 1")
    let program = try started()
    #expect(try program.errors.line()?.hasPrefix("attached ") == true)
    let other = try bus.staying("delegate", "c", "--approve", "--set", "--label=other")
    #expect(program.status() == 1)
    #expect(
      try program.errors.rest().contains("tribunectl: replaced by other (tribunectl, pid \(other.pid), uid "))
    #expect(try asked("a").isEmpty && asked("b").isEmpty)
    let again = try started()
    #expect(try again.errors.line() == "attached \(root) (any object, 2 delegates), on \(bus.address)")
    #expect(try asked("a") == ["1 vetoed no"])
    #expect(try asked("b") == ["1 vetoed never"])
    #expect(try asked("c") == ["other approved "])
    #expect(again.end(SIGTERM) == 0)
  }

  @Test("it ends when the bus does")
  func busGoes() throws {
    let program = try started("--reconnect=0")
    _ = try program.errors.line()
    bus.signal(SIGKILL)
    #expect(program.status() == 1)
  }
}
