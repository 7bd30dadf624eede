// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

package struct EntryPosition: Equatable, Sendable {
  private let rawValue: UInt32

  init(offset: Int) { rawValue = UInt32(offset) }

  /// The distance in bytes from the start of the segment.
  package var offset: Int { Int(rawValue) }
}

/// A view of one entry in the log's memory: a head of 32 bytes, the body, and padding. The padding consists
/// of zeros, up to a multiple of 8 bytes.
///
///     0  u32  length of the entry, a multiple of 8
///     4  u8   kind
///     5  u8   length of the padding, 0 to 7
///     6  u16  0
///     8  u64  checksum of all other bytes of the entry
///    16  u64  owner
///    24  u64  time
///
/// The caller chooses kind, owner and time. The log does not interpret them.
package struct LogEntry: ~Escapable {
  package let rawKind: UInt8
  package let owner: UInt64
  package let time: UInt64
  package let position: EntryPosition
  let bytes: RawSpan
  private let bodyEnd: Int

  package static let headLength = 32
  static let checksumOffset = 8
  static let ownerOffset = 16
  static let timeOffset = 24

  package static func length(bodyLength: Int) -> Int { (headLength + bodyLength + 7) & ~7 }

  struct Opening {
    let word: UInt64

    @inline(__always) init(word: UInt64) { self.word = word }

    @inline(__always) init(_ kind: UInt8, bodyLength: Int) {
      let length = LogEntry.length(bodyLength: bodyLength)
      let padding = length - LogEntry.headLength - bodyLength
      word = UInt64(UInt32(length)) | UInt64(kind) << 32 | UInt64(padding) << 40
    }

    var length: Int { Int(UInt32(truncatingIfNeeded: word)) }
    var kind: UInt8 { UInt8(truncatingIfNeeded: word >> 32) }
    var padding: Int { Int(UInt8(truncatingIfNeeded: word >> 40)) }
  }

  /// - Parameter bytes: exactly one entry, whose length `checkedLength` has returned.
  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, at position: EntryPosition) {
    let opening = Opening(word: bytes.integer(at: 0, as: UInt64.self))
    rawKind = opening.kind
    owner = bytes.integer(at: Self.ownerOffset, as: UInt64.self)
    time = bytes.integer(at: Self.timeOffset, as: UInt64.self)
    self.position = position
    self.bytes = bytes
    bodyEnd = bytes.byteCount - opening.padding
  }

  package var length: Int { bytes.byteCount }

  package var body: RawSpan {
    @_lifetime(copy self)
    get { bytes.extracting(Self.headLength..<bodyEnd) }
  }

  static func checkedLength(in segment: RawSpan, at offset: Int) -> Int? {
    guard segment.byteCount - offset >= headLength else { return nil }
    let opening = Opening(word: segment.integer(at: offset, as: UInt64.self))
    let length = opening.length
    guard length >= headLength, length % 8 == 0, length <= segment.byteCount - offset,
      opening.padding < 8, opening.padding <= length - headLength
    else { return nil }
    let sum = segment.integer(at: offset + checksumOffset, as: UInt64.self)
    return checksum(of: segment.extracting(offset..<offset + length)) == sum ? length : nil
  }

  static func checksum(of bytes: RawSpan) -> UInt64 {
    Checksum.of(bytes.integer(at: 0, as: UInt64.self), bytes.extracting(droppingFirst: ownerOffset))
  }
}
