// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// The frames that are queued for a session's client, and the counts of its notifications and control frames.
struct Output: ~Copyable {
  enum Writing {
    /// The kernel takes everything that is sent. → full, stalled, closed
    case open
    /// The kernel took no more. → open, stalled, closed
    case full
    /// The client, or others of its user, have to take files before it is sent another one, or the host lacks memory. No
    /// event says when more can be sent, so a timeout has it tried again. → open, full, closed
    case stalled
    /// Nothing can be written any more. What the client had sent before can still be read. Final.
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
    /// Notifications of posters that the client knows. It is told of others first.
    case knownPosters
  }

  private(set) var acceptance = Acceptance.everything
  /// Whether the session's state permits frames to be queued for it.
  var isOn = true {
    didSet { updateAcceptance() }
  }
  /// Whether the hello said that the client accepts userInfo as a file.
  var acceptsFiles = false
  /// Whether the hello said that the client wants to know who posts.
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
  /// Whether nothing is read from the client because its user has more unread bytes than its share.
  var holdsInput = false
  /// How much of the queue is for the questions of each user.
  var questionSpace = QuestionSpace()
  /// The files that were sent since the client had last read everything. Their number is charged to the user.
  var unreadFiles = (count: 0, byteCount: 0, isExamined: false)
  /// Bytes that the kernel has taken.
  var sentByteCount: UInt64 = 0
  /// What `sentByteCount` will be when all is sent that was queued when questions began to wait for its reading.
  var awaitedByteCount: UInt64 = 0
  /// Whether a timeout is scheduled that looks whether the client has read.
  var isReadCheckScheduled = false
  /// Whether a timeout is scheduled that tries again to send.
  var isRetryScheduled = false

  /// All notifications and control frames that were ever queued. Control frames count only if the log counts them.
  var queuedCount: UInt32 = 0
  var controlCount: UInt32 = 0
  /// Notifications that were buffered, and are now queued or reported as lost. The log's counter of buffered ones still
  /// includes them: each counter is stored separately, so none may depend on another one.
  var bufferedBefore: UInt32 = 0
  /// The flags in the session's counter slot.
  var flags: SessionFlags = []

  /// Whether frames can be queued.
  @inline(__always) var accepts: Bool {
    switch acceptance {
    case .nothing: false
    case .everything, .knownPosters: true
    }
  }

  /// Whether a poster's notifications are queued without a further look.
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

  /// Whether queued frames must wait.
  var isBlocked: Bool { writing == .full || writing == .stalled }
}
