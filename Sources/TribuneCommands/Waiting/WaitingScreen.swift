// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneSystem

/// Shows on the terminal of the standard error who is being waited for, and takes it away again.
final class WaitingScreen: Sendable {
  /// What is over sooner is not shown at all.
  private static let delay = Duration.milliseconds(250)
  private static let interval = Duration.seconds(1)

  private let terminal: Terminal
  private let display = Mutex(WaitingDisplay())

  init(on terminal: Terminal) { self.terminal = terminal }

  /// Takes note of what has happened; what the screen shows of it follows. Never waits.
  func take(_ progress: Progress) {
    display.withLock { display in
      switch progress.stage {
      case .asked: display.asked(progress.delegate, who: progress.who, at: Self.now)
      case .deferred:
        display.deferred(progress.delegate, who: progress.who, status: progress.status, at: Self.now)
      case .settled: display.settled(progress.delegate)
      }
    }
  }

  /// Shows it, anew each second, for as long as a work takes.
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
      let columns = terminal.errorColumns
      terminal.prompt(lines.replace(with: display.withLock { $0.lines(at: Self.now, columns: columns) }))
      await sleep(Self.interval)
    }
    terminal.prompt(lines.replace(with: []))
  }

  private static var now: Duration { .nanoseconds(Int64(clamping: SystemClock.monotonicNanoseconds)) }
}

extension Progress {
  /// The delegate's label or process, and what tells it apart.
  var who: String {
    delegateInWords(delegate, label: label, process: process, pid: pid, uid: uid, unit: unit)
  }
}
