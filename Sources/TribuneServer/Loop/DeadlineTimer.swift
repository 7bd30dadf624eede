// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import TribuneCore

/// One Dispatch timer for the earliest of many deadlines.
///
/// It is set only when something is due before what it is set for already. Deadlines that are met leave
/// it alone, so that most queries never touch it; it then fires once for nothing, and is set for what is
/// next, if there is anything.
///
/// Each iteration asks for what is next. Nothing refers to the timer weakly: what is referred to so is counted by two
/// calls into the runtime's slow part each time that it is used.
package final class DeadlineTimer {
  private let source = DispatchSource.makeTimerSource(queue: .main)
  private let armed: Armed

  /// When it goes off.
  private final class Armed {
    var due: Instant?
    let fired: @MainActor () -> Void

    init(_ fired: @escaping @MainActor () -> Void) { self.fired = fired }

    func fire() {
      due = nil
      fired()
    }
  }

  /// - Parameter fired: called on the main queue when the time has come.
  package init(_ fired: @escaping @MainActor () -> Void) {
    let armed = Armed(fired)
    self.armed = armed
    source.setEventHandler { armed.fire() }
    source.activate()
  }

  /// When it goes off; nil when it is not set.
  package var due: Instant? { armed.due }

  /// Goes off now, as it does by itself where the process's main thread does the main queue's work.
  package func fire() { armed.fire() }

  package func schedule(_ due: Instant?) {
    guard let due else { return }
    if let armed = armed.due, armed <= due { return }
    armed.due = due
    source.schedule(deadline: DispatchTime(uptimeNanoseconds: due.nanoseconds), leeway: .milliseconds(1))
  }
}
