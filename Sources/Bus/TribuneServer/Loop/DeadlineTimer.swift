// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import TribuneCore

/// One Dispatch timer for the earliest of many deadlines. It wakes the event loop.
///
/// Each loop iteration passes the next deadline to `schedule`, which sets the timer only if `due` is nil or
/// later. If a query is decided before its deadline, the timer stays set, and fires once without effect.
/// Until the timer fires, queries with later deadlines do not change it.
package final class DeadlineTimer {
  private let source = DispatchSource.makeTimerSource(queue: .main)
  package private(set) var due: Instant?

  package init() {
    source.setEventHandler { [weak self] in
      // An iteration can have handled this deadline, and scheduled a later one. The timer must then fire
      // again.
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
