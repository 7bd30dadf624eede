// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@Suite("Exit statuses", .timeLimit(.minutes(15)))
struct ExitStatusTests {
  private static func tribunectlUnread(_ arguments: [String]) async throws -> Script {
    let script = "exec {unread}> >(:); wait $!; exec \"$@\" >&$unread"
    return try await Script.run(
      ["bash", "-c", script, "bash", try Programs.path(of: "tribunectl")] + arguments)
  }

  @Test(
    "the exit status is the verdict's, even if the output has no reader",
    arguments: [("allow", 0), ("veto", 1)] as [(String, Int32)], [[], ["--json=short"]])
  func unreadVerdict(verdict: (word: String, status: Int32), options: [String]) async throws {
    let bus = try TestBus()
    let asked = try await Self.tribunectlUnread(
      ["--address=\(bus.address)", "ask", "a.shouldB", "--default=\(verdict.word)"] + options)
    #expect(asked.status == verdict.status, "\(asked.output)")
  }

  @Test(
    "the exit status is that of --if-unreachable, even if the output has no reader",
    arguments: [("allow", 0), ("veto", 1), ("fail", 255)] as [(String, Int32)])
  func unreadVerdictWithoutBus(verdict: (word: String, status: Int32)) async throws {
    let folder = try TestFolder()
    let arguments = [
      "--address=unix:\(folder.path)/bus", "--json=short", "ask", "a.shouldB",
      "--if-unreachable=\(verdict.word)",
    ]
    let unread = try await Self.tribunectlUnread(arguments)
    #expect(unread.status == verdict.status, "\(unread.output)")
    let full = try await Script.run(
      ["bash", "-c", "exec \"$@\" >/dev/full", "bash", try Programs.path(of: "tribunectl")] + arguments)
    #expect(full.status == verdict.status, "\(full.output)")
  }

  @Test(
    "help that cannot be written is a failure",
    arguments: ["tribunectl", "tribuned", "tribune-logind", "tribune-nats", "tribune-web"])
  func unwrittenHelp(program: String) throws {
    let path = try Programs.path(of: program)
    for option in ["--help", "--version"] {
      let full = try FinishedProgram(["sh", "-c", #"exec "$0" \#(option) >/dev/full"#, path])
      full.expect(1, errors: "\(program): standard output: No space left on device\n")
    }
  }

  @Test("a guarded command starts without blocked signals")
  func signalsOfTheCommand() async throws {
    let bus = try TestBus()
    let guarded = try await Script.run([
      try Programs.path(of: "tribunectl"), "--address=\(bus.address)", "guard", "a.b", "--", "grep", "SigBlk",
      "/proc/self/status",
    ])
    #expect(guarded.output == "SigBlk:\t0000000000000000\n")
  }
}
