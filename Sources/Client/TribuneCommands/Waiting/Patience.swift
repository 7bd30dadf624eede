// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune

struct Patience: Sendable {
  /// How long to wait; nil without a limit.
  let span: Duration?
  let end: ContinuousClock.Instant?
  /// The longest pause between questions if only delegates and other hosts veto. The end of such a veto is
  /// not always announced.
  let pause: Duration
  /// The shortest pause. Without it, a question that itself causes a change would be asked in a busy loop.
  let pauseMin: Duration
  /// How long after `end` this process still waits for the first verdict, and for earlier replies of the bus.
  let grace: Duration
  static let pauseDefault = Duration.seconds(30)
  let departures: Departures
  let time: Time

  /// The clock, which tests replace.
  struct Time: Sendable {
    var now: @Sendable () -> ContinuousClock.Instant = { .now }
    var rest: @Sendable (_ end: ContinuousClock.Instant) async -> Void = {
      await sleep(ContinuousClock.now.duration(to: $0))
    }
  }

  init(
    span: Duration? = nil, pause: Duration = pauseDefault, pauseMin: Duration = .seconds(1),
    grace: Duration = .seconds(5), departures: Departures = Departures(), time: Time = Time()
  ) {
    self.span = span
    end = span.map { time.now().advanced(by: $0) }
    (self.pause, self.pauseMin, self.grace) = (pause, pauseMin, grace)
    (self.departures, self.time) = (departures, time)
  }

  func fromNow() -> Patience {
    Patience(
      span: span, pause: pause, pauseMin: pauseMin, grace: grace, departures: departures, time: time)
  }

  var left: Duration? { end.map { max(.zero, time.now().duration(to: $0)) } }

  func bound(_ limit: Duration) -> Duration { left.map { min(limit, $0 + grace) } ?? limit }

  /// Asks until the action is allowed, or until the time is over.
  ///
  /// - Parameters:
  ///   - changes: signals changes that may end vetoes, also while `ask` runs.
  ///   - ask: asks once. `isFirst` is true before the first verdict. Returns nil while the bus is gone.
  ///     `changes` then signals the bus's return. Must throw after the end of `changes`.
  ///   - show: called with each verdict that is a veto.
  /// - Returns: the last verdict.
  func verdict(
    _ changes: ChangeSignal,
    ask: @escaping @Sendable (_ isFirst: Bool) async throws(TribuneError) -> Verdict?,
    show: (Verdict) async -> Void
  ) async throws(TribuneError) -> Verdict {
    var verdict = try await firstVerdict(changes, ask)
    while !verdict.isAllowed {
      await show(verdict)
      guard let end else {
        verdict = try await next(changes, after: verdict, ask)
        continue
      }
      let last = verdict
      let result = await first(
        of: { () async -> Result<Verdict, TribuneError>? in
          do throws(TribuneError) {
            return .success(try await next(changes, after: last, ask))
          } catch {
            return .failure(error)
          }
        },
        { () async -> Result<Verdict, TribuneError>? in
          await time.rest(end)
          return nil
        })
      switch result {
      case let next??: verdict = try next.get()
      case .some(nil): return verdict
      case nil: throw TribuneError(.cancelled, "interrupted")
      }
    }
    return verdict
  }

  private func firstVerdict(
    _ changes: ChangeSignal, _ ask: @escaping @Sendable (Bool) async throws(TribuneError) -> Verdict?
  ) async throws(TribuneError) -> Verdict {
    guard let end, let left else { return try await next(changes, after: nil, ask) }
    let first = { @Sendable () async throws(TribuneError) -> Verdict in
      try await next(changes, after: nil, ask)
    }
    return try await bounded(by: left + grace, sleep: { _ in await time.rest(end + grace) }, first)
  }

  private func next(
    _ changes: ChangeSignal, after last: Verdict?, _ ask: (Bool) async throws(TribuneError) -> Verdict?
  ) async throws(TribuneError) -> Verdict {
    if let last {
      let earliest = time.now().advanced(by: pauseMin)
      await wait(changes, retrying: last.mayEndUnannounced)
      await time.rest(max(earliest, departures.end ?? earliest))
    }
    while true {
      guard !Task.isCancelled else { throw TribuneError(.cancelled, "interrupted") }
      let start = time.now()
      guard let verdict = try await ask(last == nil) else {
        await changes.wait()
        continue
      }
      departures.take(verdict, askedAt: start, at: time.now())
      guard verdict.isAllowed, let end = departures.end else { return verdict }
      await time.rest(end)
    }
  }

  private func wait(_ changes: ChangeSignal, retrying retries: Bool) async {
    let retry = Task {
      guard retries else { return }
      await time.rest(time.now() + pause)
      if !Task.isCancelled { changes.signal() }
    }
    await changes.wait()
    retry.cancel()
  }
}

/// Signals changes. Several pending signals become one.
final class ChangeSignal: Sendable {
  private let changes: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let isPending = Atomic(false)

  init() {
    (changes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  var isSignalled: Bool { isPending.load(ordering: .acquiring) }

  func signal() {
    isPending.store(true, ordering: .releasing)
    continuation.yield()
  }

  func end() { continuation.finish() }

  /// Waits for a change, which may already be pending. Also returns after `end()`, or if the task is
  /// cancelled. After a cancellation, `wait()` must not be called again.
  func wait() async {
    for await _ in changes {
      isPending.store(false, ordering: .releasing)
      return
    }
  }
}
