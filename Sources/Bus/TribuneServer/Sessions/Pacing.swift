// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// Flow control of one session: of the notifications that it observes, and of those that it posts.
struct Pacing {
  enum Flow {
    /// → pacing, lossy
    case flowing
    /// The queue has passed the high mark. Until this time, the bus does not read from the posters that feed it, so that
    /// it can catch up. → flowing, lossy
    case pacing(until: Instant)
    /// The observer did not catch up, or no poster could wait for it: its oldest notifications are dropped. → flowing
    ///
    /// - lostBefore: how many notifications it had lost before.
    /// - isAnnounced: whether that was announced, and its end will be.
    case lossy(lostBefore: UInt64, isAnnounced: Bool)

    func mayBecome(_ next: Flow) -> Bool {
      switch (self, next) {
      case (.flowing, .pacing), (.flowing, .lossy), (.pacing, .flowing), (.pacing, .lossy): true
      case (.lossy, .flowing): true
      case (.flowing, .flowing), (.pacing, .pacing), (.lossy, .pacing), (.lossy, .lossy): false
      }
    }
  }

  var flow = Flow.flowing {
    didSet { precondition(oldValue.mayBecome(flow), "the flow cannot go from \(oldValue) to \(flow)") }
  }
  /// The posters from which the bus does not read because of this observer.
  var pausedPosters: [Session] = []
  /// How many slow observers this poster waits for.
  var pauseCount = 0
  /// When it was paused, and when it was lossy.
  var pauses = TimesCount()
  var lossyTimes = TimesCount()

  var isPaused: Bool { pauseCount > 0 }
  var isFlowing: Bool { if case .flowing = flow { true } else { false } }
  var isPacing: Bool { if case .pacing = flow { true } else { false } }
  var isLossy: Bool { if case .lossy = flow { true } else { false } }
}
