// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// Flow control of one session's observed and posted notifications.
struct Pacing {
  enum Flow {
    /// → pacing, lossy
    case flowing
    /// The queue has passed the high mark. The bus does not read from its posters. → flowing, lossy
    ///
    /// - isOver: the time of posters that did not ask for more is over. Their posts are lost, while patient ones wait.
    case pacing(since: Instant, isOver: Bool)
    /// The oldest notifications are dropped. → flowing
    ///
    /// - lostBefore: its total losses before this state.
    /// - isAnnounced: the start was announced; the end will be.
    case lossy(lostBefore: UInt64, isAnnounced: Bool)

    func mayBecome(_ next: Flow) -> Bool {
      switch (self, next) {
      case (.flowing, .pacing), (.flowing, .lossy), (.pacing, .flowing), (.pacing, .lossy): true
      case (.lossy, .flowing), (.pacing, .pacing(_, isOver: true)): true
      case (.flowing, .flowing), (.pacing, .pacing), (.lossy, .pacing), (.lossy, .lossy): false
      }
    }
  }

  var flow = Flow.flowing {
    didSet { precondition(oldValue.mayBecome(flow), "the flow cannot go from \(oldValue) to \(flow)") }
  }
  var pausedPosters: [Session] = []
  var pauseCount = 0
  var pauses = TimesCount()
  var lossyTimes = TimesCount()

  var isPaused: Bool { pauseCount > 0 }
  var isFlowing: Bool { if case .flowing = flow { true } else { false } }
  var isPacing: Bool { if case .pacing = flow { true } else { false } }
  var isLossy: Bool { if case .lossy = flow { true } else { false } }
}
