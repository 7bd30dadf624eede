// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneWire

/// Identifies a control frame by its receiver's slot, and by its number among the receiver's control frames.
/// The log stores the slot and the number in place of the entry's time.
nonisolated struct ControlFrameID {
  /// Wraps around.
  let number: UInt32
  let slot: Int

  init(number: UInt32, slot: Int) { (self.number, self.slot) = (number, slot) }

  init(_ moment: Instant) {
    number = UInt32(truncatingIfNeeded: moment.nanoseconds)
    slot = Int(moment.nanoseconds >> 32)
  }

  var moment: Instant { Instant(nanoseconds: UInt64(number) | UInt64(slot) << 32) }
}

/// The content of a `frame` entry: a client's frame, and the frame's context (`Acceptance.context`).
/// `lastQuery` and `lastDelegate` are the last ids that the bus had given before it accepted the frame.
struct LoggedFrame: ~Escapable {
  static let headLength = 16

  let lastQuery: UInt64
  let lastDelegate: UInt64
  let bytes: RawSpan
  let context: RawSpan

  @_lifetime(copy body)
  init?(_ body: RawSpan) {
    guard body.byteCount >= Self.headLength + FrameHeader.length else { return nil }
    lastQuery = body.integer(at: 0, as: UInt64.self)
    lastDelegate = body.integer(at: 8, as: UInt64.self)
    let rest = body.extracting(Self.headLength..<body.byteCount)
    let length = rest.frameLength(at: 0)
    guard length >= FrameHeader.length, length <= rest.byteCount else { return nil }
    bytes = rest.extracting(first: length)
    context = rest.extracting(droppingFirst: length)
  }

  var kind: FrameKind? { bytes.frameKind(at: 0) }
  var serial: Serial { bytes.frameSerial(at: 0) }
}
