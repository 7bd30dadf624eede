// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// A session's queued frames, and the counts of its notifications and control frames (`OutboundQueue`).
struct Output: ~Copyable {
  /// An arrow names the states that may follow.
  enum Writing {
    /// → full, stalled, closed
    case open
    /// → open, stalled, closed
    case full
    /// The bus sends again when the client or its user's other clients have received files, or the host has
    /// memory. The kernel does not report when this state ends, so a timeout retries. → open, full, closed
    case stalled
    /// The socket can no longer be written. Input that the client sent before can still be read. Final.
    case closed

    func mayBecome(_ next: Writing) -> Bool { self != .closed && self != next }
  }

  /// An arrow names the states that may follow.
  enum Flush {
    /// → scheduled, deferred
    case none
    /// The queue is sent when the bus next queues a frame for this client, other than `concluded`, or after a
    /// millisecond. → scheduled, none
    case deferred
    /// The queue is sent when the iteration ends. → none
    case scheduled

    func mayBecome(_ next: Flush) -> Bool {
      switch (self, next) {
      case (.none, .deferred), (.none, .scheduled), (.deferred, .none), (.deferred, .scheduled): true
      case (.scheduled, .none): true
      case (.none, .none), (.deferred, .deferred), (.scheduled, .deferred), (.scheduled, .scheduled): false
      }
    }
  }

  /// The posters whose posts the fast path of plain posts (`Router`) may queue for this connection.
  enum Acceptance {
    case nothing
    case everything
    /// Only posts of posters that the client knows: the `Introducer` must first introduce others.
    case knownPosters
  }

  private(set) var acceptance = Acceptance.everything
  var isOn = true {
    didSet { updateAcceptance() }
  }
  var acceptsFiles = false
  private(set) var wantsPosters = false
  var knownPosters = SlotSet()
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
  var backlog = Backlog()
  /// How many further notifications the queue may take; 0 or less while the backlog is not empty.
  private(set) var room = Int.max
  /// The limit in the client's last `room` frame, which is not the property `room`. After a restart of the
  /// bus, nil until the client sends the limit again. Used only if `flags` contains `limited`.
  private var limit: UInt32?
  var chargedByteCount = 0
  /// True if the bus does not read from the client, because the user exceeds its share of unread bytes.
  var holdsInput = false
  var questionSpace = QuestionSpace()
  /// Files sent since the client last read everything. The count is charged to the user.
  var unreadFiles = (count: 0, byteCount: 0, isExamined: false)
  var sentByteCount: UInt64 = 0
  /// The bus sends questions that wait for their turns (`QuestionTurns`) when the client has read this many
  /// bytes in total (compare `sentByteCount`). The bus also sends them when the queue is empty, and the
  /// client has read everything.
  var awaitedByteCount: UInt64 = 0
  var isReadCheckScheduled = false
  /// True if the session is in `Sender.snapshotsDue`.
  var isSnapshotDue = false
  var isRetryScheduled = false

  /// Notifications ever queued or reported as lost, without those in `bufferedBefore`. Wraps around.
  var queuedCount: UInt32 = 0
  /// The number of control frames ever queued. They count only if the connection is in the log.
  var controlCount: UInt32 = 0
  /// How many notifications were buffered, and were then queued or reported as lost. The log's `buffered`
  /// counter still includes them: moving them to `queued` would take two writes to memory, and the bus could
  /// die between these.
  var bufferedBefore: UInt32 = 0
  var flags: SessionFlags = []
  /// The value of `endOfQueue` after the last notification of a poster that waits without limit (`isPatient`)
  /// was queued; nil if there was none.
  private var patientEnd: UInt32?

  @inline(__always) var accepts: Bool {
    switch acceptance {
    case .nothing: false
    case .everything, .knownPosters: true
    }
  }

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

  // MARK: Room

  /// True if the kernel takes no more bytes now, or notifications wait in the backlog.
  var isHeld: Bool { isBlocked || !backlog.isEmpty }

  var isEmpty: Bool { queue.isEmpty && backlog.isEmpty }
  var byteCount: Int { queue.byteCount + (backlog.isEmpty ? 0 : backlog.byteCount) }
  /// Excludes snapshots, because the bus keeps their notifications anyway.
  var unreadByteCount: Int { queue.byteCount + (backlog.isEmpty ? 0 : backlog.queuedByteCount) }
  var lostCount: UInt64 { queue.lostCount + backlog.lostCount }
  var unreportedLostCount: UInt64 { queue.unreportedLostCount + backlog.unreportedLostCount }
  var unsentNotificationCount: UInt64 { queue.unsentNotificationCount + backlog.notificationCount }

  /// True if the client, as a poster, waits for slow observers without a time limit. False while
  /// notifications for the client itself wait in its backlog. The bus reads no `room` frames from a paused
  /// poster, so two posters with backlogs could wait for each other forever.
  var isPatient: Bool { flags.pace == .max && backlog.isEmpty }

  /// The number of notifications ever queued, or reported as lost. It wraps around: only differences matter.
  private var endOfQueue: UInt32 { queuedCount &+ bufferedBefore }

  /// True if a notification of a patient poster is still unsent. The bus then drops new notifications of
  /// other posters instead of the oldest queued ones.
  var holdsForPatient: Bool {
    guard let patientEnd else { return false }
    let unsent = UInt32(truncatingIfNeeded: unsentNotificationCount)
    let left = patientEnd &- (endOfQueue &- unsent)
    return left > 0 && left <= unsent
  }

  /// Must be called after a patient poster's notification was queued.
  mutating func notePatient() { patientEnd = endOfQueue }

  @inline(__always) mutating func takeRoom(_ count: Int) { room &-= count }

  /// - Parameter limit: nil if the client must send it again.
  mutating func setLimit(_ limit: UInt32?) {
    self.limit = limit
    updateRoom()
  }

  /// Must be called after each change of the backlog, and after a change of `endOfQueue` without `takeRoom`.
  mutating func updateRoom() { room = backlog.isEmpty ? grantedRoom : 0 }

  /// Moves frames from the backlog into the queue: as many as the client's limit allows, and at most up to
  /// the next snapshot. Returns the moved control frames.
  mutating func refill() -> [ByteSlice] {
    guard !backlog.isEmpty else { return [] }
    var room = grantedRoom
    let controlFrames = backlog.moveOldest(to: &queue, within: &room)
    updateRoom()
    return controlFrames
  }

  /// How many further notifications the client's limit allows in the queue.
  var grantedRoom: Int {
    guard flags.contains(.limited) else { return .max }
    guard let limit else { return 0 }
    let end = endOfQueue &- UInt32(truncatingIfNeeded: backlog.notificationCount)
    return Int(Int32(bitPattern: limit &- end))
  }

  /// Restores a part of the queue or of the backlog. If the client had a limit, all whole notifications wait
  /// in the backlog until the client sends its limit again.
  mutating func restore(_ part: WaitingFrames) throws(WireError) {
    let isOrdered =
      switch part.kind {
      case .notifications: part.partialCount == 0
      case .lost: !backlog.isEmpty
      case .others: !backlog.isEmpty && part.slice.bytes.isIntroduction
      }
    if isOrdered, flags.contains(.limited) {
      try backlog.changeLast { queue throws(WireError) in try queue.restore(part) }
    } else {
      try queue.restore(part)
    }
    updateRoom()
  }

  /// Drops the oldest notifications until at most `target` bytes are left.
  mutating func dropOldest(downTo target: Int, dropsSnapshots: Bool = false) -> UInt64 {
    let waiting = dropsSnapshots ? byteCount - queue.byteCount : unreadByteCount - queue.byteCount
    // While the kernel takes bytes, the queue will be sent soon, so only the backlog loses notifications.
    var dropped = isBlocked ? queue.dropOldest(downTo: max(0, target - waiting)) : 0
    if !backlog.isEmpty {
      dropped += backlog.dropOldest(downTo: max(0, target - queue.byteCount), dropsSnapshots: dropsSnapshots)
    }
    return dropped
  }
}
