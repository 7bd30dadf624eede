// SPDX-License-Identifier: Apache-2.0

/// Repeats a piece of work on demand: one run serves all requests that came before it, and no two runs overlap. A pause
/// follows each run, so that many requests cost little.
package final class Refresh {
  private static let pause = Duration.milliseconds(10)

  private let work: @MainActor () async -> Void
  private var isWanted = false
  private var task: Task<Void, Never>?

  package init(_ work: @escaping @MainActor () async -> Void) { self.work = work }

  package func request() {
    isWanted = true
    if task == nil {
      task = Task {
        while isWanted {
          isWanted = false
          await work()
          if isWanted { await Self.rest() }
        }
        task = nil
      }
    }
  }

  /// Returns when everything that was requested is done.
  package func finish() async { await task?.value }

  private static func rest() async {
    do {
      try await Task.sleep(for: pause)
    } catch {
      // Whoever cancels wants no pause.
      return
    }
  }
}
