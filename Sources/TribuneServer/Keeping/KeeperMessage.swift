// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What a bus and its keeper say to each other, over a Unix socket of sequenced packets: a message is a packet.
///
/// The bus says first how it attaches. It then sends what is to be kept, many descriptors with one message, and takes
/// back what has ended. The keeper acknowledges each of these messages, in order. To a bus that resumes, it first gives
/// all that it keeps, in messages of the same kind, which the bus acknowledges; then it says how many descriptors that
/// were.
///
/// A bus that replaces another one is given all of that too, once the other one has said `yours`. When it is `ready`, the
/// keeper tells the other one that its bus is `over`, and then the new one that the place is `yours`: never do two have
/// it. The other one goes on if it is sent a refusal instead, or hangs up. Each `wanted` has one answer, `yours` or a
/// refusal, before there is another one; and so has each `yours` of a bus, `over` or a refusal.
///
/// A message is a head of 8 bytes, and a body:
///
///     0  u32  length of the body
///     4  u8   kind
///     5  u8   descriptors
///     6  u16  0
///
/// A list of items has a record for each: its kind, u8, and its key, u64. As on the wire, what a record has behind the
/// fields that its reader knows is left alone.
nonisolated package enum KeeperMessage: Equatable, Sendable {
  case attach(KeeperAttachment)
  /// The items' descriptors come with it, in their order.
  case batch([KeptItem])
  case forget([KeptItem])
  /// The next unacknowledged message was taken, and so many of its descriptors, from the first on.
  case taken(count: Int)
  /// Everything was given: so many descriptors.
  case end(count: Int)
  /// From the keeper: it is to end. A bus that can do without it says `over`, and looks for the next keeper.
  case leaving
  /// From the bus: nobody is to resume it. From the keeper: another one has its place.
  case over
  /// From the keeper: another bus wants the place of this one, and knows logs up to this version.
  case wanted(logVersion: UInt32)
  /// From the bus that was asked: everything is kept, and nothing happens any more. From the keeper: the place is the
  /// other one's.
  case yours
  /// From the bus that has been given another one's place: it can go on with it.
  case ready
  /// From the keeper: why it does not serve the bus any more, or why the bus keeps its place. From a bus that was asked
  /// for its place: why it does not give it.
  case refusal(String)

  package static let version: UInt8 = 1
  /// Items of one message; descriptors that the kernel passes with one packet (SCM_MAX_FD).
  package static let itemsMax = 253
  /// Messages that one side sends ahead of the acknowledgements. Together with `itemsMax`, that is fewer descriptors
  /// than the kernel lets a user have under way without penalty (UNIX_INFLIGHT_SANE_USER, 2,024).
  package static let windowMax = 7
  /// The longest message, in bytes.
  package static let lengthMax = 8 + 8192

  fileprivate static let headLength = 8

  fileprivate enum Kind: UInt8 {
    case attach = 1
    case batch = 2
    case forget = 3
    case taken = 4
    case end = 5
    case leaving = 6
    case over = 7
    case refusal = 8
    case wanted = 9
    case yours = 10
    case ready = 11
  }

  fileprivate enum Way: UInt8 {
    case begin = 0
    case resume = 1
    case replace = 2
  }
}

/// How a bus attaches to its keeper.
nonisolated package enum KeeperAttachment: Equatable, Sendable {
  /// With nothing: what is kept from before ends.
  case begin
  /// Takes over what is kept with the write-ahead log of this inode; with any one if it is 0.
  case resume(log: UInt64)
  /// Takes the place of the bus that is served, if there is one. It knows logs up to this version.
  case replace(logVersion: UInt32)
}

/// Something that is kept, and how it is found again: a connection by its cookie, the others by an inode.
nonisolated package struct KeptItem: Hashable, Comparable, Sendable {
  package enum Kind: UInt8, Sendable {
    /// The write-ahead log.
    case log = 1
    case connection = 2
    /// A file in memory.
    case file = 3
    /// A listening socket, with the inode of its file.
    case listener = 5
    /// One end of a pair of sockets, of which the service manager has the other: whoever closes that has ended the
    /// bus for good.
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
  /// - Parameter descriptorCount: how many came with it.
  /// - Throws: `malformedFrame`, `invalidValue`.
  package init(_ packet: RawSpan, descriptorCount: Int) throws(WireError) {
    var reader = FieldReader(packet)
    let bodyLength = Int(try reader.integer(UInt32.self))
    let kind: Kind = try reader.value()
    let announced = Int(try reader.integer(UInt8.self))
    _ = try reader.integer(UInt16.self)
    guard bodyLength == packet.byteCount - Self.headLength else {
      throw WireError(.malformedFrame, "a packet of \(packet.byteCount) bytes has a body of \(bodyLength)")
    }
    // A process at its limit on descriptors receives fewer than were sent.
    guard kind == .batch || announced == 0, descriptorCount <= announced else {
      throw WireError(
        .malformedFrame, "\(descriptorCount) descriptors come with a message that has \(announced)")
    }
    switch kind {
    case .attach:
      let version = try reader.integer(UInt8.self)
      guard version == Self.version else {
        throw WireError(.unsupportedVersion, "a keeper's version is \(Self.version), not \(version)")
      }
      let way: Way = try reader.value()
      let number = try reader.integer(UInt64.self)
      switch way {
      case .begin: self = .attach(.begin)
      case .resume: self = .attach(.resume(log: number))
      case .replace: self = .attach(.replace(logVersion: UInt32(clamping: number)))
      }
    case .batch: self = .batch(try Self.items(count: announced, &reader))
    case .forget: self = .forget(try Self.items(count: Int(try reader.integer(UInt8.self)), &reader))
    case .taken: self = .taken(count: Int(try reader.integer(UInt8.self)))
    case .end: self = .end(count: Int(try reader.integer(UInt32.self)))
    case .leaving: self = .leaving
    case .over: self = .over
    case .wanted: self = .wanted(logVersion: try reader.integer())
    case .yours: self = .yours
    case .ready: self = .ready
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
        case .replace(let logVersion): (.replace, UInt64(logVersion))
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
    case .taken(let count):
      appendHead(.taken, to: buffer)
      buffer.append(UInt8(count))
    case .end(let count):
      appendHead(.end, to: buffer)
      buffer.append(UInt32(count))
    case .leaving: appendHead(.leaving, to: buffer)
    case .over: appendHead(.over, to: buffer)
    case .wanted(let logVersion):
      appendHead(.wanted, to: buffer)
      buffer.append(logVersion)
    case .yours: appendHead(.yours, to: buffer)
    case .ready: appendHead(.ready, to: buffer)
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
