// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneWire

/// What a log that is being replayed says of one connection.
struct FoundConnection {
  /// What is to become of it.
  enum Fate {
    /// It goes on.
    case survives
    /// It goes on, but for what had been queued for it: so many notifications were not sent.
    case loses(UInt32)
    /// It has to connect again. It can still be told so, unless its socket may be in the middle of a frame.
    case restarts(isTold: Bool)
  }

  var facts: ConnectionFacts
  var positions: LogPositions
  /// Control frames that the bus had sent or queued, with their numbers.
  var controlFrames: [(number: UInt32, frame: ByteBuffer)] = []
  /// Notifications that it had been queued, ever, and that were buffered for it.
  var queuedCount: UInt32 = 0
  var bufferedCount: UInt32 = 0
  /// What its counter slot said; empty where that is damaged.
  var flags: SessionFlags = []
  var isSlotKnown = false
  /// Frames of the bus's own that it had been sent, ever.
  var controlSent: UInt32 = 0
  /// Its socket may be in the middle of a frame that it is being sent.
  var isMidFrame: Bool { flags.contains(.sending) }
  var fate = Fate.survives
  /// Something that it had registered, or asked, was refused when it was replayed: the configuration is another one.
  var isRefused = false
  /// Not all that it had registered is known: for that, or since there was no room to write it down.
  var isIncomplete = false
  /// It had to connect again already, and there is no socket of it.
  var isDetached = false
  /// Until when it has time for that.
  var detachedUntil: Instant?

  /// Decides what becomes of it. After a death without a hand-over, its counter slot says what is lost.
  mutating func judge(by counters: SessionCounters?, id: ConnectionID, isHandedOver: Bool) {
    isDetached = detachedUntil != nil
    guard let counters, counters.connection == id else {
      fate = .restarts(isTold: false)
      return
    }
    isSlotKnown = true
    flags = counters.flags
    queuedCount = counters.queued
    bufferedCount = counters.buffered
    controlSent = counters.controlSent
    isIncomplete = isRefused || counters.flags.contains(.incomplete)
    // What it had not been told of is told with what is lost now, and counted then.
    if !isHandedOver, let lost = counters.lost { facts.lostCount = UInt64(lost) }
    isDetached = isDetached || counters.flags.contains(.detached)
    if isDetached {
      fate = .restarts(isTold: false)
    } else if isHandedOver {
      fate = isIncomplete ? .restarts(isTold: !isMidFrame) : .survives
    } else if !counters.flags.isDisjoint(with: [.sending, .unlogged]) {
      fate = .restarts(isTold: false)
    } else if isIncomplete || counters.flags.contains(.receiving) {
      fate = .restarts(isTold: true)
    } else {
      fate = .loses(counters.queued &- counters.sent &+ counters.buffered)
      // A daemon that died while it took over may have written some twice.
      var last = counters.controlSent
      controlFrames = controlFrames.filter { frame in
        guard Int32(bitPattern: frame.number &- last) > 0 else { return false }
        last = frame.number
        return true
      }
    }
  }
}
