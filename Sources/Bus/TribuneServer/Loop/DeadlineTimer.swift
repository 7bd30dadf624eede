// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import TribuneCore

/// One Dispatch timer for the earliest of many deadlines. It wakes the event loop.
///
/// The timer changes only for an earlier deadline. If a query is decided before its deadline, the timer stays
/// unchanged, and later fires once without effect. So most queries never touch the timer. Each loop iteration
/// schedules the next deadline.
package final class DeadlineTimer {
  private let source = DispatchSource.makeTimerSource(queue: .main)
  package private(set) var due: Instant?

  package init() {
    source.setEventHandler { [weak self] in
      // `due` is nil if an iteration has just cleared it. If it is a later deadline, the timer must be set again.
      if let self, let due { set(due) }
    }
    source.activate()
  }

  package func clear() { due = nil }

  package func schedule(_ due: Instant?) {
    guard let due else { return }
    if let earliest = self.due, earliest <= due { return }
    self.due = due
    set(due)
  }

  private func set(_ due: Instant) {
    source.schedule(deadline: DispatchTime(uptimeNanoseconds: due.nanoseconds), leeway: .milliseconds(1))
  }
}
