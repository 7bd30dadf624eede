// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import TribuneCore

/// One Dispatch timer for the earliest of many deadlines. It wakes the event loop.
///
/// The timer changes only for an earlier deadline. A deadline that is met leaves it unchanged, so most
/// queries never touch it; it then fires once without effect. Each loop iteration schedules the next
/// deadline.
package final class DeadlineTimer {
  private let source = DispatchSource.makeTimerSource(queue: .main)
  package private(set) var due: Instant?

  package init() {
    source.setEventHandler { [weak self] in
      // `due` is nil if an iteration has just cleared it. A later deadline needs the timer again.
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
