// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// Flow control of one session, as an observer and as a poster.
struct Pacing {
  /// An arrow names the states that may follow.
  enum Flow {
    /// → pacing, lossy
    case flowing
    /// The unread bytes have passed the high mark. The bus does not read from the session's posters. →
    /// flowing, lossy
    ///
    /// - isOver: true if the state continues after `PaceMaxSec=`: posters with a longer `pace` still wait, or
    ///   notifications of patient posters are unsent. The observer then loses new posts of all other posters.
    case pacing(since: Instant, isOver: Bool)
    /// The bus drops the oldest notifications. → flowing
    ///
    /// - lostBefore: the session's total losses before this state.
    /// - isAnnounced: true if the bus announced the start of this state. If so, it also announces the end.
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
  /// When the bus next checks the posters that wait for this observer; nil if no check is scheduled.
  var nextCheck: Instant?
  var pauseCount = 0
  var pauses = TimesCount()
  var lossyTimes = TimesCount()

  var isPaused: Bool { pauseCount > 0 }
  var isFlowing: Bool { if case .flowing = flow { true } else { false } }
  var isPacing: Bool { if case .pacing = flow { true } else { false } }
  var isLossy: Bool { if case .lossy = flow { true } else { false } }
}
