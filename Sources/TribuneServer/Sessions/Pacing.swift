// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// How a session keeps up with what it observes, and who waits for whom meanwhile.
struct Pacing {
  enum Flow {
    /// → pacing, lossy
    case flowing
    /// Past the high mark: until then, the posters that feed it are not read, so that it can catch up. → flowing, lossy
    case pacing(until: Instant)
    /// It did not catch up, or nobody could wait for it: its oldest notifications are dropped. It had lost so many before. → flowing
    ///
    /// - isTold: whether others were told, and hear when that ends.
    case lossy(lostBefore: UInt64, isTold: Bool)
  }

  var flow = Flow.flowing
  /// The posters that are not read because of this observer.
  var pausedPosters: [Session] = []
  /// How many slow observers wait for this poster not to be read.
  var pauseCount = 0

  var isPaused: Bool { pauseCount > 0 }
  var isFlowing: Bool { if case .flowing = flow { true } else { false } }
  var isPacing: Bool { if case .pacing = flow { true } else { false } }
  var isLossy: Bool { if case .lossy = flow { true } else { false } }
}
