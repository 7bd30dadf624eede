// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import TribuneCore

/// One Dispatch timer for the earliest of many deadlines.
///
/// The timer is set only when a deadline is earlier than the one it is set for. A deadline that is met does not
/// change the timer, so most queries never touch it. The timer then fires once without effect, and is set for the
/// next deadline, if there is one.
///
/// Each loop iteration schedules the next deadline. Nothing refers to the timer weakly, because each use of a weak
/// reference costs two calls into the slow path of the runtime's reference counting.
package final class DeadlineTimer {
  private let source = DispatchSource.makeTimerSource(queue: .main)
  private let armed: Armed

  /// When the timer fires.
  private final class Armed {
    var due: Instant?
    let fired: @MainActor () -> Void

    init(_ fired: @escaping @MainActor () -> Void) { self.fired = fired }

    func fire() {
      due = nil
      fired()
    }
  }

  /// - Parameter fired: called on the main queue when the deadline has come.
  package init(_ fired: @escaping @MainActor () -> Void) {
    let armed = Armed(fired)
    self.armed = armed
    source.setEventHandler { armed.fire() }
    source.activate()
  }

  /// When the timer fires; nil if it is not set.
  package var due: Instant? { armed.due }

  /// Fires now, as the timer does by itself if the process's main thread serves the main queue.
  package func fire() { armed.fire() }

  package func schedule(_ due: Instant?) {
    guard let due else { return }
    if let armed = armed.due, armed <= due { return }
    armed.due = due
    source.schedule(deadline: DispatchTime(uptimeNanoseconds: due.nanoseconds), leeway: .milliseconds(1))
  }
}
