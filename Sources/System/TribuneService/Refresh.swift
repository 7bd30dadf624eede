// SPDX-License-Identifier: Apache-2.0

/// A job that runs on request, one run at a time. A run serves all requests that came before the run began. A
/// pause between runs limits the cost. A failed run is repeated after a longer pause.
@MainActor package final class Refresh {
  private static let pause = Duration.milliseconds(50)
  private static let retryPauses = [Duration.seconds(1), .seconds(2), .seconds(5)]

  private let work: @MainActor () async -> Bool
  private var isWanted = false
  private var failureCount = 0
  private var task: Task<Void, Never>?
  private var retry: Task<Void, Never>?

  package init(_ work: @escaping @MainActor () async -> Bool) { self.work = work }

  package func request() {
    isWanted = true
    retry?.cancel()
    if task == nil {
      task = Task {
        while isWanted {
          isWanted = false
          failureCount = await work() ? 0 : failureCount + 1
          if isWanted { await rest(for: Self.pause) }
        }
        task = nil
        if failureCount > 0 { scheduleRetry() }
      }
    }
  }

  package func finish() async { await task?.value }

  package func finish(within limit: Duration) async {
    let (ends, end) = AsyncStream<Void>.makeStream()
    Task {
      await finish()
      end.finish()
    }
    let timer = Task {
      await rest(for: limit)
      end.finish()
    }
    for await _ in ends {}
    timer.cancel()
  }

  private func scheduleRetry() {
    let pause = Self.retryPauses[min(failureCount, Self.retryPauses.count) - 1]
    retry = Task {
      await rest(for: pause)
      if !Task.isCancelled { request() }
    }
  }
}
