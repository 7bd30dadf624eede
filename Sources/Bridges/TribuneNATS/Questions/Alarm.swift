// SPDX-License-Identifier: Apache-2.0

import TribuneService

/// A single timer for all open questions. A timer for each question would cost more, and would rarely fire.
nonisolated struct Alarm {
  private var set: (due: ContinuousClock.Instant, task: Task<Void, Never>)?

  /// Sets the timer, unless it is set for an earlier time. `sound` must first call `stop()`.
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
