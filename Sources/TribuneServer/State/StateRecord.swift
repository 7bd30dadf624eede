// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
package import TribuneWire

/// What a record of the log is. A number is never given to another kind.
nonisolated package enum StateRecordKind: UInt8, CaseIterable, Sendable {
  case counters = 1
  /// Who a connection is.
  case connection = 2
  /// A client's frame, as it sent it.
  case frame = 3
  case disconnection = 4
  /// The core's time was advanced.
  case moment = 5
  case retained = 6
  /// The whole of a query under way.
  case query = 7
  /// The whole of an awaited post under way.
  case awaited = 8
  /// A frame of the bus's own that must not be lost. It has no moment, but a `SaidPlace` in its stead.
  case said = 9
  /// A question could not be sent.
  case failure = 10
  /// What waits in both directions of a connection that is handed over.
  case stream = 11
  case held = 12
  /// The end of a planned hand-over.
  case handedOver = 13
  /// A post that waits for the bus to be idle; and that it waits no more.
  case waiting = 14
  case waitsNoMore = 15
  /// The connection has to connect again, and keeps what it had registered until the record's moment.
  case orphaned = 16
  /// What the configuration decides from here on (`Bus.restoreConfiguration`); empty if that was too long.
  case configuration = 17
}

/// Where a record lies in its area.
nonisolated package struct StatePosition: Hashable, Comparable, Sendable {
  private let rawValue: UInt32

  init(offset: Int) { rawValue = UInt32(offset) }

  /// Bytes from the area's start.
  package var offset: Int { Int(rawValue) }

  package static func < (one: StatePosition, other: StatePosition) -> Bool { one.rawValue < other.rawValue }
}

/// A record of the log, seen where it lies.
///
/// A head of 32 bytes, and the body behind it, filled up with zeros to whole words. In the machine's own byte order:
/// a state never leaves it.
///
///     0  u32  the whole length, a multiple of 8
///     4  u8   the kind
///     5  u8   how many bytes fill the body up, 0 to 7
///     6  u16  0
///     8  u64  the checksum of everything else
///    16  u64  the connection's id
///    24  u64  the moment, in nanoseconds
nonisolated package struct StateRecord: ~Escapable {
  package let kind: StateRecordKind
  package let connection: ConnectionID
  package let moment: Instant
  package let position: StatePosition
  /// All of it, head included.
  let bytes: RawSpan
  private let bodyEnd: Int

  static let headLength = 32
  static let checksumOffset = 8
  static let connectionOffset = 16
  static let momentOffset = 24

  /// What the first word of a record says.
  struct Opening {
    let word: UInt64

    @inline(__always) init(word: UInt64) { self.word = word }

    @inline(__always) init(_ kind: StateRecordKind, bodyLength: Int) {
      let length = (StateRecord.headLength + bodyLength + 7) & ~7
      let padding = length - StateRecord.headLength - bodyLength
      word = UInt64(UInt32(length)) | UInt64(kind.rawValue) << 32 | UInt64(padding) << 40
    }

    var length: Int { Int(UInt32(truncatingIfNeeded: word)) }
    var kind: UInt8 { UInt8(truncatingIfNeeded: word >> 32) }
    var padding: Int { Int(UInt8(truncatingIfNeeded: word >> 40)) }
  }

  /// - Parameter bytes: a record that `checkedLength` has found to be what was written.
  /// - Returns: nil for one of a kind that only newer versions know.
  @_lifetime(copy bytes)
  init?(_ bytes: RawSpan, at position: StatePosition) {
    let opening = Opening(word: bytes.integer(at: 0, as: UInt64.self))
    guard let kind = StateRecordKind(rawValue: opening.kind) else { return nil }
    self.kind = kind
    connection = ConnectionID(rawValue: bytes.integer(at: Self.connectionOffset, as: UInt64.self))
    moment = Instant(nanoseconds: bytes.integer(at: Self.momentOffset, as: UInt64.self))
    self.position = position
    self.bytes = bytes
    bodyEnd = bytes.byteCount - opening.padding
  }

  /// Bytes in the log.
  package var length: Int { bytes.byteCount }

  package var body: RawSpan {
    @_lifetime(copy self)
    get { bytes.extracting(Self.headLength..<bodyEnd) }
  }

  /// The length of the record that begins at `offset`; nil if what lies there is not what was written.
  static func checkedLength(in log: RawSpan, at offset: Int) -> Int? {
    guard log.byteCount - offset >= headLength else { return nil }
    let opening = Opening(word: log.integer(at: offset, as: UInt64.self))
    let length = opening.length
    guard length >= headLength, length % 8 == 0, length <= log.byteCount - offset,
      opening.padding < 8, opening.padding <= length - headLength
    else { return nil }
    let sum = log.integer(at: offset + checksumOffset, as: UInt64.self)
    return checksum(of: log.extracting(offset..<offset + length)) == sum ? length : nil
  }

  /// - Parameter bytes: a whole record.
  static func checksum(of bytes: RawSpan) -> UInt64 {
    let opening = bytes.integer(at: 0, as: UInt64.self)
    return StateChecksum.of(opening, bytes.extracting(droppingFirst: connectionOffset))
  }
}
