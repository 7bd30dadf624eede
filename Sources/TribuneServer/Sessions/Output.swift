// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// What waits for a session to be read by its client.
struct Output: ~Copyable {
  enum Writing {
    /// The kernel takes what there is. → full, fullOfFiles, closed
    case open
    /// The kernel took no more. → open, fullOfFiles, closed
    case full
    /// The client has to take files before it is sent another one. → open, full, closed
    case fullOfFiles
    /// Nothing can be written any more. What the client had sent before can still be read. Final.
    case closed
  }

  enum Flush {
    /// → scheduled, deferred
    case none
    /// With what comes next, or in a millisecond. → scheduled, none
    case deferred
    /// When the iteration ends. → none
    case scheduled
  }

  /// The session's frames are taken, and others are queued for it.
  var isServed = true
  /// Its hello said that it takes userInfo as a file.
  var takesFiles = false
  var writing = Writing.open
  var flush = Flush.none
  var queue = OutboundQueue()
  /// Bytes of the files that it was sent since it had last taken everything.
  var passedByteCount = 0
  /// A timeout is scheduled that will look whether it has taken files.
  var isWatchedForSpaceToPass = false

  /// Notifications and control frames that were queued, ever; control frames only where the log counts them.
  var queuedCount: UInt32 = 0
  var controlCount: UInt32 = 0
  /// Notifications that were buffered, and are queued or reported as lost by now. They stay counted where they were: each
  /// counter is a store of its own, and none may be true only together with another.
  var bufferedBefore: UInt32 = 0
  /// What the counter slot says of the session.
  var flags: SessionFlags = []

  /// Frames can be queued.
  @inline(__always) var accepts: Bool { isServed && writing != .closed }

  /// What is queued has to wait.
  var isBlocked: Bool { writing == .full || writing == .fullOfFiles }
}
