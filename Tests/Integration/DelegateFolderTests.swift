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

  /// With a rename, as package tools do.
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

  private func asked(_ name: String, _ options: String...) throws -> [String] {
    let result = try TestBus.tribunectl(["-j", "ask", name, "--mode=all"] + options, address: bus.address)
    return try result.outcomes().map { "\($0["label"] ?? "") \($0["outcome"] ?? "") \($0["reason"] ?? "")" }
  }

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
    let plain = "\(root)/host.shouldReboot/plain"
    #expect(try program.errors.line() == "tribunectl: \(plain) is ignored: it cannot be executed")
    #expect(try program.errors.line() == "attached \(root) (object o, 3 delegates), on \(bus.address)")
    #expect(
      try asked("host.shouldReboot", "--object=o", "{}") == [
        "10-a abstained ", "15-x vetoed host.shouldReboot|o\n{}", "20-b vetoed b",
      ])
    #expect(try asked("host.shouldReboot", "--object=p").isEmpty)
    #expect(try program.output.line()?.contains("→ ") == true)
    #expect(program.end(SIGTERM) == 0)
  }

  @Test(
    "a folder named for an action is reported, and its question vetoed; one named for a value answers values")
  func names() throws {
    for name in ["host.reboot", "host.willReboot", "a.mayB", "c.shouldD.", "browser.row"] {
      try add("\(name)/1", "echo 7")
    }
    let program = try started()
    let ignored = try lines(4, of: program)
    for ((name, question), line) in zip(
      [
        ("a.mayB", "a.shouldB"), ("c.shouldD.", "c.shouldD"), ("host.reboot", "host.shouldReboot"),
        ("host.willReboot", "host.shouldReboot"),
      ],
      ignored)
    {
      #expect(
        line.hasPrefix("tribunectl: \(root)/\(name) is ignored: ")
          && line.hasSuffix(" Until the folder is renamed, \(question) fails"), "\(line)")
    }
    #expect(
      try program.errors.line()
        == "attached \(root) (any object, 5 delegates; only for values: browser.row), on \(bus.address)")
    for (name, question) in [("a.mayB", "a.shouldB"), ("c.shouldD.", "c.shouldD")] {
      let outcome = try #require(try asked(question).first)
      #expect(outcome.hasPrefix("\(name) failed ") && outcome.contains("\(root)/\(name)/"), "\(outcome)")
    }
    try bus.tribunectl("ask", "host.shouldReboot").expect(1)
    try bus.tribunectl("query", "browser.row").expect(0, output: "7\n")
    #expect(program.end(SIGTERM) == 0)
  }

  @Test(
    "while the bus refuses a file as a delegate, the file's questions are vetoed", arguments: [false, true])
  func refused(abstains: Bool) throws {
    try folder.write("protocol P { optional should a.shouldB () }\n", to: "P.protocol")
    let declaration = try bus.staying("declare", "o", "P", "--definitions=\(folder.path)/P.protocol")
    for name in ["a.shouldB/v", "c.shouldD/w"] { try add(name) }
    let program = try started("--on-failure=\(abstains ? "abstain" : "veto")")
    let problem = try #require(try program.errors.line())
    #expect(problem.hasPrefix("tribunectl: a.shouldB/v cannot be attached: it conforms neither to \"P\""))
    #expect(problem.hasSuffix("; its questions are vetoed") != abstains)
    #expect(
      try program.errors.line()?.hasPrefix(
        "attached \(root) (any object, 1 delegate\(abstains ? "" : ", 1 veto instead of refused files"))")
        == true)
    #expect(try asked("c.shouldD") == ["w approved "])
    guard !abstains else { return #expect(try asked("a.shouldB").isEmpty) }
    for object in ["o", "p"] {
      let outcome = try #require(try asked("a.shouldB", "--object=\(object)").first)
      #expect(outcome.hasPrefix("v held a.shouldB/v cannot be attached: it conforms neither"))
    }
    #expect(declaration.end(SIGTERM) == 0)
    #expect(try lines(1, of: program) == ["attached a.shouldB/v"])
    #expect(try asked("a.shouldB") == ["v approved "])
    #expect(program.end(SIGTERM) == 0)
  }

  @Test("a link whose file is removed fails from then on")
  func dangling() throws {
    try folder.write("#!/bin/sh\nexit 0\n", to: "target")
    try setMode("\(folder.path)/target", 0o755)
    try FileManager.default.createDirectory(atPath: "\(root)/a.shouldB", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: "\(root)/a.shouldB/v", withDestinationPath: "\(folder.path)/target")
    let program = try started()
    #expect(try program.errors.line()?.hasPrefix("attached \(root) (any object, 1 delegate)") == true)
    #expect(try asked("a.shouldB") == ["v approved "])
    try FileManager.default.removeItem(atPath: "\(folder.path)/target")
    #expect(try asked("a.shouldB").first?.hasPrefix("v failed ") == true)
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 1)
    #expect(program.end(SIGTERM) == 0)
  }

  private func link(_ path: String, to target: String) throws {
    let new = "\(folder.path)/new-link"
    try FileManager.default.createSymbolicLink(atPath: new, withDestinationPath: target)
    try move(new, "\(folder.path)/\(path)")
  }

  @Test("a switched link anywhere on the way to the files is noticed", arguments: ["root", "name", "file"])
  func switchedLink(_ place: String) throws {
    for release in ["r1", "r2"] {
      let file = "shouldA/\(place == "file" ? "v" : release)"
      try add(file, "echo \(release); exit 1")
      try move(root, "\(folder.path)/\(release)")
    }
    try link("cur", to: "r1")
    switch place {
    case "root": try link("d", to: "cur/../cur")
    case "name":
      try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
      try link("d/shouldA", to: "../cur/shouldA")
    default:
      try FileManager.default.createDirectory(atPath: "\(root)/shouldA", withIntermediateDirectories: true)
      try link("d/shouldA/v", to: "../../cur/shouldA/v")
      try setMode("\(folder.path)/r1/shouldA/v", 0o644)
    }
    let program = try started()
    if place == "file" {
      #expect(try program.errors.line()?.hasSuffix("shouldA/v is ignored: it cannot be executed") == true)
    }
    #expect(try program.errors.line()?.hasPrefix("attached \(root) ") == true)
    #expect(try asked("shouldA") == (place == "file" ? [] : ["r1 vetoed r1"]))
    try link("cur", to: "r2")
    let expected = place == "file" ? ["attached shouldA/v"] : ["attached shouldA/r2", "detached shouldA/r1"]
    #expect(try lines(expected.count, of: program) == expected)
    #expect(try asked("shouldA") == [place == "file" ? "v vetoed r2" : "r2 vetoed r2"])
  }

  @Test("a program that vanishes unnoticed fails, and then the folder is read again")
  func vanished() throws {
    try add("shouldA/1", "exit 0")
    try folder.write("#!/bin/sh\necho two; exit 1\n", to: "other/2")
    try setMode("\(folder.path)/other/2", 0o755)
    let program = try RunningProgram(
      [
        "/usr/bin/env", "unshare", "--mount", try Programs.path(of: "tribunectl"), "delegate",
        "--directory=\(root)",
      ],
      environment: ["TRIBUNE_ADDRESS": bus.address])
    #expect(try program.errors.line()?.hasPrefix("attached ") == true)
    // inotify does not report a mount.
    let mount = ["mount", "--bind", "\(folder.path)/other", "\(root)/shouldA"]
    try FinishedProgram(["/usr/bin/env", "nsenter", "--target=\(program.pid)", "--mount"] + mount).expect(0)
    #expect(try asked("shouldA") == ["1 failed \(root)/shouldA/1 cannot be run: No such file or directory"])
    #expect(
      try lines(3, of: program) == [
        "attached shouldA/2", "detached shouldA/1",
        "tribunectl: \(root)/shouldA/1 cannot be run: No such file or directory",
      ])
    #expect(try asked("shouldA") == ["2 vetoed two"])
  }

  @Test("a link's target that becomes executable is noticed")
  func laterExecutable() throws {
    try folder.write("#!/bin/sh\necho no; exit 1\n", to: "target/v")
    try add("shouldA/1", "exit 198")
    let program = try started()
    #expect(try program.errors.line()?.hasPrefix("attached ") == true)
    try link("d/shouldA/v", to: "\(folder.path)/target/v")
    #expect(
      try program.errors.line() == "tribunectl: \(root)/shouldA/v is ignored: it cannot be executed")
    try setMode("\(folder.path)/target/v", 0o755)
    #expect(try lines(1, of: program) == ["attached shouldA/v"])
    #expect(try asked("shouldA") == ["1 abstained ", "v vetoed no"])
  }

  @Test("files and folders that cannot be looked at at the start fail")
  func unseen() throws {
    try add("shouldA/1", "exit 0")
    try link("d/shouldA/loop", to: "loop")
    try link("d/shouldB", to: "shouldB")
    try link("d/shouldC", to: "missing")
    let program = try started()
    #expect(
      try lines(3, of: program) == [
        "tribunectl: \(root)/shouldA/loop cannot be looked at",
        "tribunectl: \(root)/shouldB cannot be looked at",
        "tribunectl: \(root)/shouldC fails: it is a link to a missing folder",
      ])
    #expect(try program.errors.line()?.hasPrefix("attached \(root) (any object, 4 delegates)") == true)
    #expect(try asked("shouldA").last?.hasPrefix("loop failed ") == true)
    #expect(try asked("shouldB").first?.hasPrefix("shouldB failed ") == true)
    #expect(try bus.tribunectl("ask", "shouldC").status == 1)
    #expect(try lines(3, of: program).allSatisfy { $0.contains(" cannot be run: ") })
    try link("d/shouldC", to: "shouldA")
    #expect(
      try lines(4, of: program) == [
        "attached shouldC/1", "attached shouldC/loop", "detached shouldC/",
        "tribunectl: \(root)/shouldC/loop cannot be looked at",
      ])
    #expect(try asked("shouldC").map { $0.prefix(6) } == ["1 appr", "loop f"])
  }

  @Test("a later file that stays incomplete is reported once")
  func incomplete() throws {
    try add("shouldA/1", "exit 0")
    let program = try started()
    #expect(try program.errors.line()?.hasPrefix("attached ") == true)
    try add("shouldA/2.concluded")
    #expect(try program.errors.line() == "tribunectl: \(root)/shouldA/2.concluded is ignored: there is no 2")
    try add("shouldA/2", "exit 1", mode: 0o644)
    #expect(try program.errors.line() == "tribunectl: \(root)/shouldA/2 is ignored: it cannot be executed")
    try add("shouldA/3")
    #expect(try lines(1, of: program) == ["attached shouldA/3"])
    try setMode("\(root)/shouldA/2", 0o755)
    #expect(try lines(1, of: program) == ["attached shouldA/2"])
    try add("browser.row/1", "echo 7")
    #expect(try program.errors.line()?.hasSuffix("; only for values: browser.row)") == true)
  }

  @Test("new, removed, renamed and re-permitted files are noticed, and a lasting problem is reported once")
  func changes() throws {
    try add("shouldA/50", "echo 50; exit 1")
    try add("no name/1")
    let program = try started()
    #expect(try program.errors.line()?.hasPrefix("tribunectl: \(root)/no name is ignored: ") == true)
    #expect(try program.errors.line() == "attached \(root) (any object, 1 delegate), on \(bus.address)")
    try add("shouldA/60", "echo 60; exit 1")
    #expect(try lines(1, of: program) == ["attached shouldA/60"])
    try add("shouldA/40", "echo 40; exit 1")
    #expect(try lines(1, of: program) == ["attached shouldA/40"])
    try add("shouldA/55", "echo 55; exit 1")
    #expect(try lines(1, of: program) == ["attached shouldA/55"])
    #expect(try asked("shouldA") == ["40 vetoed 40", "50 vetoed 50", "55 vetoed 55", "60 vetoed 60"])
    try setMode("\(root)/shouldA/40", 0o644)
    #expect(try lines(1, of: program) == ["detached shouldA/40"])
    try move("\(root)/shouldA/50", "\(root)/shouldA/70")
    #expect(try lines(2, of: program) == ["attached shouldA/70", "detached shouldA/50"])
    try remove("shouldA/55")
    #expect(try lines(1, of: program) == ["detached shouldA/55"])
    try setMode("\(root)/shouldA/40", 0o755)
    #expect(try lines(1, of: program) == ["attached shouldA/40"])
    #expect(try asked("shouldA") == ["40 vetoed 40", "60 vetoed 60", "70 vetoed 50"])
    try add("shouldB/1", "exit 1")
    #expect(try lines(1, of: program) == ["attached shouldB/1"])
    try move("\(root)/shouldB", "\(root)/shouldC")
    #expect(try lines(2, of: program) == ["attached shouldC/1", "detached shouldB/1"])
    #expect(try asked("shouldB").isEmpty)
    #expect(try asked("shouldC") == ["1 vetoed "])
    try remove("shouldA")
    let gone = try lines(3, of: program)
    #expect(gone == ["detached shouldA/40", "detached shouldA/60", "detached shouldA/70"], "\(gone)")
    #expect(try asked("shouldA").isEmpty)
  }

  @Test("a folder that is missing or cannot be read at the start is an error: its files would veto nothing")
  func unusable() throws {
    let missing = try started()
    let error = "cannot be read: No such file or directory. Its files would veto nothing"
    #expect(try missing.errors.line() == "tribunectl: \(root) \(error)")
    #expect(missing.status() == 1)
    try folder.write("", to: "d")
    #expect(try started().status() == 1)
  }

  @Test("a folder that goes is waited for, and so are its parents")
  func absent() throws {
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    let program = try started()
    let problem = "tribunectl: \(root) does not exist: No such file or directory"
    #expect(try program.errors.line() == "attached \(root) (any object, 0 delegates), on \(bus.address)")
    try add("shouldA/1", "exit 1")
    #expect(try lines(1, of: program) == ["attached shouldA/1"])
    let (here, away) = (folder.path, "\(folder.path)-away")
    try move(here, away)
    #expect(try lines(2, of: program) == ["detached shouldA/1", problem])
    #expect(try asked("shouldA").isEmpty)
    try move(away, here)
    #expect(try lines(1, of: program) == ["attached shouldA/1"])
    #expect(try asked("shouldA") == ["1 vetoed "])
  }

  @Test("files that cannot be read or examined stay attached, and their failures are vetoes")
  func unreadable() throws {
    try add("shouldA/1", "echo no; exit 1")
    let program = try started()
    #expect(try program.errors.line()?.hasPrefix("attached ") == true)
    func allow(descriptors: Int) throws {
      let limit = ["/usr/bin/env", "prlimit", "--pid=\(program.pid)", "--nofile=\(descriptors):"]
      try #require(try FinishedProgram(limit).status == 0)
    }
    try allow(descriptors: 4)
    try add("shouldA/2", "echo never; exit 1")
    #expect(try program.errors.line() == "tribunectl: \(root) cannot be read: Too many open files")
    let failed = "tribunectl: \(root)/shouldA/1 cannot be run: Too many open files"
    #expect(try asked("shouldA") == ["1 failed \(root)/shouldA/1 cannot be run: Too many open files"])
    #expect(try program.errors.line() == failed)
    try allow(descriptors: 1_000)
    try FileManager.default.createSymbolicLink(atPath: "\(root)/shouldA/.new", withDestinationPath: "1")
    try move("\(root)/shouldA/.new", "\(root)/shouldA/1")
    #expect(
      try lines(2, of: program) == [
        "attached shouldA/2", "tribunectl: \(root)/shouldA/1 cannot be looked at",
      ])
    #expect(
      try asked("shouldA") == [
        "1 failed \(root)/shouldA/1 cannot be run: Too many levels of symbolic links", "2 vetoed never",
      ])
  }

  @Test("a removed file is no longer asked, but its running command may finish")
  func runningCommand() throws {
    let gate = try ShellGate()
    try add("shouldA/1", "echo started >&2; \(gate.wait); echo late; exit 1")
    let observer = try RawClient.observing("tribune.delegate.didDetach", on: bus)
    let program = try started("--timeout=1min")
    _ = try program.errors.line()
    let asker = try bus.start("ask", "shouldA")
    #expect(try program.errors.line() == "started")
    try remove("shouldA/1")
    #expect(try lines(1, of: program) == ["detached shouldA/1"])
    #expect(try asked("shouldA") == ["1 abstained "])
    try add("shouldA/1", "echo new; exit 1")
    #expect(try lines(1, of: program) == ["attached shouldA/1"])
    #expect(try asked("shouldA") == ["1 vetoed new"])
    try remove("shouldA/1")
    #expect(try lines(1, of: program) == ["detached shouldA/1"])
    try gate.open()
    #expect(asker.status() == 1)
    #expect(try asker.output.rest().contains(": late"))
    _ = try observer.next(.post)
    #expect(try asked("shouldA").isEmpty)
  }

  @Test("if no order is left between two delegates, all get new orders, and each is asked once")
  func renumbering() throws {
    try add("shouldA/a", "exit 198")
    try add("shouldA/z", "exit 198")
    let departures = try Departures(ofBusAt: bus.path)
    let program = try started()
    _ = try program.errors.line()
    var names = ["a"]
    for _ in 0..<20 {
      names.append((names.last ?? "") + "a")
      try add("shouldA/\(names.last ?? "")", "exit 198")
      #expect(try lines(1, of: program) == ["attached shouldA/\(names.last ?? "")"])
    }
    let expected = (names + ["z"]).map { "\($0) abstained " }
    try departures.wait(count: 1)
    #expect(try asked("shouldA") == expected)
    #expect(try bus.tribunectl("list", "--no-legend").lines.count == 3)
  }

  @Test("files beyond the limit of questions at a time answer after others")
  func bound() throws {
    let gate = try ShellGate()
    for number in 0..<70 { try add("shouldA/\(number)", "echo asked >&2; \(gate.wait); exit 198") }
    let program = try started("--timeout=1min")
    #expect(try program.errors.line()?.contains("70 delegates)") == true)
    let asker = try bus.start("ask", "shouldA", "--mode=all", "--default=allow")
    for _ in 0..<60 { #expect(try program.errors.line() == "asked") }
    try gate.open()
    for _ in 60..<70 { #expect(try program.errors.line() == "asked") }
    for _ in 0..<70 { #expect(try program.output.line()?.hasSuffix("→ abstained") == true) }
    #expect(asker.status() == 0)
    #expect(program.end(SIGTERM) == 0)
  }

  @Test("a replaced file is reported, and attached again beside its replacement; the others stay")
  func replaced() throws {
    try add("shouldA/1", "echo no; exit 1")
    try add("shouldB/1", "echo never; exit 1")
    let observer = try RawClient.observing("tribune.delegate.didDetach", on: bus)
    let program = try started()
    #expect(try program.errors.line()?.hasPrefix("attached ") == true)
    let other = try bus.staying("delegate", "shouldB", "shouldC", "--approve", "--set", "--label=other")
    #expect(
      try program.errors.line()?.hasPrefix(
        "tribunectl: shouldB/1 was replaced by other (tribunectl, pid \(other.pid), uid ") == true)
    #expect(try lines(1, of: program) == ["attached shouldB/1"])
    #expect(try asked("shouldA") == ["1 vetoed no"])
    #expect(try Set(asked("shouldB")) == ["1 vetoed never", "other approved "])
    #expect(try asked("shouldC") == ["other approved "])
    #expect(try observer.next(.post).payload.contains(#""respondsTo":["shouldB"]"#))
    #expect(program.end(SIGTERM) == 0)
  }

  @Test("a file that the policy refuses is reported, and attached again once it may; the others stay")
  func refused() throws {
    try add("a.shouldA/1", "echo no; exit 1")
    try add("b.shouldB/1", "echo never; exit 1")
    let policy = "etc/policy.d/10.policy"
    try folder.write("allow * ** user:*\n", to: policy)
    let bus = try TestBus(folder: folder)
    let user = try OtherUser(65_534, on: bus.address, in: folder)
    let program = try RunningProgram(user.command(["delegate", "--directory=\(root)"]))
    #expect(try program.errors.line()?.hasPrefix("attached \(root) (any object, 2 delegates)") == true)
    try folder.write("allow * ** user:*\ndeny delegate b.** user:*\n", to: policy)
    try bus.reload("")
    let denied = "user 65534 may not delegate b.shouldB: denied by \(folder.path)/\(policy):2"
    #expect(try program.errors.line() == "tribunectl: b.shouldB/1 was detached: \(denied)")
    #expect(
      try program.errors.line()
        == "tribunectl: b.shouldB/1 cannot be attached: \(denied); its questions are vetoed")
    #expect(try bus.tribunectl("ask", "a.shouldA").status == 1)
    let held = try bus.tribunectl("-j", "ask", "b.shouldB").outcomes()
    #expect(held.map { "\($0["label"] ?? "") \($0["outcome"] ?? "")" } == ["1 held"])
    try folder.write("allow * ** user:*\n", to: policy)
    try bus.reload("")
    #expect(try lines(1, of: program) == ["attached b.shouldB/1"])
    #expect(try bus.tribunectl("ask", "b.shouldB").status == 1)
    #expect(program.end(SIGTERM) == 0)
  }

  @Test("if the bus refuses all files, and holds instead of them, the verb fails")
  func refusedCompletely() throws {
    try add("b.shouldB/1", "echo never; exit 1")
    let bus = try TestBus(folder: folder)
    let user = try OtherUser(65_534, on: bus.address, in: folder)
    let program = try RunningProgram(user.command(["delegate", "--directory=\(root)"]))
    #expect(try program.errors.rest().hasSuffix("the bus refuses all files, so none would veto\n"))
    #expect(program.status() == 1)
  }

  @Test("until all files are attached, one delegate vetoes what they share, also in a new folder")
  func gates() throws {
    for name in ["a.*/2", "a.shouldB/1", "c.shouldD/1"] { try add(name) }
    let observer = try RawClient.observing("tribune.delegate.*", on: bus)
    let program = try started()
    #expect(try program.errors.line()?.hasPrefix("attached ") == true)
    let news = try news(7, for: observer)
    #expect(news.prefix(2) == ["Attach a.*/", "Attach a.shouldB/"])
    #expect(news[2..<5].allSatisfy { $0.hasPrefix("Attach ") && !$0.hasSuffix("/") })
    #expect(Set(news.suffix(2)) == ["Detach a.*/", "Detach a.shouldB/"])
    let place = "\(root)/e.shouldF"
    for name in ["1", "2"] { try add("../later/\(name)") }
    try move("\(folder.path)/later", place)
    #expect(try lines(2, of: program) == ["attached e.shouldF/1", "attached e.shouldF/2"])
    let later = try (0..<4).map { _ in
      try jsonObject(observer.next(.post).payload)["label"] as? String ?? ""
    }
    #expect(later.first == "e.shouldF/" && later.last == "e.shouldF/", "\(later)")
    #expect(try asked("a.shouldB") == ["1 approved ", "2 approved "])
    #expect(program.end(SIGTERM) == 0)
  }

  @Test("a folder that comes back while one of its programs runs approves only when it is complete")
  func backWhileRunning() throws {
    let gate = try ShellGate()
    try add("a.shouldB/1", "echo started >&2; \(gate.wait)")
    try add("a.shouldB/2", "exit 1")
    let program = try started("--timeout=1min")
    _ = try program.errors.line()
    let asker = try bus.start("ask", "a.shouldB", "--mode=order")
    #expect(try program.errors.line() == "started")
    let observer = try RawClient.observing("tribune.delegate.*", on: bus)
    try move("\(root)/a.shouldB", "\(folder.path)/away")
    #expect(try lines(2, of: program) == ["detached a.shouldB/1", "detached a.shouldB/2"])
    try move("\(folder.path)/away", "\(root)/a.shouldB")
    #expect(try lines(2, of: program) == ["attached a.shouldB/1", "attached a.shouldB/2"])
    #expect(
      try news(4, for: observer) == ["Detach 2", "Attach a.shouldB/", "Attach 2", "Detach a.shouldB/"])
    try gate.open()
    #expect(asker.status() == 1)
    #expect(program.end(SIGTERM) == 0)
  }

  private func news(_ count: Int, for observer: RawClient) throws -> [String] {
    try (0..<count).map { _ in
      let post = try observer.next(.post)
      let label = try jsonObject(post.payload)["label"] as? String ?? ""
      return post.name.replacing("tribune.delegate.did", with: "") + " " + label
    }
  }

  @Test("a file that the bus refuses at the start might veto, so what it shares with others is vetoed")
  func refusedAtStart() throws {
    try bus.reload("[Bus]\nDelegatesMax=2\n")
    try add("shouldA/1")
    try add("shouldA/2")
    try add("shouldA/3", "echo no; exit 1")
    let program = try started()
    for number in [2, 3] {
      let refusal = "tribunectl: shouldA/\(number) cannot be attached: "
      #expect(try program.errors.line()?.hasPrefix(refusal) == true)
    }
    #expect(try program.errors.line()?.hasPrefix("attached \(root) (any object, 1 delegate)") == true)
    #expect(
      try asked("shouldA") == ["shouldA/ vetoed not all programs of \(root) are attached", "1 approved "])
    let observer = try RawClient.observing("tribune.delegate.didDetach", on: bus)
    try bus.reload("[Bus]\nDelegatesMax=100\n")
    #expect(try lines(2, of: program) == ["attached shouldA/2", "attached shouldA/3"])
    _ = try observer.next(.post)
    #expect(try asked("shouldA") == ["1 approved ", "2 approved ", "3 vetoed no"])
    #expect(program.end(SIGTERM) == 0)
  }

  @Test("the program ends with the bus")
  func busGoes() throws {
    let program = try started("--reconnect=0")
    _ = try program.errors.line()
    bus.signal(SIGKILL)
    #expect(program.status() == 1)
  }
}
