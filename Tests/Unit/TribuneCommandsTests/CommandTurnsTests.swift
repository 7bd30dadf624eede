// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune
import TribuneSystem

@testable import TribuneCommands

@Suite("Turns of commands", .timeLimit(.minutes(15)))
struct CommandTurnsTests {
  private static let own: UInt32 = 0

  private static func turns(total: Int = 64, waitingMax: Int = 1_000, byteCountMax: Int = 100) -> CommandTurns
  {
    CommandTurns(
      total: total, waitingMax: waitingMax, byteCountMax: byteCountMax, isPrivileged: { $0 == own })
  }

  private func ask(_ count: Int, of user: UInt32, from first: Int, _ turns: inout CommandTurns) -> Int {
    (first..<first + count).count { turns.ask($0, of: user, byteCount: 0) == .start }
  }

  @Test(
    "each user has its share of what the others leave; the program's own user has all of it",
    arguments: [
      ([(1, 100)], [32]), ([(own, 100)], [64]), ([(1, 1), (2, 100)], [1, 21]),
      ([(1, 100), (2, 100)], [32, 10]), ([(1, 100), (own, 100)], [32, 32]),
      (
        [(1, 100), (2, 100), (3, 100), (4, 100), (5, 100), (6, 100), (7, 100), (8, 100)],
        [32, 10, 5, 3, 2, 1, 1, 1]
      ),
      ([(1, 100), (2, 100), (3, 100), (own, 100), (4, 100)], [32, 10, 5, 17, 0]),
      ([(1, 3), (2, 3), (3, 3), (4, 100)], [3, 3, 3, 11]),
    ] as [([(UInt32, Int)], [Int])])
  func shares(asked: [(user: UInt32, count: Int)], started: [Int]) {
    var turns = Self.turns()
    let counts = asked.enumerated().map { ask($1.count, of: $1.user, from: 1_000 * $0, &turns) }
    #expect(counts == started)
  }

  @Test("with as many users as commands, each has one")
  func manyUsers() {
    var turns = Self.turns()
    #expect((1...100).count { ask(1, of: $0, from: Int($0), &turns) == 1 } == 64)
    #expect(turns.end(of: 7, byteCount: 0) == [65])
  }

  @Test("an owed command waits after others of its user, and is not refused")
  func owed() {
    var turns = Self.turns(total: 1, waitingMax: 1)
    #expect(turns.ask(1, of: 1, byteCount: 200) == .start)
    #expect(turns.ask(2, of: 1, byteCount: 0, isOwed: true) == .wait)
    #expect(turns.ask(3, of: 1, byteCount: 0, isOwed: true) == .wait)
    #expect(turns.ask(4, of: 1, byteCount: 0) == .refuse(waiting: 2))
    #expect(turns.end(of: 1, byteCount: 200) == [2])
  }

  @Test("a user starts no further command while it has more than its share of the rest")
  func shrunk() {
    var turns = Self.turns(total: 8)
    #expect(ask(6, of: 1, from: 0, &turns) == 4)
    #expect(ask(6, of: 2, from: 10, &turns) == 1)
    #expect(turns.end(of: 1, byteCount: 0) == [])
    #expect(turns.end(of: 1, byteCount: 0) == [11])
    #expect(turns.end(of: 1, byteCount: 0) == [4])
  }

  @Test("a question waits for earlier ones of its user, and users take turns")
  func order() {
    var turns = Self.turns(total: 4)
    #expect(ask(4, of: Self.own, from: 0, &turns) == 4)
    #expect(ask(3, of: 1, from: 10, &turns) == 0)
    #expect(ask(3, of: 2, from: 20, &turns) == 0)
    #expect(ask(1, of: Self.own, from: 30, &turns) == 0)
    #expect((0..<4).map { _ in turns.end(of: Self.own, byteCount: 0) } == [[10], [20], [30], []])
    #expect(turns.end(of: 2, byteCount: 0) == [21])
    #expect(turns.end(of: 1, byteCount: 0) == [11])
    #expect(turns.end(of: 1, byteCount: 0) == [12])
    #expect(turns.end(of: 2, byteCount: 0) == [22])
  }

  @Test("a user has a limit of waiting questions, and of their bytes, which a single question may exceed")
  func limits() {
    var turns = Self.turns(total: 2, waitingMax: 3)
    #expect(turns.ask(0, of: 1, byteCount: 1_000) == .start)
    #expect(turns.ask(1, of: 1, byteCount: 1) == .refuseLong)
    #expect(turns.end(of: 1, byteCount: 1_000) == [])
    #expect(turns.ask(2, of: 1, byteCount: 50) == .start)
    #expect(turns.ask(3, of: 1, byteCount: 30) == .wait)
    #expect(turns.ask(4, of: 1, byteCount: 21) == .refuseLong)
    #expect(turns.ask(5, of: 1, byteCount: 20) == .wait)
    #expect(turns.ask(6, of: 1, byteCount: 0) == .wait)
    #expect(turns.ask(7, of: 1, byteCount: 0) == .refuse(waiting: 3))
    #expect(turns.end(of: 1, byteCount: 50) == [3])
    turns.leave(5, of: 1)
    #expect(turns.ask(8, of: 1, byteCount: 70) == .wait)
    #expect(turns.ask(9, of: Self.own, byteCount: 1_000) == .start)
  }

  @Test("a withdrawn question is not started, and a started one stays")
  func leaving() {
    var turns = Self.turns(total: 2)
    #expect(ask(4, of: 1, from: 0, &turns) == 1)
    turns.leave(1, of: 1)
    turns.leave(0, of: 1)
    turns.leave(9, of: 9)
    #expect(turns.end(of: 1, byteCount: 0) == [2])
    turns.leave(3, of: 1)
    #expect(turns.end(of: 1, byteCount: 0) == [])
    #expect(ask(1, of: 2, from: 10, &turns) == 1)
  }
}

@Suite("Commands of several users", .timeLimit(.minutes(15)))
struct CommandRunnerTests {
  private static let (greedy, other): (UInt32, UInt32) = (1_001, 1_002)
  private static let endless = ["sh", "-c", "exec sleep 3600"].map { Array($0.utf8) }
  private static let refusing = ["sh", "-c", "echo \"not $TRIBUNE_ASKER_UID\"; exit 1"].map { Array($0.utf8) }

  private let runner: CommandRunner

  init() throws {
    runner = CommandRunner(in: try makeContext(["list", "--quiet"]), isPrivileged: { _ in false })
  }

  private func answer(_ user: UInt32, by command: [[UInt8]]) async -> Answer {
    await runner.answer(Question("a.b", asker: Asker(uid: user)), by: command)
  }

  @Test(
    "a user who asks without end leaves commands to another, and has a limit of waiting questions"
  )
  func flood() async {
    await withTaskGroup(of: Answer.self) { group in
      for _ in 0..<(32 + 256 + 1) { group.addTask { await answer(Self.greedy, by: Self.endless) } }
      #expect(
        await group.next() == .failed("256 questions of user 1001 wait for commands, which is the limit"))
      for _ in 0..<3 { #expect(await answer(Self.other, by: Self.refusing) == .veto("not 1002")) }
      await runner.stop()
      var answers: [Answer] = []
      for await answer in group { answers.append(answer) }
      #expect(answers.count { $0 == .failed("the delegate is shutting down") } == 256)
      #expect(answers.count { $0.isKilled } == 32)
    }
  }

  @Test("questions without a command at once get one in their turns")
  func waiting() async {
    await withTaskGroup(of: Answer.self) { group in
      for _ in 0..<200 { group.addTask { await answer(Self.greedy, by: Self.refusing) } }
      for await answer in group { #expect(answer == .veto("not 1001")) }
    }
  }

  @Test("a withdrawn question no longer waits, and gives up its turn")
  func withdrawn() async throws {
    let started = Pipe()
    let path = "/proc/\(ThisProcess.id)/fd/\(started.fileHandleForWriting.fileDescriptor)"
    let command = ["sh", "-c", "echo >\(path); exec sleep 3600"].map { Array($0.utf8) }
    let running = (0..<32).map { _ in Task { await answer(Self.greedy, by: command) } }
    // Waiting here would block a thread that the starting tasks need.
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        _ = started.fileHandleForReading.readData(ofLength: running.count)
        continuation.resume()
      }
    }
    await withTaskGroup(of: Answer.self) { group in
      for _ in 0..<257 { group.addTask { await answer(Self.greedy, by: command) } }
      #expect(
        await group.next() == .failed("256 questions of user 1001 wait for commands, which is the limit"))
      group.cancelAll()
      for await answer in group { #expect(answer == .failed("the question was withdrawn")) }
    }
    running[0].cancel()
    #expect(await running[0].value.isKilled)
    #expect(await answer(Self.greedy, by: Self.refusing) == .veto("not 1001"))
    await runner.stop()
    for task in running { #expect(await task.value.isKilled) }
  }
}

extension Answer {
  fileprivate var isKilled: Bool {
    self == .failed("was killed by signal 15") || self == .failed("was killed by signal 9")
  }
}
