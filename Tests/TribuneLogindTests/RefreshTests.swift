// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneLogind

@Suite("Work on demand", .timeLimit(.minutes(15)))
@MainActor
struct RefreshTests {
  /// A run that is under way until it is ended.
  @MainActor private final class Runs {
    private(set) var count = 0
    private var waiting: CheckedContinuation<Void, Never>?

    func run() async {
      #expect(waiting == nil)
      count += 1
      await withCheckedContinuation { waiting = $0 }
    }

    func end() {
      waiting?.resume()
      waiting = nil
    }
  }

  @Test("Requests during a run are one further run, and no two runs overlap")
  func coalescing() async {
    let runs = Runs()
    let refresh = Refresh { await runs.run() }
    refresh.request()
    while runs.count == 0 { await Task.yield() }
    for _ in 0..<10 { refresh.request() }
    runs.end()
    while runs.count == 1 { await Task.yield() }
    runs.end()
    await refresh.finish()
    #expect(runs.count == 2)
    refresh.request()
    while runs.count == 2 { await Task.yield() }
    runs.end()
    await refresh.finish()
    #expect(runs.count == 3)
  }
}
