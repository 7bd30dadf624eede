// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// What passes over the bus as a pcapng file, block by block: one packet for each item of traffic, which is the
/// `traffic` frame whole, and one for each loss, which is a `lost` frame.
struct CaptureFile: Sendable {
  /// Lost since the last packet that was not about a loss.
  private var dropped = 0
  /// The bus was away since the last packet.
  private var isInterrupted = false

  /// What the first packet after an interruption says.
  static let interruption = "The bus was away before this packet, and nobody knows how much was missed"

  /// What the file begins with.
  static var opening: [UInt8] {
    PcapngBlock.sectionHeader(application: "tribunectl \(Version.current)").bytes
      + PcapngBlock.interface(name: "tribune").bytes
  }

  /// The block for one element of traffic; nothing for a loss of which nobody knows how large it is, which the next
  /// one's comment tells.
  ///
  /// - Parameter now: microseconds since 1970, when a loss is noticed.
  mutating func block(for delivery: TrafficDelivery, now: UInt64) -> [UInt8] {
    switch delivery {
    case .interrupted:
      isInterrupted = true
      return []
    case .item(let item):
      defer { dropped = 0 }
      return packet(item.capture, time: item.time, dropCount: dropped)
    case .lost(let count):
      let (sum, isTooMany) = dropped.addingReportingOverflow(count)
      dropped = isTooMany ? .max : sum
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
