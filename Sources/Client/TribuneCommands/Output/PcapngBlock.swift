// SPDX-License-Identifier: Apache-2.0

/// One block of a pcapng file (draft-ietf-opsawg-pcapng): its type, its length, a body that is padded to four
/// bytes, and its length again. All numbers are little endian.
struct PcapngBlock: Sendable {
  /// LINKTYPE_USER0: the format does not define the content of such a packet.
  static let linkType: UInt16 = 147
  /// The longest packet in bytes. Wireshark reports a file with a longer packet as broken.
  static let capturedMax = 262_144

  private(set) var bytes: [UInt8] = []

  private init(type: UInt32, body: (inout PcapngBlock) -> Void) {
    append(type)
    append(UInt32(0))
    body(&self)
    let length = UInt32(bytes.count + 4)
    append(length)
    for (index, byte) in Self.littleEndian(length).enumerated() { bytes[4 + index] = byte }
  }

  static func sectionHeader(application: String) -> PcapngBlock {
    PcapngBlock(type: 0x0A0D_0D0A) { block in
      block.append(UInt32(0x1A2B_3C4D))
      block.append(UInt16(1))
      block.append(UInt16(0))
      block.append(UInt64.max)
      block.append(option: 4, application.utf8)
      block.endOptions()
    }
  }

  /// The block of an interface. The times of its packets are in microseconds.
  static func interface(name: String) -> PcapngBlock {
    PcapngBlock(type: 1) { block in
      block.append(linkType)
      block.append(UInt16(0))
      block.append(UInt32(0))
      block.append(option: 2, name.utf8)
      block.endOptions()
    }
  }

  /// - Parameter time: microseconds since 1970.
  static func packet(_ packet: [UInt8], time: UInt64, dropCount: Int, comment: String? = nil) -> PcapngBlock {
    PcapngBlock(type: 6) { block in
      let captured = packet.prefix(capturedMax)
      block.append(UInt32(0))
      block.append(UInt32(truncatingIfNeeded: time >> 32))
      block.append(UInt32(truncatingIfNeeded: time))
      block.append(UInt32(captured.count))
      block.append(UInt32(clamping: packet.count))
      block.append(padding: captured)
      guard dropCount > 0 || comment != nil else { return }
      if let comment { block.append(option: 1, comment.utf8) }
      if dropCount > 0 { block.append(option: 4, littleEndian(UInt64(dropCount))) }
      block.endOptions()
    }
  }

  private static func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    stride(from: 0, to: value.bitWidth, by: 8).map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  private mutating func append(_ value: some FixedWidthInteger) { bytes += Self.littleEndian(value) }

  private mutating func append(padding content: some Collection<UInt8>) {
    bytes += content
    bytes += repeatElement(0, count: (4 - content.count % 4) % 4)
  }

  private mutating func append(option code: UInt16, _ value: some Collection<UInt8>) {
    append(code)
    append(UInt16(clamping: value.count))
    append(padding: value)
  }

  private mutating func endOptions() { append(UInt32(0)) }
}
