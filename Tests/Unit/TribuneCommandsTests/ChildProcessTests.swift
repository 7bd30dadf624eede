// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import Testing
import TribuneSystem

@testable import TribuneCommands

@Suite("Child processes", .timeLimit(.minutes(15)))
struct ChildProcessTests {
  private static func start(
    _ script: String, environment: [[UInt8]]? = nil, input: [UInt8] = [], limit: Int = 1 << 20
  ) throws -> ChildProcess {
    try ChildProcess(
      ["sh", "-c", script].map { Array($0.utf8) }, environment: environment, input: .bytes(input),
      output: .captured(limit: limit), leadsGroup: true, signalMask: SignalMask([]))
  }

  @Test("a child reads its input to the end, and its output is kept")
  func inputAndOutput() async throws {
    let input = [UInt8](repeating: 0x78, count: 1_000_000)
    let ending = try await Self.start("cat", input: input).ended()
    #expect(ending.termination == .exited(0))
    #expect(ending.output == input)
  }

  @Test("a child that does not read its input breaks nothing")
  func unreadInput() async throws {
    let ending = try await Self.start("exit 3", input: [UInt8](repeating: 0, count: 1_000_000)).ended()
    #expect(ending == ChildProcess.Ending(termination: .exited(3), output: []))
  }

  @Test("output over the limit is discarded, and the child can end")
  func bound() async throws {
    let ending = try await Self.start("head -c 3000000 /dev/zero; echo end", limit: 10).ended()
    #expect(ending == ChildProcess.Ending(termination: .exited(0), output: [UInt8](repeating: 0, count: 10)))
  }

  @Test("a grandchild that has the output open delays nothing")
  func background() async throws {
    let child = try Self.start("sleep 1000 & echo $!")
    let ending = await child.ended()
    #expect(ending.termination == .exited(0))
    let text = String(decoding: ending.output, as: UTF8.self)
    let pid = try #require(pid_t(text.split(separator: "\n").first ?? ""))
    kill(pid, SIGKILL)
  }

  @Test(
    "standard error is passed on, and its end is kept; a grandchild that has it open does not delay")
  func errors() async throws {
    let passed = Mutex<[UInt8]>([])
    let script = "head -c 300000 /dev/zero >&2; sleep 1000 & echo $!; echo end >&2"
    let child = try ChildProcess(
      ["sh", "-c", script].map { Array($0.utf8) }, output: .captured(limit: 10),
      errors: .relayed(limit: 5) { part in passed.withLock { $0 += part } }, leadsGroup: true,
      signalMask: SignalMask([]))
    let ending = await child.ended()
    #expect(ending.termination == .exited(0))
    #expect(ending.errors == Array("\0end\n".utf8))
    #expect(passed.withLock { $0 } == [UInt8](repeating: 0, count: 300_000) + Array("end\n".utf8))
    kill(try #require(pid_t(String(decoding: ending.output, as: UTF8.self).trimmed)), SIGKILL)
  }

  @Test("a signal reaches the whole group, and the end names the signal")
  func signals() async throws {
    // Only the inner shell's end ends the outer one: the signal must reach both.
    let child = try Self.start("sh -c 'kill -STOP $$'; exit 7")
    child.send(signal: SIGKILL)
    #expect(await child.ended().termination == .killed(signal: SIGKILL))
    child.send(signal: SIGKILL)
  }

  @Test(
    "a member of the group that outlives its leader is killed, whether or not it has the output open",
    arguments: ["", ">/dev/null"])
  func survivors(output: String) async throws {
    let path = "/tmp/tribune-\(UInt32.random(in: .min ... .max))"
    try #require(unsafe mkfifo(path, 0o600) == 0)
    defer { _ = unsafe unlink(path) }
    // The leader's child ignores the signal, and holds the pipe open while it lives.
    let child = try Self.start(
      "sh -c 'trap \"\" TERM; exec 3>\(path) \(output); echo ready >&3; exec sleep 1000' & wait")
    let member = try #require(FileHandle(forReadingAtPath: path))
    #expect(try member.read(upToCount: 6) == Data("ready\n".utf8))
    child.send(signal: SIGTERM)
    #expect(await child.ended().termination == .killed(signal: SIGTERM))
    var ended = pollfd(fd: member.fileDescriptor, events: Int16(POLLIN), revents: 0)
    #expect(unsafe poll(&ended, 1, 30_000) == 1)
    #expect(ended.revents & Int16(POLLHUP) != 0)
  }

  @Test("the shell's status is the exit status, or 128 and the signal")
  func statuses() async throws {
    for status: Int32 in [0, 1, 2, 126, 255] {
      let ending = try await Self.start("exit \(status)").ended()
      #expect(ending.termination.shellStatus == status)
    }
    #expect(try await Self.start("kill -TERM $$").ended().termination.shellStatus == 128 + SIGTERM)
  }

  @Test("variables are added to those of this process")
  func environment() async throws {
    let entries = Environment.entries(setting: [("TRIBUNE_NAME", "a b=c"), ("TRIBUNE_OBJECT", "")])
    let ending = try await Self.start(
      "printf %s \"$TRIBUNE_NAME|$TRIBUNE_OBJECT|$PATH\"", environment: entries
    ).ended()
    let path = try #require(Environment.value(of: "PATH"))
    #expect(ending.output == Array("a b=c||\(path)".utf8))
  }

  @Test("no descriptor is left behind")
  func descriptors() async {
    // Other tests open descriptors in this process.
    await #expect(processExitsWith: .success) {
      let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
      for _ in 0..<20 { _ = try await Self.start("exit 0").ended() }
      let after = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
      #expect(after < before + 20)
    }
  }
}
