// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneService

@Suite("Work on demand", .timeLimit(.minutes(15)))
@MainActor
struct RefreshTests {
  @MainActor private final class Runs {
    private(set) var count = 0
    private var waiting: CheckedContinuation<Bool, Never>?
    private var beginning: CheckedContinuation<Void, Never>?

    func run() async -> Bool {
      #expect(waiting == nil)
      count += 1
      return await withCheckedContinuation {
        waiting = $0
        beginning?.resume()
        beginning = nil
      }
    }

    func next() async {
      if waiting == nil { await withCheckedContinuation { beginning = $0 } }
    }

    func end(succeeding succeeds: Bool = true) {
      waiting?.resume(returning: succeeds)
      waiting = nil
    }
  }

  @Test("Requests during a run cause one further run, and no two runs overlap")
  func coalescing() async {
    let runs = Runs()
    let refresh = Refresh { await runs.run() }
    refresh.request()
    await runs.next()
    for _ in 0..<10 { refresh.request() }
    runs.end()
    await runs.next()
    runs.end()
    await refresh.finish()
    #expect(runs.count == 2)
    refresh.request()
    await runs.next()
    runs.end()
    await refresh.finish()
    #expect(runs.count == 3)
  }

  @Test("A wait can end before the work does, and ends with the work at the latest")
  func bounded() async {
    let runs = Runs()
    let refresh = Refresh { await runs.run() }
    refresh.request()
    await runs.next()
    await refresh.finish(within: .milliseconds(1))
    runs.end()
    await refresh.finish(within: .seconds(3600))
    #expect(runs.count == 1)
    await refresh.finish(within: .seconds(3600))
  }

  @Test("Failed work is repeated without a request")
  func failure() async {
    let runs = Runs()
    let refresh = Refresh { await runs.run() }
    refresh.request()
    await runs.next()
    runs.end(succeeding: false)
    await runs.next()
    runs.end()
    await refresh.finish()
    #expect(runs.count == 2)
  }
}
