// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// Flow control of one session's observed and posted notifications.
struct Pacing {
  enum Flow {
    /// → pacing, lossy
    case flowing
    /// The queue has passed the high mark. Until this time, the bus does not read from the posters that feed
    /// it. → flowing, lossy
    case pacing(until: Instant)
    /// The observer did not catch up, or no poster could wait: its oldest notifications are dropped. →
    /// flowing
    ///
    /// - lostBefore: its total losses before this state.
    /// - isAnnounced: true if the start was announced; the end will be.
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
  /// Posters that the bus does not read from because of this observer.
  var pausedPosters: [Session] = []
  /// Slow observers that this poster waits for.
  var pauseCount = 0
  var pauses = TimesCount()
  var lossyTimes = TimesCount()

  var isPaused: Bool { pauseCount > 0 }
  var isFlowing: Bool { if case .flowing = flow { true } else { false } }
  var isPacing: Bool { if case .pacing = flow { true } else { false } }
  var isLossy: Bool { if case .lossy = flow { true } else { false } }
}
