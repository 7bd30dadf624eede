// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// The daemon's end of one client's connection: what is read and not understood yet, what waits to be written, and how
/// that keeps up.
///
/// An idle session holds no buffer: whole frames are taken where they were read, and only a partial frame is kept.
final class Session {
  enum State {
    /// Its hello has not come yet. → open, ending, closing, closed
    case awaitingHello
    /// → ending, closing, closed
    case open
    /// It is dismissed when the iteration ends. → closing, closed
    case ending(isGreeted: Bool)
    /// It has been told why, and is closed when the kernel has taken that, or when its time is over. → closed
    case closing
    /// Final.
    case closed

    func mayBecome(_ next: State) -> Bool {
      switch (self, next) {
      case (.awaitingHello, .open), (.awaitingHello, .ending), (.open, .ending): true
      case (.awaitingHello, .closing), (.open, .closing), (.ending, .closing): true
      case (.closed, _), (_, .awaitingHello), (_, .open), (_, .ending), (.closing, .closing): false
      case (_, .closed): true
      }
    }
  }

  let id: ConnectionID
  let slot: ConnectionSlot
  let descriptor: FileDescriptor
  let peer: PeerIdentity
  let connected: Instant
  /// What the kernel calls its socket.
  let cookie: UInt64
  /// What its frames may have, as its welcome says.
  let limits: FrameLimits

  var state: State {
    didSet {
      precondition(oldValue.mayBecome(state), "a session that is \(oldValue) becomes \(state)")
      output.isServed = isServed
    }
  }
  private let inputCell = Cell(Input())
  let outputCell = Cell(Output())
  private let pacingCell = Cell(Pacing())
  var positions = LogPositions()
  var postedCount: UInt64 = 0
  /// The keeper has a copy of its socket, or is to get one.
  var isKept = false

  init(
    id: ConnectionID, slot: ConnectionSlot, descriptor: consuming FileDescriptor, cookie: UInt64,
    peer: PeerIdentity, connected: Instant, limits: FrameLimits, state: State = .awaitingHello
  ) {
    self.id = id
    self.slot = slot
    self.descriptor = descriptor
    self.cookie = cookie
    self.peer = peer
    self.connected = connected
    self.limits = limits
    self.state = state
  }

  /// What every read goes through (see `Cell`).
  var input: Input {
    @inline(__always) _read { yield inputCell.value }
    @inline(__always) _modify { yield &inputCell.value }
  }

  /// What every write and every notification goes through.
  var output: Output {
    @inline(__always) _read { yield outputCell.value }
    @inline(__always) _modify { yield &outputCell.value }
  }

  var pacing: Pacing {
    @inline(__always) _read { yield pacingCell.value }
    @inline(__always) _modify { yield &pacingCell.value }
  }

  /// Its frames are taken, and others are queued for it.
  var isServed: Bool {
    switch state {
    case .awaitingHello, .open: true
    case .ending, .closing, .closed: false
    }
  }

  var isOpen: Bool { if case .open = state { true } else { false } }
  /// It was welcomed, and the core knows it.
  var isGreeted: Bool {
    switch state {
    case .open, .ending(isGreeted: true): true
    case .awaitingHello, .ending, .closing, .closed: false
    }
  }
  var isAwaitingHello: Bool { if case .awaitingHello = state { true } else { false } }
  var isClosing: Bool { if case .closing = state { true } else { false } }
  var isClosed: Bool { if case .closed = state { true } else { false } }

  // MARK: The event loop

  var token: WatchToken { .connection(id, at: slot) }

  /// What the event loop watches it for.
  var interest: Readiness {
    var interest: Readiness = []
    if !pacing.isPaused, !isClosing { interest.insert(.readable) }
    // A socket can be written to however many files wait in it.
    if case .full = output.writing { interest.insert(.writable) }
    return interest
  }

  // MARK: The journal

  /// The journal's fields about it.
  var journalFields: Log.Fields {
    ["TRIBUNE_CONNECTION": "\(id)", "TRIBUNE_PID": "\(peer.pid)", "TRIBUNE_UNIT": peer.unit]
  }

  /// The journal's fields about it, and another one.
  func journalFields(_ name: StaticString, _ value: String) -> Log.Fields {
    ["TRIBUNE_CONNECTION": "\(id)", "TRIBUNE_PID": "\(peer.pid)", "TRIBUNE_UNIT": peer.unit, name: value]
  }
}

extension WatchToken {
  static func connection(_ id: ConnectionID, at slot: ConnectionSlot) -> WatchToken {
    .connection(slot: slot.index, generation: UInt32(truncatingIfNeeded: id.rawValue))
  }
}
