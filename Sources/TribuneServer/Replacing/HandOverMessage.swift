// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What two daemons say to each other while one takes the other's place.
///
/// It begins behind the `ok` to the frame `replace`, and nothing of the bus's protocol comes after that. The bus sends
/// its descriptors, many with one message, and how many that were. The other one says that it is ready, if it can use
/// all of it; until then, the bus may go on as if nothing had happened. With `yours`, which is sent once and in one
/// piece, the place changes hands: who has sent it is not the bus any more, and who receives it is.
///
/// A message is a head of 8 bytes, with whose first the descriptors come, and a body:
///
///     0  u32  length of the body
///     4  u8   kind
///     5  u8   descriptors
///     6  u16  0
///
/// The body of a batch is a record for each of its descriptors, in their order: what it is, u8; of a listening socket
/// also its file's device and inode, u64 each, both 0 if the file is not the bus's, and its path, a text. As on the
/// wire, what a record has behind the fields that its reader knows is left alone.
nonisolated package enum HandOverMessage: Equatable, Sendable {
  case batch([HandedOver])
  /// All descriptors were sent: so many.
  case end(count: Int)
  /// All of it has come, and can be used.
  case ready
  case yours
  /// Nothing comes of it, and why.
  case refusal(String)

  package static let headLength = 8
  package static let admittedBodyLengthMax = 65_536

  fileprivate enum Kind: UInt8 {
    case batch = 1
    case end = 2
    case ready = 3
    case yours = 4
    case refusal = 5
  }

  /// What a head says.
  struct Head {
    let bodyLength: Int
    let descriptorCount: Int
    fileprivate let kind: Kind

    /// - Throws: `malformedFrame`, `invalidValue`.
    init(_ bytes: RawSpan) throws(WireError) {
      var reader = FieldReader(bytes)
      bodyLength = Int(try reader.integer(UInt32.self))
      kind = try reader.value()
      descriptorCount = Int(try reader.integer(UInt8.self))
      guard bodyLength <= HandOverMessage.admittedBodyLengthMax else {
        throw WireError(.malformedFrame, "a message of \(bodyLength) bytes is too long")
      }
      guard kind == .batch || descriptorCount == 0 else {
        throw WireError(.malformedFrame, "descriptors come with a message that has none")
      }
    }
  }

  /// - Throws: `malformedFrame`, `invalidValue`.
  init(_ head: Head, body: RawSpan) throws(WireError) {
    var reader = FieldReader(body)
    switch head.kind {
    case .batch:
      var batch: [HandedOver] = []
      for _ in 0..<head.descriptorCount { batch.append(try HandedOver(from: &reader)) }
      self = .batch(batch)
    case .end: self = .end(count: Int(try reader.integer(UInt32.self)))
    case .ready: self = .ready
    case .yours: self = .yours
    case .refusal: self = .refusal(try reader.text())
    }
  }

  package func append(to buffer: ByteBuffer) {
    let start = buffer.count
    buffer.append(UInt32(0))
    switch self {
    case .batch(let batch):
      appendHead(.batch, descriptors: batch.count, to: buffer)
      for one in batch { one.append(to: buffer) }
    case .end(let count):
      appendHead(.end, to: buffer)
      buffer.append(UInt32(count))
    case .ready: appendHead(.ready, to: buffer)
    case .yours: appendHead(.yours, to: buffer)
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
}

/// What a descriptor is that a bus hands over.
nonisolated package enum HandedOver: Equatable, Sendable {
  case state
  case connection
  /// A file in memory.
  case file
  /// - Parameter file: the socket's file, if it is the bus's own to remove.
  case listener(path: String, file: SocketFile?)

  private enum Kind: UInt8 {
    case state = 1
    case connection = 2
    case file = 3
    case listener = 4
  }

  fileprivate init(from reader: inout FieldReader) throws(WireError) {
    var record = try reader.record()
    switch try record.value(Kind.self) {
    case .state: self = .state
    case .connection: self = .connection
    case .file: self = .file
    case .listener:
      let file = SocketFile(device: try record.integer(), inode: try record.integer())
      self = .listener(path: try record.text(), file: file == SocketFile(device: 0, inode: 0) ? nil : file)
    }
  }

  fileprivate func append(to buffer: ByteBuffer) {
    buffer.appendRecord { record in
      switch self {
      case .state: record.append(Kind.state.rawValue)
      case .connection: record.append(Kind.connection.rawValue)
      case .file: record.append(Kind.file.rawValue)
      case .listener(let path, let file):
        record.append(Kind.listener.rawValue)
        record.append(file?.device ?? 0)
        record.append(file?.inode ?? 0)
        record.appendField(path)
      }
    }
  }
}
