// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneSystem

/// Shows on a terminal (standard error) the delegates that a query waits for. Erases them at the end.
final class WaitingScreen: Sendable {
  /// A query that ends within this time is not shown.
  private static let delay = Duration.milliseconds(250)
  private static let interval = Duration.seconds(1)

  private let terminal: Terminal
  private let display = Mutex(WaitingDisplay())

  init(on terminal: Terminal) { self.terminal = terminal }

  /// Takes progress, which the next refresh shows. Never waits.
  func take(_ progress: Progress) {
    display.withLock { display in
      switch progress.stage {
      case .asked: display.asked(progress.delegate, participant: progress.participant, at: Self.now)
      case .deferred:
        display.deferred(
          progress.delegate, participant: progress.participant, status: progress.status, at: Self.now)
      case .settled: display.remove(progress.delegate)
      }
    }
  }

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
  var participant: String {
    delegateText(delegate, label: label, process: process, pid: pid, uid: uid, units: units)
  }
}

struct WaitingDisplay: Sendable {
  static let delegatesMax = 8

  private struct Row: Sendable {
    var delegate: UInt64
    var participant: String
    var since: Duration
    var status: String
  }

  private var rows: [Row] = []

  mutating func asked(_ delegate: UInt64, participant: String, at now: Duration) {
    deferred(delegate, participant: participant, status: nil, at: now)
  }

  /// If `status` is nil, the previous status stays.
  mutating func deferred(_ delegate: UInt64, participant: String, status: String?, at now: Duration) {
    if let place = rows.firstIndex(where: { $0.delegate == delegate }) {
      if let status { rows[place].status = status }
    } else {
      rows.append(Row(delegate: delegate, participant: participant, since: now, status: status ?? ""))
    }
  }

  mutating func remove(_ delegate: UInt64) {
    rows.removeAll { $0.delegate == delegate }
  }

  func lines(at now: Duration, columns: Int) -> [String] {
    var lines = rows.prefix(Self.delegatesMax).map { row in
      let waited = Duration.seconds(max(.zero, now - row.since).components.seconds)
      return "waiting for \(row.participant), \(waited == .zero ? "0s" : waited.formatted)"
        + row.status.terminalSafe.afterColon
    }
    if rows.count > lines.count { lines.append("and \(rows.count - lines.count) more") }
    return lines.map { $0.cut(toColumns: columns) }
  }
}

/// The last lines on the terminal, which are rewritten in place.
struct ReplaceableLines: Sendable {
  private var shown = 0

  /// Returns the text that replaces the lines; empty if there are neither old nor new lines. Before and after
  /// this text, the cursor is at the start of a line.
  mutating func replace(with lines: [String]) -> String {
    if shown == 0, lines.isEmpty { return "" }
    let back = shown == 0 ? "" : "\u{1B}[\(shown)A\r\u{1B}[J"
    shown = lines.count
    return back + lines.map { $0 + "\n" }.joined()
  }
}
