// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// One client's socket, what has been read from it and not yet understood, and what waits to be written.
///
/// An idle connection holds no buffer: whole frames are taken where they were read, and only the partial
/// frame at the end of a read is kept.
final class Connection {
  enum Phase {
    /// Its hello has not come yet.
    case awaitingHello
    case open
    /// It has been told why, and is closed once it has read that, or at the latest when its time is over.
    case closing
    case closed
  }

  /// Whether it keeps up with what it observes.
  enum Flow {
    case flowing
    /// Past the high mark: the posters that feed it are not read, so that it can catch up.
    case pacing
    /// It did not catch up: its oldest notifications are dropped.
    case lossy
  }

  /// What every read, every write and every notification goes through (see `Cell`).
  struct Traffic: ~Copyable {
    /// Its frames are still taken, and others queued for it.
    var isServed = true
    /// Nothing can be written any more; what it had sent before can still be read.
    var isWriteClosed = false
    /// Its hello said that it takes userInfo as a file.
    var takesFiles = false
    /// Something was queued in this iteration, and is to be sent at its end.
    var needsFlush = false
    /// The kernel took no more, or is to get no more for now.
    var isBlocked = false
    /// Notifications that were queued, ever; and other frames, since this daemon has it.
    var queuedCount: UInt32 = 0
    var controlCount: UInt32 = 0
    /// Notifications that were held for it, and are queued or told as lost by now. They stay counted where they were: each
    /// word of a cell is a store of its own, and none of them may be true only together with another.
    var bufferedBefore: UInt32 = 0
    /// What waits for it to be read.
    var queue = OutboundQueue()
    /// Descriptors that came before the rest of their frames.
    var descriptors = PassedDescriptors()
    /// What the state says of it.
    var sessionFlags: SessionFlags = []
  }

  let id: ConnectionID
  let slot: ConnectionSlot
  let descriptor: FileDescriptor
  let peer: PeerIdentity
  let connected: Instant
  /// What the kernel calls its socket.
  var cookie: UInt64 = 0
  /// What its frames may have, as its welcome says.
  let limits: FrameLimits

  var phase = Phase.awaitingHello { didSet { updateIsServed() } }
  let traffic = Cell(Traffic())
  var queue: OutboundQueue {
    @inline(__always) _read { yield traffic.value.queue }
    @inline(__always) _modify { yield &traffic.value.queue }
  }
  var isWriteClosed: Bool {
    get { traffic.value.isWriteClosed }
    set { traffic.value.isWriteClosed = newValue }
  }
  var takesFiles: Bool {
    get { traffic.value.takesFiles }
    set { traffic.value.takesFiles = newValue }
  }
  var needsFlush: Bool {
    get { traffic.value.needsFlush }
    set { traffic.value.needsFlush = newValue }
  }
  var isBlocked: Bool {
    get { traffic.value.isBlocked }
    set { traffic.value.isBlocked = newValue }
  }
  var flow = Flow.flowing
  /// When it has had its time to catch up, while it is paced.
  var pacedUntil = Instant(nanoseconds: 0)
  /// Notifications that it had lost when it last became lossy.
  var lostBefore: UInt64 = 0
  /// Whether others were told that it is lossy, and are told when it is so no more.
  var isLossTold = false

  /// Whole frames that were read and not taken yet, because the iteration had lasted long enough.
  var deferredInput: ByteBuffer?
  /// Where they begin.
  var deferredStart = 0
  /// The start of a frame whose rest has not come yet. Of a long frame, with room for all of it.
  var partial: ByteBuffer?
  /// Bytes of `partial` that count against the limit for unfinished frames.
  var partialReserved = 0
  /// When the first bytes of a partial frame came.
  var partialSince = Instant(nanoseconds: 0)
  /// A timeout is queued that will look at `partialSince`.
  var isWatchedForProgress = false

  var descriptors: PassedDescriptors {
    @inline(__always) _read { yield traffic.value.descriptors }
    @inline(__always) _modify { yield &traffic.value.descriptors }
  }
  /// How many of them the bus has counted.
  var descriptorsCounted = 0
  /// Bytes of the files that it was sent since it had last taken everything.
  var passedByteCount = 0
  /// It is to take some of those before it is sent another one.
  var isFullOfFiles = false
  /// A timeout is queued that will look whether it has.
  var isWatchedForRoomToPass = false

  /// Something was queued that is sent with what comes next, or a little later.
  var isFlushDeferred = false
  /// How many slow observers wait for this poster not to be read.
  var pauseCount = 0
  /// The posters that are not read because of this observer.
  var pausedPosters: [Connection] = []
  var postedCount: UInt64 = 0
  /// Where the state speaks of it, and of the frames that have registered what it has; nil where it does not.
  var position: EntryPosition?
  var suspendPosition: EntryPosition?
  var registered: [Serial: EntryPosition] = [:]
  /// The service manager has a copy of its socket.
  var isStored = false
  /// It ended with a daemon that died, and keeps what it had registered until it has connected again. Its socket is
  /// shut.
  var isDetached = false
  /// Why it is to be closed at the end of the iteration.
  var pendingClose: WireError? { didSet { updateIsServed() } }

  init(
    id: ConnectionID, slot: ConnectionSlot, descriptor: consuming FileDescriptor, peer: PeerIdentity,
    connected: Instant, limits: FrameLimits
  ) {
    self.id = id
    self.slot = slot
    self.descriptor = descriptor
    self.peer = peer
    self.connected = connected
    self.limits = limits
  }

  var token: WatchToken {
    .connection(slot: slot.index, generation: UInt32(truncatingIfNeeded: id.rawValue))
  }

  /// Whether its frames are still taken, and others queued for it.
  var isServed: Bool { traffic.value.isServed }

  private func updateIsServed() {
    traffic.value.isServed = pendingClose == nil && (phase == .open || phase == .awaitingHello)
  }

  var isPaused: Bool { pauseCount > 0 }

  /// What the event loop watches it for.
  var interest: Readiness {
    var interest: Readiness = []
    if !isPaused, phase != .closing { interest.insert(.readable) }
    // A socket can be written to however many files wait in it.
    if isBlocked, !isFullOfFiles { interest.insert(.writable) }
    return interest
  }

  /// The journal's fields about it.
  var journalFields: Log.Fields {
    ["TRIBUNE_CONNECTION": "\(id)", "TRIBUNE_PID": "\(peer.pid)", "TRIBUNE_UNIT": peer.unit]
  }

  /// The journal's fields about it, and another one.
  func journalFields(_ name: StaticString, _ value: String) -> Log.Fields {
    ["TRIBUNE_CONNECTION": "\(id)", "TRIBUNE_PID": "\(peer.pid)", "TRIBUNE_UNIT": peer.unit, name: value]
  }
}
