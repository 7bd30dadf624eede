// SPDX-License-Identifier: Apache-2.0

import Tribune

/// How long to wait while a question is vetoed.
struct Patience: Sendable {
  /// Nil for ever.
  var span: Duration?
  /// When to ask again if only failures are in the way. Nobody announces that a failure is over.
  var pause = Duration.seconds(30)
  /// From a verdict to the next question, at least: changes that follow the question itself must not make a loop.
  var pauseMin = Duration.milliseconds(250)

  /// Asks until the verdict is that the action is allowed, or until the time is over.
  ///
  /// - Parameters:
  ///   - changes: signals what may have ended a veto. What is signalled while `ask` runs counts.
  ///   - ask: nil if there is no verdict because the bus went away, whose return is signalled. It throws if nothing will
  ///     be signalled any more.
  ///   - show: called with each verdict that is a veto.
  /// - Returns: the last verdict.
  func verdict(
    _ changes: ChangeSignal, ask: @escaping @Sendable () async throws(TribuneError) -> Verdict?,
    show: (Verdict) async -> Void
  ) async throws(TribuneError) -> Verdict {
    let end = span.map { ContinuousClock.now.advanced(by: $0) }
    var verdict = try await next(changes, after: nil, ask)
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
          await sleep(ContinuousClock.now.duration(to: end))
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

  /// Asks once there is a reason to.
  private func next(
    _ changes: ChangeSignal, after last: Verdict?, _ ask: () async throws(TribuneError) -> Verdict?
  ) async throws(TribuneError) -> Verdict {
    if let last {
      let earliest = ContinuousClock.now.advanced(by: pauseMin)
      await wait(changes, retrying: last.isDueToFailures)
      await sleep(ContinuousClock.now.duration(to: earliest))
    }
    while true {
      guard !Task.isCancelled else { throw TribuneError(.cancelled, "interrupted") }
      if let verdict = try await ask() { return verdict }
      await changes.wait()
    }
  }

  private func wait(_ changes: ChangeSignal, retrying retries: Bool) async {
    let retry = Task {
      guard retries else { return }
      await sleep(pause)
      if !Task.isCancelled { changes.note() }
    }
    await changes.wait()
    retry.cancel()
  }
}
