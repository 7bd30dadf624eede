// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("tribunectl posts and prints lines", .timeLimit(.minutes(15)))
struct LineCommandTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private func post(_ arguments: String...) throws -> RunningProgram {
    try RunningProgram(
      [try Programs.path(of: "tribunectl"), "post"] + arguments,
      environment: ["TRIBUNE_ADDRESS": bus.address],
      input: Pipe())
  }

  @Test(
    "an endless userInfo is refused while it is read",
    arguments: ["post a.b -", "ask a.shouldB -", "guard a.b - -- echo ran", "query a.b -"])
  func endless(verb: String) throws {
    let bus = try TestBus(configuration: "[Bus]\nPayloadMax=64K\n")
    let result = try FinishedProgram(
      ["sh", "-c", "exec \"$0\" \(verb) </dev/zero", try Programs.path(of: "tribunectl")],
      environment: ["TRIBUNE_ADDRESS": bus.address])
    result.expect(
      2, output: "", errors: "tribunectl: standard input is longer than the limit of 65536 bytes\n")
  }

  private func write(_ text: String, to program: RunningProgram) throws {
    try program.input?.fileHandleForWriting.write(contentsOf: Data(text.utf8))
  }

  private func endInput(of program: RunningProgram) throws {
    try program.input?.fileHandleForWriting.close()
  }

  @Test("each line is posted before the input ends; the last one needs no line feed")
  func slow() throws {
    let observer = try bus.staying("observe", "a.b", "--format={object} {userInfo}", "-N3")
    let poster = try post("a.b", "--lines", "--object=o")
    for text in ["1\n{\"x\":", " 2}\n"] {
      try write(text, to: poster)
      #expect(try observer.output.line() == (text.hasPrefix("1") ? "o 1" : "o {\"x\": 2}"))
    }
    try write("3", to: poster)
    try endInput(of: poster)
    #expect(try observer.output.line() == "o 3")
    #expect(poster.status() == 0)
    #expect(try poster.errors.rest() == "")
  }

  @Test("many lines arrive in order, though the poster is faster and the reader stops for a while")
  func many() throws {
    let count = 60_000
    let observer = try bus.staying("observe", "a.b", "--format={userInfo}", "-N\(count)")
    let numbers = (0..<count).map { "[\($0),\"some more bytes than a pipe holds\"]\n" }.joined()
    let input = "\(bus.folder.path)/lines"
    try Data(numbers.utf8).write(to: URL(filePath: input))
    let poster = try RunningProgram(
      [
        "/bin/sh", "-c", "exec \"$0\" post a.b --lines --pace=forever <\"$1\"",
        Programs.path(of: "tribunectl"), input,
      ],
      environment: ["TRIBUNE_ADDRESS": bus.address])
    while try !bus.tribunectl("--json=off", "list").lines.contains(where: { $0.contains(" paused ") }) {}
    #expect(try observer.output.rest() == numbers)
    #expect(poster.status() == 0)
  }

  @Test("a command a line gets all of them, in order, though more wait than a client takes at once")
  func commands() throws {
    let count = 4_500
    let observer = try bus.staying(
      "observe", "a.b", "-N\(count)", "--exec", "sh", "-c", "read -r line; echo $line $TRIBUNE_LOST")
    let poster = try RunningProgram(
      [
        "/bin/sh", "-c", "seq \(count) | exec \"$0\" post a.b --lines --pace=forever",
        Programs.path(of: "tribunectl"),
      ],
      environment: ["TRIBUNE_ADDRESS": bus.address])
    #expect(try observer.output.rest() == (1...count).map { "\($0) 0\n" }.joined())
    #expect(poster.status() == 0)
  }

  @Test("a wrong line ends the verb, which names it; earlier lines are posted, later ones are not")
  func wrong() throws {
    let observer = try bus.staying("observe", "a.*", "--format={name} {userInfo}", "-N2")
    let poster = try post("a.b", "--lines")
    try write("1\nwrong\n3\n", to: poster)
    try endInput(of: poster)
    #expect(poster.status() == 2)
    #expect(try poster.errors.rest().hasPrefix("tribunectl: line 2 is not JSON: "))
    try bus.tribunectl("post", "a.c").expect(0)
    #expect(try observer.output.rest() == "a.b 1\na.c \n")
  }

  @Test("a line that the bus refuses also ends the verb")
  func refused() throws {
    let poster = try post("tribune.x", "--lines")
    try write("1\n", to: poster)
    #expect(poster.status() == 1)
    #expect(try poster.errors.rest().hasPrefix("tribunectl: line 1: "))
  }

  @Test("a line that its object's protocol refuses ends the verb, and no later line is posted")
  func unfit() throws {
    try bus.folder.write("protocol P { optional did a.didGo (n: int) }\n", to: "P.protocol")
    try bus.staying("declare", "o", "P", "--definitions=\(bus.folder.path)/P.protocol")
    let observer = try bus.staying("observe", "a.didGo", "--format={userInfo.n}")
    let poster = try post("a.didGo", "--object=o", "--lines")
    try write("{\"n\":1}\n{\"n\":\"x\"}\n{\"n\":3}\n", to: poster)
    #expect(poster.status() == 1)
    #expect(try poster.errors.rest().hasPrefix("tribunectl: line 2: "))
    #expect(try bus.tribunectl("post", "a.didGo", #"{"n":4}"#).status == 0)
    #expect([try observer.output.line(), try observer.output.line()] == ["1", "4"])
  }

  @Test("with --retain, the last line stays")
  func retained() throws {
    let poster = try post("a.b", "--lines", "--retain")
    try write("1\n2\n", to: poster)
    try endInput(of: poster)
    #expect(poster.status() == 0)
    try bus.tribunectl("get", "a.b").expect(0, output: "2\n")
  }
}
