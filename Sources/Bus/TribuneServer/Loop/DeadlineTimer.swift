// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import TribuneCore

/// One Dispatch timer for the earliest of many deadlines. It wakes the event loop, whose next iteration begins with what
/// is due.
///
/// The timer is set only when a deadline is earlier than the one it is set for. A deadline that is met does not
/// change the timer, so most queries never touch it. The timer then fires once without effect, and is set for the
/// next deadline, if there is one.
///
/// Each loop iteration schedules the next deadline.
package final class DeadlineTimer {
  private let source = DispatchSource.makeTimerSource(queue: .main)
  /// The earliest deadline since `clear`.
  package private(set) var due: Instant?

  package init() {
    source.setEventHandler { [weak self] in
      // A deadline that an iteration has just cleared is nil here. One that is to come needs the timer again.
      if let self, let due { set(due) }
    }
    source.activate()
  }

  /// All deadlines until now are handled.
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
