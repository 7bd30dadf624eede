// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneWire

/// A connection that was found in the log during a replay.
struct FoundConnection {
  /// What the recovery does with the connection.
  enum Fate {
    /// The connection is resumed.
    case survives
    /// The connection is resumed without the notifications queued for it; that many were not sent.
    case loses(UInt32)
    /// The client has to connect again. `isNotified`: with a refusal, unless the socket may be in mid-frame.
    case restarts(isNotified: Bool)
  }

  var facts: ConnectionFacts
  var positions: LogPositions
  /// Control frames that the bus had sent or queued, with their numbers.
  var controlFrames: [(number: UInt32, frame: ByteBuffer)] = []
  /// All notifications ever queued for the connection, and those buffered for it.
  var queuedCount: UInt32 = 0
  var bufferedCount: UInt32 = 0
  /// Notifications that were reported to it as lost.
  var lostCount: UInt32 = 0
  /// The flags of its counter slot; empty if the slot is damaged.
  var flags: SessionFlags = []
  var isSlotKnown = false
  /// All control frames ever sent to it.
  var controlSent: UInt32 = 0
  /// Whether the socket may be in the middle of a frame to the client.
  var isMidFrame: Bool { flags.contains(.sending) }
  var fate = Fate.survives
  /// A registration or query of the connection was refused in the replay, because the configuration has changed.
  var isRefused = false
  /// Some of its registrations are unknown: one was refused, or the log had no space for it.
  var isIncomplete = false
  /// The connection was detached already, or its socket is missing.
  var isDetached = false
  /// As in `Session`.
  var predecessors: [ConnectionID] = []
  /// The end of the client's time to connect again.
  var detachedUntil: Instant?

  /// Decides the connection's fate. After a death without a hand-over, the counter slot says how much is lost.
  mutating func judge(by counters: SessionCounters?, id: ConnectionID, isHandedOver: Bool) {
    isDetached = detachedUntil != nil
    guard let counters, counters.connection == id else {
      fate = .restarts(isNotified: false)
      return
    }
    isSlotKnown = true
    flags = counters.flags
    queuedCount = counters.queued
    bufferedCount = counters.buffered
    controlSent = counters.controlSent
    isIncomplete = isRefused || counters.flags.contains(.incomplete)
    // Earlier losses that were not reported yet are reported, and counted, with the in-flight I/O or those of this restart.
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
      // A daemon that died during its own recovery may have logged some frames twice.
      var last = counters.controlSent
      controlFrames = controlFrames.filter { frame in
        guard Int32(bitPattern: frame.number &- last) > 0 else { return false }
        last = frame.number
        return true
      }
    }
  }
}
