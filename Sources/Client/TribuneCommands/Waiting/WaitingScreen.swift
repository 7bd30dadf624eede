// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneSystem

/// Shows the delegates that a query waits for on standard error, which must be a terminal, and erases them in the end.
final class WaitingScreen: Sendable {
  /// A query that ends sooner shows nothing.
  private static let delay = Duration.milliseconds(250)
  private static let interval = Duration.seconds(1)

  private let terminal: Terminal
  private let display = Mutex(WaitingDisplay())

  init(on terminal: Terminal) { self.terminal = terminal }

  /// Records an event, which the next refresh shows. Never waits.
  func take(_ progress: Progress) {
    display.withLock { display in
      switch progress.stage {
      case .asked: display.asked(progress.delegate, participant: progress.participant, at: Self.now)
      case .deferred:
        display.deferred(
          progress.delegate, participant: progress.participant, status: progress.status, at: Self.now)
      case .settled: display.settled(progress.delegate)
      }
    }
  }

  /// Runs `work`, and refreshes the screen every second meanwhile.
  func whileWaiting<Result: Sendable>(
    for work: () async throws(TribuneError) -> Result
  ) async throws(TribuneError) -> Result {
    let showing = Task { await show() }
    let result: Swift.Result<Result, TribuneError>
    do throws(TribuneError) {
      result = .success(try await work())
    } catch {
      result = .failure(error)
    }
    showing.cancel()
    await showing.value
    return try result.get()
  }

  private func show() async {
    var lines = ReplaceableLines()
    await sleep(Self.delay)
    while !Task.isCancelled {
      let columns = StandardError.columns ?? 80
      terminal.prompt(lines.replace(with: display.withLock { $0.lines(at: Self.now, columns: columns) }))
      await sleep(Self.interval)
    }
    terminal.prompt(lines.replace(with: []))
  }

  private static var now: Duration { .nanoseconds(Int64(clamping: SystemClock.monotonicNanoseconds)) }
}

extension Progress {
  /// The delegate's label or process, and its identity.
  var participant: String {
    delegateText(delegate, label: label, process: process, pid: pid, uid: uid, units: units)
  }
}
