// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// What passes over the bus as a pcapng file, block by block: one packet for each item of traffic, which is the
/// `traffic` frame whole, and one for each loss, which is a `lost` frame.
struct CaptureFile: Sendable {
  /// Lost since the last packet that was not about a loss.
  private var dropped = 0

  /// What the file begins with.
  static var opening: [UInt8] {
    PcapngBlock.sectionHeader(application: "tribunectl \(Version.current)").bytes
      + PcapngBlock.interface(name: "tribune").bytes
  }

  /// The block for one element of traffic; nothing for a loss of which nobody knows how large it is.
  ///
  /// - Parameter now: microseconds since 1970, when a loss is noticed.
  mutating func block(for delivery: TrafficDelivery, now: UInt64) -> [UInt8] {
    switch delivery {
    case .interrupted: return []
    case .item(let item):
      defer { dropped = 0 }
      return PcapngBlock.packet(item.capture, time: item.time, dropCount: dropped).bytes
    case .lost(let count):
      let (sum, isTooMany) = dropped.addingReportingOverflow(count)
      dropped = isTooMany ? .max : sum
      let frame = ByteBuffer(capacity: FrameHeader.length + 8)
      frame.appendFrame(Lost(count: UInt64(clamping: count)), serial: 0)
      return PcapngBlock.packet([UInt8](frame.bytes), time: now, dropCount: 0).bytes
    }
  }
}
