// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneWire

/// A connection that a replay found in the log.
struct FoundConnection {
  enum Fate {
    case survives
    /// The connection continues, but has lost this many notifications.
    case loses(UInt32)
    /// The client must reconnect. If `isNotified`, the bus first sends it the error `restarted`. The bus
    /// sends none if its output may end in the middle of a frame. It also sends none if the connection is
    /// detached or damaged, or if, without a hand-over, control frames are not in the log.
    case restarts(isNotified: Bool)
  }

  var facts: ConnectionFacts
  var positions: LogPositions
  var controlFrames: [(number: UInt32, frame: ByteBuffer)] = []
  var queuedCount: UInt32 = 0
  var bufferedCount: UInt32 = 0
  var lostCount: UInt32 = 0
  /// The flags in the connection's slot in the log (`SessionCounters`). Empty if the slot is damaged, or has
  /// the counters of another connection.
  var flags: SessionFlags = []
  var isSlotKnown = false
  var controlSent: UInt32 = 0
  var isMidFrame: Bool { flags.contains(.sending) }
  var fate = Fate.survives
  /// The replay refused a registration or query of this connection, for example because the configuration has
  /// changed.
  var isRefused = false
  var isIncomplete = false
  var isDetached = false
  var predecessors: [ConnectionID] = []
  var detachedUntil: Instant?

  /// Call this if the log lacks counters or entries of the connection: the bus cannot tell the client how much
  /// it has missed.
  mutating func markDamaged() {
    isIncomplete = true
    fate = .restarts(isNotified: false)
  }

  /// Decides whether the connection survives. If the daemon died without a hand-over, `counters` tells how
  /// many notifications are lost.
  mutating func judge(by counters: SessionCounters?, id: ConnectionID, isHandedOver: Bool) {
    isDetached = detachedUntil != nil
    guard let counters, counters.connection == id else { return markDamaged() }
    isSlotKnown = true
    flags = counters.flags
    queuedCount = counters.queued
    bufferedCount = counters.buffered
    controlSent = counters.controlSent
    isIncomplete = isRefused || counters.flags.contains(.incomplete)
    // `counters.lost` counts only the losses whose `lost` frames were sent. After a hand-over, `InFlightIO`
    // has the unsent `lost` frames. Without one, the number in `Fate.loses` includes the losses of these
    // frames.
    lostCount = counters.lost ?? 0
    isDetached = isDetached || counters.flags.contains(.detached)
    if isDetached {
      fate = .restarts(isNotified: false)
    } else if isHandedOver {
      fate = isIncomplete ? .restarts(isNotified: !isMidFrame) : .survives
    } else if !counters.flags.isDisjoint(with: [.sending, .unlogged]) {
      fate = .restarts(isNotified: false)
    } else if isIncomplete || counters.flags.contains(.receiving) {
      fate = .restarts(isNotified: true)
    } else {
      fate = .loses(counters.queued &- counters.sent &+ counters.buffered)
      // A daemon that died during its recovery can have logged some frames twice.
      var last = counters.controlSent
      controlFrames = controlFrames.filter { frame in
        guard Int32(bitPattern: frame.number &- last) > 0 else { return false }
        last = frame.number
        return true
      }
    }
  }
}
