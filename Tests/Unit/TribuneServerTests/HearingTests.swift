// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneSystem
import TribuneWire

@testable import TribuneServer

@MainActor
@Suite("A query's deadline", .timeLimit(.minutes(15)))
struct HearingTests {
  private let clock = SteppingClock()
  private let bus: SteppedBus
  private let asker: SteppedBus.Client
  private let delegate: SteppedBus.Client

  init() throws {
    bus = try SteppedBus(clock)
    (asker, delegate) = (try bus.client(), try bus.client())
    try delegate.send(Attach(failurePolicy: .abstain, patterns: ["load.*"]), serial: 1)
    try bus.pass(delegate)
  }

  private func ask(_ names: String..., deadline: UInt32 = 1) throws {
    let frames = ByteBuffer(capacity: 256)
    for (index, name) in names.enumerated() {
      frames.appendFrame(Ask(deadline: deadline), serial: Serial(1 + index), name: name)
    }
    try asker.send(frames)
    try bus.pass(asker)
  }

  private func veto(by delegate: UInt64 = 1, behind count: Int = 0) throws {
    let frames = ByteBuffer(capacity: 4096)
    for serial in 0..<Serial(count) { frames.appendFrame(Suspend(isSuspended: false), serial: 100 + serial) }
    let answer = Answer(query: QueryID(rawValue: 1), delegate: DelegateID(rawValue: delegate), answer: .veto)
    frames.appendFrame(answer, serial: 0)
    try self.delegate.send(frames)
  }

  private func passDeadline() {
    let due = bus.server.context.now.advanced(byMilliseconds: 1)
    while SystemClock.monotonicNanoseconds < due.nanoseconds {}
  }

  private func verdicts() throws -> [VerdictKind] {
    try asker.frames(of: .verdict, Verdict.self).map(\.verdict)
  }

  @Test("comes after an answer that was sent earlier")
  func answered() throws {
    try ask("load.shouldStop")
    try veto()
    passDeadline()
    try bus.pass()
    #expect(try verdicts() == [.vetoed])
  }

  @Test("is not the delegate's own time, which also ends after an answer that was sent earlier")
  func ownTime() throws {
    try delegate.send(
      Attach(failurePolicy: .abstain, timeout: 1, patterns: ["store.*"]), serial: 2)
    try bus.pass(delegate)
    try ask("store.shouldStop", deadline: 3_600_000)
    try veto(by: 2)
    passDeadline()
    try bus.pass()
    #expect(try verdicts() == [.vetoed])
  }

  @Test("comes after an answer that was sent without a bus")
  func restart() throws {
    try ask("load.shouldStop")
    try veto()
    passDeadline()
    try bus.successor().pass()
    #expect(try verdicts() == [.vetoed])
  }

  @Test("comes after an observer's acknowledgement that was sent earlier")
  func done() throws {
    let observer = try bus.client()
    try observer.send(Observe(options: .awaited), serial: 1, name: "load.didStop")
    try bus.pass(observer)
    try asker.send(Post(options: .awaited, deadline: 1), serial: 7, name: "load.didStop")
    try bus.pass(asker)
    try observer.send(Done(poster: asker.id, post: 7), serial: 2)
    passDeadline()
    try bus.pass()
    #expect(try asker.frames(of: .awaited, Awaited.self).map(\.acknowledged) == [1])
  }

  @Test("waits until there was time to read up to the answer")
  func deferred() throws {
    try ask("load.shouldStop")
    clock.step = TimeShares.iterationNanosecondsMax
    try veto(behind: 20)
    passDeadline()
    var iterationCount = 0
    var verdicts: [VerdictKind] = []
    while verdicts.isEmpty {
      try bus.pass()
      iterationCount += 1
      verdicts = try self.verdicts()
    }
    #expect(verdicts == [.vetoed] && iterationCount > 10)
  }

  @Test("waits for a delegate that is not read because its observers pause it")
  func paused() throws {
    try ask("load.shouldStop")
    try veto()
    let session = try bus.session(of: delegate)
    session.pacing.pauseCount += 1
    passDeadline()
    try bus.pass()
    #expect(try verdicts() == [])
    session.pacing.pauseCount -= 1
    repeat { try bus.pass() } while bus.server.bus.value.queryCount > 0
    #expect(try verdicts() == [.vetoed])
  }

  @Test("does not wait for ever for a delegate that always sends more")
  func bounded() throws {
    try ask("load.shouldStop")
    clock.step = TimeShares.iterationNanosecondsMax
    try veto(behind: 20)
    try bus.session(of: delegate).input.roundCount = DueTimeouts.roundsMax
    passDeadline()
    try bus.pass()
    let verdicts = try verdicts()
    #expect(verdicts == [.allowed])
  }

  @Test("still waits for the delegate if the bus dies, and settles other delegates")
  func killed() throws {
    try asker.send(Attach(patterns: ["store.*"]), serial: 9)
    try bus.pass(asker)
    try ask("load.shouldStop", "store.shouldStop")
    clock.step = TimeShares.iterationNanosecondsMax
    try veto(behind: 20)
    passDeadline()
    try bus.pass()
    #expect(bus.server.bus.value.queryCount == 1)
    #expect(try bus.successor().server.bus.value.queryCount == 1)
    #expect(try verdicts() == [.vetoed])
  }
}
