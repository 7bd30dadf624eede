// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// The bus's traffic as a pcapng file, block by block. Each item of traffic is one packet, which holds the whole
/// `traffic` frame. Each loss is one packet, which holds a `lost` frame.
struct CaptureFile: Sendable {
  /// Messages lost since the last packet that was not about a loss.
  private var dropped = 0
  /// Whether the connection was interrupted since the last packet.
  private var isInterrupted = false

  /// The comment of the first packet after an interruption.
  static let interruption =
    "The bus was unreachable before this packet; the number of missed messages is unknown"

  /// The blocks that the file begins with.
  static var opening: [UInt8] {
    PcapngBlock.sectionHeader(application: "tribunectl \(Version.current)").bytes
      + PcapngBlock.interface(name: "tribune").bytes
  }

  /// The block for one element of traffic. Empty for a loss of unknown size: the next packet's comment reports that.
  ///
  /// - Parameter now: microseconds since 1970; the time of a loss packet.
  mutating func block(for delivery: TrafficDelivery, now: UInt64) -> [UInt8] {
    switch delivery {
    case .interrupted:
      isInterrupted = true
      return []
    case .item(let item):
      defer { dropped = 0 }
      return packet(item.capture, time: item.time, dropCount: dropped)
    case .lost(let count):
      dropped = dropped.saturatingAdding(count)
      let frame = ByteBuffer(capacity: FrameHeader.length + 8)
      frame.appendFrame(Lost(count: UInt64(clamping: count)), serial: 0)
      return packet([UInt8](frame.bytes), time: now, dropCount: 0)
    }
  }

  private mutating func packet(_ bytes: [UInt8], time: UInt64, dropCount: Int) -> [UInt8] {
    defer { isInterrupted = false }
    return PcapngBlock.packet(
      bytes, time: time, dropCount: dropCount, comment: isInterrupted ? Self.interruption : nil
    ).bytes
  }
}
