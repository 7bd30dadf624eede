// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Where everything is in a state, and what its first bytes say of that.
///
///      0  u64  magic
///      8  u32  version
///     12  u32  length of the header, up to here its form is that of every version
///     16  u64  the checksum of the rest of the header
///     24  u64  cells
///     32  u64  bytes in an area
///     64  u64  which area is active: this word and those behind it are changed while the bus runs (`StateWord`)
///     72  u64  how much of area 0 is committed, in words
///     80  u64  the same of area 1
///     88  u64  how many daemons have begun to take it over, one after the other, and none of them has come to serve
///     96  u64  the last connection's id that was given out (`StateIDWord`)
///    104  u64  the same of queries
///    112  u64  the same of delegates
///   4096       the cells, 64 bytes each
///              the areas, each from a multiple of 64 KiB on
///
/// Version 1 is the first. A later one reads those before it: here by what their version says was in the header; in
/// records, whose bodies are fields as on the wire, by the defaults of those that an older writer did not have. A
/// record of a new kind needs no new version, since readers that do not know it skip it.
nonisolated struct StateHeader {
  /// Of what is written.
  static let version: UInt32 = 1
  static let magic = UInt64(littleEndian: 0x4554_4154_4255_5254)
  static let length = 40

  static let activeOffset = 64
  static func committedOffset(ofArea area: Int) -> Int { 72 + 8 * area }
  static let takeOversOffset = 88
  static let lastIDsOffset = 96
  static let cellsOffset = 4096
  static let cellLength = 64

  /// No bus has more connections by far.
  static let cellCountMax = 1 << 24
  static let areaLengthMax = 1 << 32

  let cellCount: Int
  /// Bytes that an area has for records.
  let areaLength: Int

  /// - Parameter areaLength: what is no whole word of it is left out.
  init(cellCount: Int, areaLength: Int) {
    precondition((0...Self.cellCountMax).contains(cellCount), "\(cellCount) cells")
    precondition((8...Self.areaLengthMax).contains(areaLength), "areas of \(areaLength) bytes")
    self.cellCount = cellCount
    self.areaLength = areaLength & ~7
  }

  /// Reads what a file begins with.
  ///
  /// - Throws: `foreign`, `truncated`, `damaged` or `newer`.
  init(_ bytes: RawSpan) throws(StateFlaw) {
    guard bytes.byteCount >= 8, bytes.integer(at: 0, as: UInt64.self) == Self.magic else { throw .foreign }
    guard bytes.byteCount >= Self.length else { throw .truncated }
    let version = bytes.integer(at: 8, as: UInt32.self)
    let length = Int(bytes.integer(at: 12, as: UInt32.self))
    guard length >= 24, length % 8 == 0, length <= Self.activeOffset else { throw .damaged }
    guard length <= bytes.byteCount else { throw .truncated }
    // A flipped bit is not taken for another version.
    guard Self.checksum(of: bytes.extracting(first: length)) == bytes.integer(at: 16, as: UInt64.self) else {
      throw .damaged
    }
    guard version <= Self.version else { throw .newer(version: version) }
    guard version == Self.version, length == Self.length else { throw .damaged }
    let cellCount = bytes.integer(at: 24, as: UInt64.self)
    let areaLength = bytes.integer(at: 32, as: UInt64.self)
    guard cellCount <= UInt64(Self.cellCountMax),
      (8...UInt64(Self.areaLengthMax)).contains(areaLength), areaLength % 8 == 0
    else { throw .damaged }
    self.init(cellCount: Int(cellCount), areaLength: Int(areaLength))
  }

  func write(to mapping: borrowing SharedMapping) {
    mapping.store(Self.magic, at: 0)
    mapping.store(UInt64(Self.version) | UInt64(Self.length) << 32, at: 8)
    mapping.store(UInt64(cellCount), at: 24)
    mapping.store(UInt64(areaLength), at: 32)
    mapping.store(Self.checksum(of: mapping.bytes(in: 0..<Self.length)), at: 16)
  }

  private static func checksum(of bytes: RawSpan) -> UInt64 {
    StateChecksum.of(bytes.integer(at: 8, as: UInt64.self), bytes.extracting(droppingFirst: 24))
  }

  /// Where an area begins. Whole pages, of whatever size the machine's are, belong to it alone.
  func start(ofArea area: Int) -> Int {
    Self.aligned(Self.cellsOffset + cellCount * Self.cellLength) + area * Self.aligned(areaLength)
  }

  /// All that belongs to an area.
  func pages(ofArea area: Int) -> Range<Int> { start(ofArea: area)..<start(ofArea: area + 1) }

  var fileLength: Int { start(ofArea: 2) }

  private static func aligned(_ offset: Int) -> Int { (offset + 65_535) & ~65_535 }
}
