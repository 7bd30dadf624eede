// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@Suite("Reconnecting", .timeLimit(.minutes(15)))
struct ReconnectionTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func replace(_ bus: TestBus) throws -> TestBus {
    #expect(bus.end(SIGKILL) == -SIGKILL)
    return try TestBus(folder: folder)
  }

  @Test("tribunectl's staying verbs continue, and report it")
  func staying() throws {
    let bus = try TestBus(folder: folder)
    try folder.write("protocol P {\n  optional should a.shouldB ()\n}\n", to: "P.protocol")
    let observer = try bus.staying("-j", "observe", "a.*", "end")
    let monitor = try bus.staying("-j", "monitor", "a.*")
    let delegate = try bus.staying("-j", "delegate", "a.shouldB", "--veto=not now", "--object=x")
    let hold = try bus.staying("hold", "c.*", "--why=because")
    let declaration = try bus.staying("declare", "y", "P", "--definitions=\(folder.path)/P.protocol")
    #expect(try bus.tribunectl("post", "a.before").status == 0)
    #expect(try observer.output.line()?.contains("a.before") == true)

    let next = try replace(bus)
    let unknown = "tribunectl: reconnected to the bus; the number of missed"
    #expect(try observer.errors.line() == "\(unknown) notifications is unknown")
    #expect(try monitor.errors.line() == "\(unknown) messages is unknown")
    #expect(try delegate.errors.line() == "\(unknown) notifications is unknown")
    let standing = "the hold is in force again, but may have been interrupted"
    #expect(try hold.errors.line() == "tribunectl: reconnected to the bus; \(standing)")
    #expect(try declaration.errors.line() == "tribunectl: reconnected to the bus")
    #expect(try next.tribunectl("post", "a.after").status == 0)
    #expect(try observer.output.line() == #"{"interrupted":true}"#)
    #expect(try observer.output.line()?.contains("a.after") == true)
    var seen: [String] = []
    while let line = try monitor.output.line(), !line.contains("a.after") { seen.append(line) }
    #expect(seen.contains(#"{"interrupted":true}"#))
    let vetoed = try next.tribunectl("-j", "ask", "a.shouldB", "--object=x")
    #expect(vetoed.status == 1)
    #expect(vetoed.output.contains("not now"))
    #expect(try delegate.output.line()?.contains("a.shouldB") == true)
    let held = try next.tribunectl("ask", "c.shouldD")
    #expect(held.status == 1)
    #expect(held.output.contains("because"))
    #expect(try next.tribunectl("tree").output.contains("y"))
    for program in [observer, monitor, delegate, hold, declaration] { #expect(program.end(SIGTERM) == 0) }
  }

  @Test(
    "with --reconnect=infinity, a staying verb reports that it looks for the bus, even one that was stopped",
    arguments: [
      ["delegate", "a.shouldB", "--veto=no"], ["hold", "a.*", "--why=c"], ["observe", "a.*"],
    ])
  func lookingForEver(verb: [String]) throws {
    let bus = try TestBus(folder: folder)
    let program = try bus.staying(["--reconnect=infinity"] + verb)
    #expect(bus.stop() == 0)
    #expect(try program.errors.line() == "tribunectl: the bus is stopping; looking for the bus")
    let next = try TestBus(folder: folder)
    #expect(try program.errors.line()?.hasPrefix("tribunectl: reconnected to the bus; ") == true)
    #expect(try next.tribunectl("ask", "a.shouldB").status == (verb[0] == "observe" ? 0 : 1))
    #expect(program.end(SIGTERM) == 0)
  }

  @Test(
    "holds and delegates are back although nobody reads standard error",
    arguments: [
      ["hold", "c.*", "--why=because"], ["hold", "c.*", "--why=because", "--", "cat"],
      ["--reconnect=infinity", "delegate", "c.shouldD", "--veto=because"],
      ["--reconnect=infinity", "delegate", "c.shouldD", "--exec", "sh", "-c", "echo because; exit 1"],
    ])
  func unreadErrors(verb: [String]) throws {
    let bus = try TestBus(folder: folder)
    let errors = "\(folder.path)/errors"
    #expect(unsafe mkfifo(errors, 0o600) == 0)
    let descriptor = unsafe open(errors, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    #expect(descriptor >= 0)
    defer { close(descriptor) }
    let page = [UInt8](repeating: 10, count: 4096)
    while unsafe write(descriptor, page, page.count) > 0 {}
    let input = Pipe()
    let program = try RunningProgram(
      ["/bin/sh", "-c", "exec \"$0\" \"$@\" 2>'\(errors)'", try Programs.path(of: "tribunectl")] + verb,
      environment: ["TRIBUNE_ADDRESS": bus.address], input: input)
    func isVetoed(on bus: TestBus) throws -> Bool {
      try bus.tribunectl("ask", "c.shouldD", "--timeout=3s").output.contains("because")
    }
    try bus.wait { try isVetoed(on: bus) }
    let next = try replace(bus)
    try next.wait { try isVetoed(on: next) }
    try input.fileHandleForWriting.close()
    program.end(SIGTERM)
  }

  @Test("the delegates of a folder are attached again")
  func folderOfDelegates() throws {
    let bus = try TestBus(folder: folder)
    try folder.write("#!/bin/sh\necho no room\nexit 1\n", to: "delegates/a.shouldB/50-room", mode: 0o755)
    let program = try bus.staying("delegate", "--directory=\(folder.path)/delegates")
    let next = try replace(bus)
    while try program.errors.line()?.contains("reconnected to the bus") == false {}
    let asked = try next.tribunectl("-j", "ask", "a.shouldB")
    #expect(asked.status == 1)
    #expect(asked.output.contains("no room"))
    #expect(program.end(SIGTERM) == 0)
  }
}
