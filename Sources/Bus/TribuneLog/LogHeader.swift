// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// The header of the log file. All numbers in the file are in the machine's byte order. The file's layout:
///
///      0  u64  magic number
///      8  u32  version
///     12  u32  length of the header
///     16  u64  checksum of the header's other bytes, without the magic number
///     24  u64  number of counter slots
///     32  u64  capacity of a segment, in bytes
///     64  u64  number of the active segment (`CheckedWord`, like the next three)
///     72  u64  committed length of segment 0, in words of 8 bytes
///     80  u64  committed length of segment 1
///     88  u64  number of consecutive recoveries that did not end
///     96  u64  last number of sequence 0 (`CheckedNumber`)
///    104  u64  last number of sequence 1
///    112  u64  last number of sequence 2
///   4096       counter slots, 64 bytes each
///              the segments, each at a multiple of 64 KiB
///
/// The checksum does not cover the words at offset 64 and above, because they change while the log is in use.
///
/// Later programs must read version 1. All versions keep the layout of the first 24 bytes. A new entry kind
/// needs no new version: older programs skip entries of unknown kinds, and their compactions drop them.
struct LogHeader {
  static let version: UInt32 = 1
  static let magic = UInt64(littleEndian: 0x4554_4154_4255_5254)
  static let length = 40

  static let activeOffset = 64
  static func committedOffset(ofSegment segment: Int) -> Int { 72 + 8 * segment }
  static let recoveriesOffset = 88
  static let sequencesOffset = 96
  static let slotsOffset = 4096
  static let slotLength = 64

  static let slotCountMax = 1 << 24
  static let segmentCapacityMax = 1 << 32

  let slotCount: Int
  /// In bytes. A multiple of 8.
  let segmentCapacity: Int

  init(slotCount: Int, segmentCapacity: Int) {
    precondition(
      (0...Self.slotCountMax).contains(slotCount), "a number of \(slotCount) slots is out of range")
    precondition(
      (8...Self.segmentCapacityMax).contains(segmentCapacity),
      "a segment capacity of \(segmentCapacity) bytes is out of range")
    self.slotCount = slotCount
    self.segmentCapacity = segmentCapacity & ~7
  }

  init(_ bytes: RawSpan) throws(LogError) {
    guard bytes.byteCount >= 8, bytes.integer(at: 0, as: UInt64.self) == Self.magic else { throw .foreign }
    guard bytes.byteCount >= Self.length else { throw .truncated }
    let version = bytes.integer(at: 8, as: UInt32.self)
    let length = Int(bytes.integer(at: 12, as: UInt32.self))
    guard length >= 24, length % 8 == 0, length <= Self.activeOffset else { throw .damaged }
    guard length <= bytes.byteCount else { throw .truncated }
    // Check the sum before the version: a flipped bit must not look like another version.
    guard Self.checksum(of: bytes.extracting(first: length)) == bytes.integer(at: 16, as: UInt64.self) else {
      throw .damaged
    }
    guard version <= Self.version else { throw .newer(version: version) }
    guard version == Self.version, length == Self.length else { throw .damaged }
    let slotCount = bytes.integer(at: 24, as: UInt64.self)
    let segmentCapacity = bytes.integer(at: 32, as: UInt64.self)
    guard slotCount <= UInt64(Self.slotCountMax),
      (8...UInt64(Self.segmentCapacityMax)).contains(segmentCapacity), segmentCapacity % 8 == 0
    else { throw .damaged }
    self.init(slotCount: Int(slotCount), segmentCapacity: Int(segmentCapacity))
  }

  func write(to mapping: borrowing SharedMapping) {
    mapping.store(Self.magic, at: 0)
    mapping.store(UInt64(Self.version) | UInt64(Self.length) << 32, at: 8)
    mapping.store(UInt64(slotCount), at: 24)
    mapping.store(UInt64(segmentCapacity), at: 32)
    mapping.store(Self.checksum(of: mapping.bytes(in: 0..<Self.length)), at: 16)
  }

  private static func checksum(of bytes: RawSpan) -> UInt64 {
    Checksum.of(bytes.integer(at: 8, as: UInt64.self), bytes.extracting(droppingFirst: 24))
  }

  /// A multiple of 64 KiB, and so of the page size: the segment shares no page with other data.
  func start(ofSegment segment: Int) -> Int {
    Self.aligned(Self.slotsOffset + slotCount * Self.slotLength) + segment * Self.aligned(segmentCapacity)
  }

  func pages(ofSegment segment: Int) -> Range<Int> {
    start(ofSegment: segment)..<start(ofSegment: segment + 1)
  }

  var fileLength: Int { start(ofSegment: 2) }

  private static func aligned(_ offset: Int) -> Int { (offset + 65_535) & ~65_535 }
}
