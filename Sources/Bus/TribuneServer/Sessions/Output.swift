// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// A session's queued frames, and the counts of its notifications and control frames.
struct Output: ~Copyable {
  enum Writing {
    /// The kernel takes everything. → full, stalled, closed
    case open
    /// The kernel took no more. → open, stalled, closed
    case full
    /// The client or its user must take files first, or the host lacks memory. No event signals the end, so a
    /// timeout retries. → open, full, closed
    case stalled
    /// Writing is impossible; earlier input can still be read. Final.
    case closed

    func mayBecome(_ next: Writing) -> Bool { self != .closed && self != next }
  }

  enum Flush {
    /// → scheduled, deferred
    case none
    /// Sent with the next frame, or after a millisecond. → scheduled, none
    case deferred
    /// Sent when the iteration ends. → none
    case scheduled

    func mayBecome(_ next: Flush) -> Bool {
      switch (self, next) {
      case (.none, .deferred), (.none, .scheduled), (.deferred, .none), (.deferred, .scheduled): true
      case (.scheduled, .none): true
      case (.none, .none), (.deferred, .deferred), (.scheduled, .deferred), (.scheduled, .scheduled): false
      }
    }
  }

  /// Fast-path filter for posts.
  enum Acceptance {
    case nothing
    case everything
    /// Notifications of posters that the client knows. Others are introduced first.
    case knownPosters
  }

  private(set) var acceptance = Acceptance.everything
  /// True if the session's state permits queueing.
  var isOn = true {
    didSet { updateAcceptance() }
  }
  /// The client's hello accepts userInfo as a file.
  var acceptsFiles = false
  /// The client's hello asks for the posters' identities.
  private(set) var wantsPosters = false
  /// Posters already introduced, by slot.
  var knownPosters = SlotSet()
  /// Last departed poster introduced.
  var lastGonePoster = ConnectionID.bus
  var writing = Writing.open {
    didSet {
      precondition(oldValue.mayBecome(writing), "writing cannot go from \(oldValue) to \(writing)")
      updateAcceptance()
    }
  }
  var flush = Flush.none {
    didSet { precondition(oldValue.mayBecome(flush), "a flush cannot go from \(oldValue) to \(flush)") }
  }
  var queue = OutboundQueue()
  /// The bytes of the queue that are charged to the user.
  var chargedByteCount = 0
  /// The bus does not read from the client, because its user's unread bytes exceed their share.
  var holdsInput = false
  /// Each user's share of the queue for questions.
  var questionSpace = QuestionSpace()
  /// Files sent since the client last read everything. Their number is charged to the user.
  var unreadFiles = (count: 0, byteCount: 0, isExamined: false)
  var sentByteCount: UInt64 = 0
  /// The value of `sentByteCount` at which waiting questions continue.
  var awaitedByteCount: UInt64 = 0
  /// A timeout that checks for the client's reading is scheduled.
  var isReadCheckScheduled = false
  /// A timeout that retries sending is scheduled.
  var isRetryScheduled = false

  /// All notifications and control frames that were ever queued. Control frames count only if the log counts
  /// them.
  var queuedCount: UInt32 = 0
  var controlCount: UInt32 = 0
  /// Notifications that were buffered, and are now queued or reported as lost. The log's counter of buffered
  /// ones still includes them: each counter is stored separately, so none may depend on another.
  var bufferedBefore: UInt32 = 0
  /// The flags in the session's counter slot.
  var flags: SessionFlags = []

  @inline(__always) var accepts: Bool {
    switch acceptance {
    case .nothing: false
    case .everything, .knownPosters: true
    }
  }

  /// True if a poster's notifications are queued without further checks.
  @inline(__always) func accepts(from poster: ConnectionSlot) -> Bool {
    switch acceptance {
    case .everything: true
    case .knownPosters: knownPosters.contains(poster)
    case .nothing: false
    }
  }

  mutating func wantPosters() {
    wantsPosters = true
    updateAcceptance()
  }

  private mutating func updateAcceptance() {
    acceptance = !isOn || writing == .closed ? .nothing : wantsPosters ? .knownPosters : .everything
  }

  var isBlocked: Bool { writing == .full || writing == .stalled }
}
