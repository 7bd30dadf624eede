// SPDX-License-Identifier: Apache-2.0

import TribuneService

/// One timer for all open questions, because most of them end long before their time.
nonisolated struct Alarm {
  private var set: (due: ContinuousClock.Instant, task: Task<Void, Never>)?

  /// Sets the timer, unless it has an earlier time. `sound` must begin with `stop()`.
  mutating func set(for due: ContinuousClock.Instant, _ sound: @escaping @Sendable () -> Void) {
    if let set, set.due <= due { return }
    set?.task.cancel()
    let task = Task {
      await rest(for: max(.milliseconds(1), due - .now))
      if !Task.isCancelled { sound() }
    }
    set = (due, task)
  }

  mutating func stop() { set = nil }
}
