// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import Tribune

@testable import TribuneCommands

@Suite("An asker that waits until it is allowed", .timeLimit(.minutes(15)))
struct PatienceTests {
  enum Ask: Equatable, Sendable {
    case allowed
    case vetoed
    case changing(Int)
    case failed
    case away
    case error
    case silent
    case busy
    /// Allowed without the delegate that vetoed; then an hour passes.
    case alone
  }

  private static func verdict(_ kind: Outcome.Kind, query: Int) -> Verdict {
    Verdict(
      kind == .approved ? .allowed : .vetoed, query: UInt64(query),
      outcomes: [Outcome(delegate: 1, kind: kind)])
  }

  /// Stands still until it is moved.
  private final class Clock: Sendable {
    private struct State {
      var now = ContinuousClock.now
      var sleepers: [(end: ContinuousClock.Instant, wakeup: AsyncStream<Void>.Continuation)] = []
    }

    private let state = Mutex(State())

    var time: Patience.Time {
      Patience.Time(now: { self.state.withLock { $0.now } }, rest: { await self.rest(until: $0) })
    }

    func moveOn(by span: Duration = .seconds(3600)) {
      state.withLock { state in
        state.now += span
        for sleeper in state.sleepers where sleeper.end <= state.now { sleeper.wakeup.finish() }
        state.sleepers.removeAll { $0.end <= state.now }
      }
    }

    private func rest(until end: ContinuousClock.Instant) async {
      let (wakeups, wakeup) = AsyncStream<Void>.makeStream()
      state.withLock { state in
        if end <= state.now { wakeup.finish() } else { state.sleepers.append((end, wakeup)) }
      }
      for await _ in wakeups {}
    }
  }

  private let clock = Clock()

  private func asked(
    _ asks: [Ask], _ patience: Patience, onVeto: @escaping @Sendable (ChangeSignal) -> Void = { _ in }
  ) async -> (count: Int, query: UInt64?) {
    let changes = ChangeSignal()
    let count = Mutex(0)
    do throws(TribuneError) {
      let verdict = try await patience.verdict(
        changes,
        ask: { isFirst async throws(TribuneError) -> Verdict? in
          let number = count.withLock { count in
            count += 1
            return count
          }
          #expect(isFirst == asks.prefix(number - 1).allSatisfy { $0 == .away })
          guard number <= asks.count else { throw TribuneError(.cancelled, "") }
          switch asks[number - 1] {
          case .allowed: return Self.verdict(.approved, query: number)
          case .vetoed: return Self.verdict(.held, query: number)
          case .failed: return Self.verdict(.timedOut, query: number)
          case .changing(let times):
            for _ in 0..<times { changes.signal() }
            return Self.verdict(.held, query: number)
          case .busy:
            changes.signal()
            return Self.verdict(.vetoed, query: number)
          case .alone:
            Task { clock.moveOn() }
            return Verdict(.allowed, query: UInt64(number))
          case .away:
            changes.signal()
            return nil
          case .error: throw TribuneError(.connectionLost, "")
          case .silent:
            clock.moveOn()
            let (answers, answer) = AsyncStream<Void>.makeStream()
            for await _ in answers {}
            withExtendedLifetime(answer) {}
            throw TribuneError(.cancelled, "")
          }
        },
        show: { _ in onVeto(changes) })
      return (count.withLock { $0 }, verdict.query)
    } catch {
      return (count.withLock { $0 }, nil)
    }
  }

  @Test(
    "It asks again after a change, even one during the last ask, and as soon as the bus is back",
    arguments: [
      ([.allowed], 1, 1), ([.changing(1), .allowed], 2, 2), ([.changing(1), .changing(1), .allowed], 3, 3),
      ([.away, .allowed], 2, 2), ([.changing(1), .away, .away, .allowed], 4, 4), ([.error], 1, nil),
      ([.changing(1), .error], 2, nil),
    ] as [([Ask], Int, UInt64?)])
  func changes(asks: [Ask], count: Int, query: UInt64?) async {
    let result = await asked(asks, Patience(pauseMin: .zero))
    #expect(result == (count, query))
  }

  @Test("A change after the verdict wakes it up")
  func late() async {
    let result = await asked([.vetoed, .vetoed, .allowed], Patience(pauseMin: .zero)) { changes in
      Task { changes.signal() }
    }
    #expect(result == (3, 3))
  }

  @Test("Several changes cause one new ask; without a further change, the last verdict stands")
  func several() async {
    let vetoCount = Atomic(0)
    let patience = Patience(span: .seconds(5), pause: .zero, pauseMin: .zero, time: clock.time)
    let result = await asked([.changing(5), .vetoed, .allowed], patience) { [clock] _ in
      if vetoCount.add(1, ordering: .relaxed).newValue == 2 { clock.moveOn() }
    }
    #expect(result == (2, 2))
  }

  @Test("Without a first verdict, it ends a little after the time; otherwise the last verdict stands")
  func silent() async {
    func patience() -> Patience { Patience(span: .seconds(5), pauseMin: .zero, time: clock.time) }
    #expect(await asked([.silent], patience()) == (1, nil))
    #expect(await asked([.away, .silent], patience()) == (2, nil))
    #expect(await asked([.changing(1), .silent], patience()) == (2, 1))
  }

  @Test("It is not allowed as long as a delegate that vetoed has time to return")
  func returning() async {
    let patience = Patience(pauseMin: .zero, time: clock.time)
    #expect(await asked([.busy, .alone, .alone], patience) == (3, 3))
    #expect(await asked([.busy, .alone, .busy, .allowed], patience) == (4, 4))
  }

  @Test("It does not ask as long as a delegate that left has time to return")
  func leaving() async {
    let departures = Departures()
    let patience = Patience(span: .seconds(3), pauseMin: .zero, departures: departures, time: clock.time)
    let result = await asked([.busy, .allowed], patience) { [clock] _ in
      departures.leaves(.init(id: 1), at: clock.time.now())
      Task { clock.moveOn(by: .seconds(4)) }
    }
    #expect(result == (1, 1))
  }

  @Test("It limits the wait for a bus")
  func bound() {
    #expect(Patience().bound(.seconds(30)) == .seconds(30))
    #expect(Patience(span: .seconds(60)).bound(.seconds(30)) == .seconds(30))
    #expect(Patience(span: .zero).bound(.seconds(30)) == .seconds(5))
    #expect(Patience(span: .zero).bound(.seconds(2)) == .seconds(2))
  }

  @Test("If all vetoes are failures, it asks again after a pause")
  func failures() async {
    let result = await asked(
      [.failed, .failed, .allowed], Patience(pause: .milliseconds(1), pauseMin: .zero))
    #expect(result == (3, 3))
    let patience = Patience(span: .seconds(5), pause: .seconds(7200), time: clock.time)
    let late = await asked([.failed, .allowed], patience) { [clock] _ in clock.moveOn() }
    #expect(late == (1, 1))
  }

  @Test(
    "Vetoes may end unannounced unless they are holds",
    arguments: [
      ([.timedOut], false, true), ([.gone, .failed, .approved], false, true),
      ([.vetoed, .timedOut], false, true), ([.vetoed, .held], false, false),
      ([.held, .failed], false, false), ([.vetoed], false, true), ([.abstained, .failed], true, true),
      ([.abstained], true, false), ([], true, false),
    ] as [([Outcome.Kind], Bool, Bool)])
  func due(kinds: [Outcome.Kind], isUnanswered: Bool, mayEndUnannounced: Bool) {
    let verdict = Verdict(
      .vetoed, query: 1, isUnanswered: isUnanswered,
      outcomes: kinds.enumerated().map { Outcome(delegate: UInt64($0) + 1, kind: $1) })
    #expect(verdict.mayEndUnannounced == mayEndUnannounced)
    let missing = Verdict(.vetoed, query: 1, outcomes: [Outcome(delegate: 0, label: "x", kind: .gone)])
    #expect(!missing.mayEndUnannounced)
  }

  @Test(
    "Another host's vetoes may also end unannounced",
    arguments: [
      ([("tribune-nats", .vetoed)], true),
      ([("tribune-nats", .vetoed), ("postgres", .failed), ("restore", .approved)], true),
      ([("tribune-nats", .vetoed), ("restore", .held)], false),
      ([("tribune-nats", .held)], true), ([], false),
    ] as [([(String, Outcome.Kind)], Bool)])
  func otherHosts(outcomes: [(String, Outcome.Kind)], mayEndUnannounced: Bool) {
    let verdict = Verdict(
      .vetoed, query: 1,
      outcomes: outcomes.enumerated().map { Outcome(delegate: UInt64($0) + 1, kind: $1.1, process: $1.0) })
    #expect(verdict.mayEndUnannounced == mayEndUnannounced)
  }

  @Test("A change is remembered until a wait for it")
  func signalled() async {
    let changes = ChangeSignal()
    #expect(!changes.isSignalled)
    for _ in 1...2 { changes.signal() }
    #expect(changes.isSignalled)
    await changes.wait()
    #expect(!changes.isSignalled)
  }

  @Test("When its task is cancelled, it ends")
  func cancelled() async {
    let (vetoes, veto) = AsyncStream<Void>.makeStream()
    let task = Task {
      await asked([.vetoed, .allowed], Patience(span: .seconds(3600))) { _ in veto.yield() }
    }
    for await _ in vetoes { break }
    task.cancel()
    #expect(await task.value.query == nil)
  }
}
