// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The messages between a bus and its keeper, one in each packet of a Unix socket (SOCK_SEQPACKET).
///
/// The bus sends `attach`, then the descriptors to keep (`batch`) and the items to forget. The keeper
/// acknowledges each of these messages, in order. If the bus resumes another bus, the keeper does not
/// acknowledge `attach`. The keeper instead sends all items except the lease in batches, which the bus
/// acknowledges. The keeper then sends the number of these items (`end`).
///
/// A message is a head of 8 bytes and a body:
///
///     0  u32  length of the body
///     4  u8   kind
///     5  u8   number of descriptors
///     6  u16  0
///
/// A list has a record for each item: its kind (u8) and key (u64). Readers ignore further fields of a record.
nonisolated package enum KeeperMessage: Equatable, Sendable {
  case attach(KeeperAttachment)
  case batch([KeptItem])
  case forget([KeptItem])
  /// Acknowledges the oldest unacknowledged message, and the first `count` of its descriptors.
  case acknowledged(count: Int)
  case end(count: Int)
  /// From a keeper that must end. The bus sends `finished` and leaves, unless it needs this keeper for a
  /// take-over or a hand-over.
  case leaving
  /// From the bus: the keeper must not pass the descriptors to another bus.
  case finished
  case refusal(String)

  package static let version: UInt8 = 1
  /// The kernel passes at most this many descriptors with one packet (SCM_MAX_FD).
  package static let itemsMax = 253
  /// The largest number of unacknowledged messages. With `itemsMax` descriptors each, they stay below the
  /// number of descriptors that a user may have in flight without penalty (UNIX_INFLIGHT_SANE_USER, 2,024).
  package static let windowMax = 7
  /// The length of the longest message, in bytes.
  package static let lengthMax = 8 + 8192

  fileprivate static let headLength = 8

  fileprivate enum Kind: UInt8 {
    case attach = 1
    case batch = 2
    case forget = 3
    case acknowledged = 4
    case end = 5
    case leaving = 6
    case finished = 7
    case refusal = 8
  }

  fileprivate enum Way: UInt8 {
    case begin = 0
    case resume = 1
  }
}

nonisolated package enum KeeperAttachment: Equatable, Sendable {
  case begin
  /// Takes over all descriptors that were kept with the log of this inode. With inode 0, any log matches.
  case resume(log: UInt64)
}

/// The kind and key of a kept descriptor. The key is a connection's cookie, an inode, or 0 for the lease.
nonisolated package struct KeptItem: Hashable, Comparable, Sendable {
  package enum Kind: UInt8, Sendable {
    case log = 1
    case connection = 2
    case file = 3
    /// A listening socket. Its key is the inode of its file.
    case listener = 5
    /// One end of a pair of sockets. The service manager closes the other end when the bus has finally ended.
    case lease = 4
  }

  package let kind: Kind
  package let key: UInt64

  package init(_ kind: Kind, _ key: UInt64) {
    self.kind = kind
    self.key = key
  }

  package static func < (one: Self, other: Self) -> Bool {
    (one.kind.rawValue, one.key) < (other.kind.rawValue, other.key)
  }

  package static func connection(_ cookie: UInt64) -> KeptItem { KeptItem(.connection, cookie) }
  package static func file(_ inode: UInt64) -> KeptItem { KeptItem(.file, inode) }
  package static func log(_ inode: UInt64) -> KeptItem { KeptItem(.log, inode) }
  package static func listener(_ inode: UInt64) -> KeptItem { KeptItem(.listener, inode) }
  package static let lease = KeptItem(.lease, 0)
}

// MARK: Reading and writing

nonisolated extension KeeperMessage {
  package init(_ packet: RawSpan, descriptorCount: Int) throws(WireError) {
    var reader = FieldReader(packet)
    let bodyLength = Int(try reader.integer(UInt32.self))
    let kind: Kind = try reader.value()
    let announced = Int(try reader.integer(UInt8.self))
    _ = try reader.integer(UInt16.self)
    guard bodyLength == packet.byteCount - Self.headLength else {
      throw WireError(.malformedFrame, "a packet of \(packet.byteCount) bytes states a body of \(bodyLength)")
    }
    // A process at its limit on descriptors receives fewer than were sent.
    guard kind == .batch || announced == 0, descriptorCount <= announced else {
      throw WireError(
        .malformedFrame, "\(descriptorCount) descriptors came with a message that states \(announced)")
    }
    switch kind {
    case .attach:
      let version = try reader.integer(UInt8.self)
      guard version == Self.version else {
        throw WireError(
          .unsupportedVersion, "keeper protocol version \(version) is not supported, only \(Self.version)")
      }
      let way: Way = try reader.value()
      let number = try reader.integer(UInt64.self)
      switch way {
      case .begin: self = .attach(.begin)
      case .resume: self = .attach(.resume(log: number))
      }
    case .batch: self = .batch(try Self.items(count: announced, &reader))
    case .forget: self = .forget(try Self.items(count: Int(try reader.integer(UInt8.self)), &reader))
    case .acknowledged: self = .acknowledged(count: Int(try reader.integer(UInt8.self)))
    case .end: self = .end(count: Int(try reader.integer(UInt32.self)))
    case .leaving: self = .leaving
    case .finished: self = .finished
    case .refusal: self = .refusal(try reader.text())
    }
  }

  private static func items(count: Int, _ reader: inout FieldReader) throws(WireError) -> [KeptItem] {
    var items: [KeptItem] = []
    items.reserveCapacity(count)
    for _ in 0..<count {
      var record = try reader.record()
      items.append(KeptItem(try record.value(), try record.integer()))
    }
    return items
  }

  package func append(to buffer: ByteBuffer) {
    let start = buffer.count
    buffer.append(UInt32(0))
    switch self {
    case .attach(let attachment):
      appendHead(.attach, to: buffer)
      buffer.append(Self.version)
      let (way, number): (Way, UInt64) =
        switch attachment {
        case .begin: (.begin, 0)
        case .resume(let log): (.resume, log)
        }
      buffer.append(way.rawValue)
      buffer.append(number)
    case .batch(let items):
      appendHead(.batch, descriptors: items.count, to: buffer)
      Self.append(items, to: buffer)
    case .forget(let items):
      appendHead(.forget, to: buffer)
      buffer.append(UInt8(items.count))
      Self.append(items, to: buffer)
    case .acknowledged(let count):
      appendHead(.acknowledged, to: buffer)
      buffer.append(UInt8(count))
    case .end(let count):
      appendHead(.end, to: buffer)
      buffer.append(UInt32(count))
    case .leaving: appendHead(.leaving, to: buffer)
    case .finished: appendHead(.finished, to: buffer)
    case .refusal(let reason):
      appendHead(.refusal, to: buffer)
      buffer.appendField(reason.prefix(utf8Length: 4096))
    }
    buffer.store(UInt32(buffer.count - start - Self.headLength), at: start)
  }

  private func appendHead(_ kind: Kind, descriptors: Int = 0, to buffer: ByteBuffer) {
    buffer.append(kind.rawValue)
    buffer.append(UInt8(descriptors))
    buffer.append(UInt16(0))
  }

  private static func append(_ items: [KeptItem], to buffer: ByteBuffer) {
    for item in items {
      buffer.appendRecord { record in
        record.append(item.kind.rawValue)
        record.append(item.key)
      }
    }
  }
}
