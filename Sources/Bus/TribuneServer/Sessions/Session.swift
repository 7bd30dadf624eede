// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribunePolicy
import TribuneSystem
import TribuneWire

/// The daemon's end of one client's connection.
///
/// An idle session holds no buffer, except one for a partial frame.
final class Session {
  /// An arrow names the states that may follow.
  enum State {
    /// → open, ending, dismissing, closed
    case awaitingHello
    /// → ending, dismissing, closed
    case open
    /// The bus will dismiss the session at the end of the iteration. → dismissing, closed
    case ending(isGreeted: Bool)
    /// The session has left the bus, and the bus is queueing the reason. → closing
    case dismissing(isGreeted: Bool)
    /// The bus waits until the kernel has taken the reason, or for a timeout. → closed
    case closing
    /// Final.
    case closed

    func mayBecome(_ next: State) -> Bool {
      switch (self, next) {
      case (.awaitingHello, .open), (.awaitingHello, .ending), (.open, .ending): true
      case (.awaitingHello, .dismissing), (.open, .dismissing), (.ending, .dismissing): true
      case (.dismissing, .closing): true
      case (.awaitingHello, .closed), (.open, .closed), (.ending, .closed), (.closing, .closed): true
      case (_, .awaitingHello), (_, .open), (_, .ending), (_, .dismissing), (_, .closing), (_, .closed): false
      }
    }
  }

  let id: ConnectionID
  let slot: ConnectionSlot
  let peer: PeerIdentity
  let subject: Subject
  let user: User
  let account: UserAccount
  let connected: Instant
  let cookie: UInt64
  let limits: FrameLimits
  /// Varlink-only state; nil for other clients.
  let varlink: VarlinkState?
  /// True if `varlink` is set. Unlike `varlink`, this property is read without a retain and release.
  let speaksVarlink: Bool

  var state: State {
    didSet {
      precondition(oldValue.mayBecome(state), "a session cannot go from \(oldValue) to \(state)")
      output.isOn = isServed || isDismissing
    }
  }
  private let socket: Cell<FileDescriptor?>
  private let inputCell = Cell(Input())
  let outputCell = Cell(Output())
  private let pacingCell = Cell(Pacing())
  private let positionsCell = Cell(LogPositions())
  /// The traffic under this daemon. Only `countedTraffic()` updates the delivered and lost notifications.
  var traffic = TrafficCounts()
  /// The traffic under earlier daemons.
  private(set) var inherited = TrafficCounts()
  /// The list in progress. Further frames of the client wait until the list ends.
  var listing: Listing?
  /// The connections that this one has replaced, directly or through others.
  var predecessors: [ConnectionID] = []
  var isKnownPoster = false
  var isKept = false

  init(
    id: ConnectionID, slot: ConnectionSlot, descriptor: consuming FileDescriptor, cookie: UInt64,
    peer: PeerIdentity, subject: Subject, user: User, connected: Instant, limits: FrameLimits,
    varlink: VarlinkState? = nil, state: State = .awaitingHello
  ) {
    self.id = id
    self.slot = slot
    socket = Cell(descriptor)
    self.cookie = cookie
    self.peer = peer
    self.subject = subject
    self.user = user
    account = user.account
    self.connected = connected
    self.limits = limits
    self.varlink = varlink
    speaksVarlink = varlink != nil
    self.state = state
  }

  var descriptor: FileDescriptor {
    @inline(__always) _read {
      switch socket.value {
      case .some(let descriptor): yield descriptor
      case .none: preconditionFailure("session \(id) is closed")
      }
    }
  }

  func takeDescriptor() -> FileDescriptor? { socket.value.take() }

  func countedTraffic() -> TrafficCounts {
    traffic.countDelivered(upTo: output.queuedCount &- UInt32(truncatingIfNeeded: inherited.delivered))
    traffic.lost = output.lostCount - inherited.lost
    return traffic
  }

  func beginCounting() {
    inherited.delivered = UInt64(output.queuedCount)
    inherited.lost = output.lostCount
  }

  var input: Input {
    @inline(__always) _read { yield inputCell.value }
    @inline(__always) _modify { yield &inputCell.value }
  }

  var output: Output {
    @inline(__always) _read { yield outputCell.value }
    @inline(__always) _modify { yield &outputCell.value }
  }

  var pacing: Pacing {
    @inline(__always) _read { yield pacingCell.value }
    @inline(__always) _modify { yield &pacingCell.value }
  }

  var positions: LogPositions {
    @inline(__always) _read { yield positionsCell.value }
    @inline(__always) _modify { yield &positionsCell.value }
  }

  var isServed: Bool {
    switch state {
    case .awaitingHello, .open: true
    case .ending, .dismissing, .closing, .closed: false
    }
  }

  var isOpen: Bool { if case .open = state { true } else { false } }
  var isGreeted: Bool {
    switch state {
    case .open, .ending(isGreeted: true), .dismissing(isGreeted: true): true
    case .awaitingHello, .ending, .dismissing, .closing, .closed: false
    }
  }
  var isAwaitingHello: Bool { if case .awaitingHello = state { true } else { false } }
  private var isDismissing: Bool { if case .dismissing = state { true } else { false } }
  var isClosing: Bool { if case .closing = state { true } else { false } }
  var isClosed: Bool { if case .closed = state { true } else { false } }

  // MARK: The event loop

  var token: WatchToken { .connection(id, at: slot) }

  var interest: Readiness {
    var interest: Readiness = []
    if !pacing.isPaused, !isClosing, !speaksVarlink || takesCalls { interest.insert(.readable) }
    // A stalled socket is not watched for writing: it stays writable however many files wait in it, so epoll
    // would wake the bus constantly.
    if case .full = output.writing { interest.insert(.writable) }
    return interest
  }

  /// False during a call, if further input already waits or the input has ended. The bus then stops reading.
  var takesCalls: Bool {
    !isInCall || input.partial == nil && varlink?.isHalfClosed == false
  }

  var isInCall: Bool { output.flags.contains(.inCall) }

  // MARK: The journal

  var journalFields: Log.Fields {
    ["TRIBUNE_CONNECTION": "\(id)", "TRIBUNE_PID": "\(peer.pid)", "TRIBUNE_UNIT": peer.units.primary]
  }

  func journalFields(_ name: StaticString, _ value: String) -> Log.Fields {
    [
      "TRIBUNE_CONNECTION": "\(id)", "TRIBUNE_PID": "\(peer.pid)", "TRIBUNE_UNIT": peer.units.primary,
      name: value,
    ]
  }
}

extension WatchToken {
  static func connection(_ id: ConnectionID, at slot: ConnectionSlot) -> WatchToken {
    .connection(slot: slot.index, generation: UInt32(truncatingIfNeeded: id.rawValue))
  }
}
