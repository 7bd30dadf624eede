// SPDX-License-Identifier: Apache-2.0

/// The limits for the parts of a frame, in bytes.
package struct FrameLimits: Equatable, Sendable {
  package var fields: Int
  package var payload: Int

  package init(fields: Int, payload: Int) {
    self.fields = fields
    self.payload = payload
  }

  /// The limits for frames from the bus. Lists and verdicts can have long fields. A frame to a monitor has
  /// another whole frame as its payload.
  package static let fromBus = FrameLimits(
    fields: 1 << 30, payload: WireLimits.payloadLengthCeiling + (1 << 20))
}

/// The first 32 bytes of every frame. They contain the lengths of all parts of the frame.
///
///     0   4   length of the whole frame, this header included
///     4   1   kind
///     5   1   flags
///     6   1   length of the name
///     7   1   length of the object
///     8   8   sender: the connection's id, written only by the bus
///     16  8   serial
///     24  4   length of the fields
///     28  4   zero
///
/// The fields, the name, the object and the payload follow in this order. Name, object and payload are
/// adjacent, because the bus sends them on in one piece, under another header with other fields.
package struct FrameHeader: Equatable, Sendable {
  package static let length = 32
  static let kindOffset = 4
  static let senderOffset = 8
  static let serialOffset = 16
  static let fieldsLengthOffset = 24

  package var frameLength: Int
  /// The kind as received. It can be one that this version does not know.
  package var rawKind: UInt8
  package var flags: FrameFlags
  package var nameLength: Int
  package var objectLength: Int
  package var sender: ConnectionID
  package var serial: Serial
  package var fieldsLength: Int

  package var kind: FrameKind? { FrameKind(rawValue: rawKind) }

  /// Returns nil until all 32 bytes have arrived. Throws if a length contradicts another or exceeds `limits`.
  /// The caller must allocate memory for the frame only after this check.
  package init?(_ bytes: RawSpan, at start: Int, limits: FrameLimits) throws(WireError) {
    guard bytes.byteCount - start >= Self.length else { return nil }
    frameLength = Int(bytes.integer(at: start, as: UInt32.self))
    let kindFlagsLengths = bytes.integer(at: start + 4, as: UInt32.self)
    rawKind = UInt8(truncatingIfNeeded: kindFlagsLengths)
    flags = FrameFlags(rawValue: UInt8(truncatingIfNeeded: kindFlagsLengths >> 8))
    nameLength = Int(UInt8(truncatingIfNeeded: kindFlagsLengths >> 16))
    objectLength = Int(UInt8(truncatingIfNeeded: kindFlagsLengths >> 24))
    sender = ConnectionID(rawValue: bytes.integer(at: start + 8, as: UInt64.self))
    serial = bytes.integer(at: start + 16, as: UInt64.self)
    fieldsLength = Int(bytes.integer(at: start + 24, as: UInt32.self))

    guard frameLength >= payloadStart else {
      throw WireError(.malformedFrame, "a frame of \(frameLength) bytes is shorter than its parts")
    }
    guard fieldsLength <= limits.fields else {
      throw WireError(.frameTooLong, "fields of \(fieldsLength) bytes are over the limit of \(limits.fields)")
    }
    guard payloadLength <= limits.payload else {
      throw WireError(
        .frameTooLong, "a payload of \(payloadLength) bytes is over the limit of \(limits.payload)")
    }
  }

  package static func peek(_ bytes: RawSpan, at start: Int, limits: FrameLimits) -> FrameHeader? {
    do throws(WireError) {
      return try FrameHeader(bytes, at: start, limits: limits)
    } catch {
      return nil
    }
  }

  package init(
    kind: FrameKind, flags: FrameFlags = [], sender: ConnectionID = .bus, serial: Serial,
    fieldsLength: Int = 0, nameLength: Int = 0, objectLength: Int = 0, payloadLength: Int = 0
  ) {
    precondition(nameLength <= WireLimits.nameLength && objectLength <= WireLimits.objectLength)
    rawKind = kind.rawValue
    self.flags = flags
    self.sender = sender
    self.serial = serial
    self.fieldsLength = fieldsLength
    self.nameLength = nameLength
    self.objectLength = objectLength
    frameLength = Self.length + fieldsLength + nameLength + objectLength + payloadLength
  }

  package var nameStart: Int { Self.length + fieldsLength }
  package var objectStart: Int { nameStart + nameLength }
  package var payloadStart: Int { objectStart + objectLength }
  package var payloadLength: Int { frameLength - payloadStart }

  package func append(to buffer: ByteBuffer) {
    let start = buffer.count
    buffer.skip(Self.length)
    store(in: buffer, at: start)
  }

  /// Overwrites 32 bytes at `start` that were appended or skipped before.
  fileprivate func store(in buffer: ByteBuffer, at start: Int) {
    let kindFlagsLengths =
      UInt32(rawKind) | UInt32(flags.rawValue) << 8 | UInt32(nameLength) << 16 | UInt32(objectLength) << 24
    buffer.store(UInt64(UInt32(frameLength)) | UInt64(kindFlagsLengths) << 32, at: start)
    buffer.store(sender.rawValue, at: start + Self.senderOffset)
    buffer.store(serial, at: start + Self.serialOffset)
    buffer.store(UInt64(UInt32(fieldsLength)), at: start + Self.fieldsLengthOffset)
  }
}

/// A whole frame, as its header and its bytes.
package struct FrameView: ~Escapable {
  package let header: FrameHeader
  package let bytes: RawSpan

  @_lifetime(copy bytes)
  package init(_ header: FrameHeader, _ bytes: RawSpan) {
    precondition(bytes.byteCount == header.frameLength)
    self.header = header
    self.bytes = bytes
  }

  package var fields: RawSpan {
    @_lifetime(copy self)
    get { bytes.extracting(FrameHeader.length..<header.nameStart) }
  }

  package var name: RawSpan {
    @_lifetime(copy self)
    get { bytes.extracting(header.nameStart..<header.objectStart) }
  }

  package var object: RawSpan {
    @_lifetime(copy self)
    get { bytes.extracting(header.objectStart..<header.payloadStart) }
  }

  package var payload: RawSpan {
    @_lifetime(copy self)
    get { bytes.extracting(header.payloadStart..<header.frameLength) }
  }

  /// Ignores bytes behind the known fields, because a newer peer can append fields.
  package func decode<F: FrameFields>(_ type: F.Type) throws(WireError) -> F {
    var reader = FieldReader(fields)
    return try F(from: &reader)
  }
}

package protocol FrameFields: Equatable, Sendable {
  static var kind: FrameKind { get }
  /// In milliseconds. 0 if the frame sets no deadline: the bus then applies its default.
  var deadline: UInt32 { get set }
  /// For a registration, the fields of the frame with which a client repeats the registration after
  /// reconnecting.
  var renewal: Self { get }
  init(from reader: inout FieldReader) throws(WireError)
  func append(to buffer: ByteBuffer)
}

extension FrameFields {
  package var deadline: UInt32 {
    get { 0 }
    set { preconditionFailure("a frame of kind \(Self.kind) has no deadline") }
  }

  package var renewal: Self { self }
}

extension ByteBuffer {
  /// Appends the header and the fields. The caller must then append the name, the object and the payload,
  /// with the given lengths.
  package func appendHead<F: FrameFields>(
    of fields: F, flags: FrameFlags = [], sender: ConnectionID = .bus, serial: Serial,
    nameLength: Int = 0, objectLength: Int = 0, payloadLength: Int = 0
  ) {
    let start = count
    skip(FrameHeader.length)
    fields.append(to: self)
    FrameHeader(
      kind: F.kind, flags: flags, sender: sender, serial: serial,
      fieldsLength: count - start - FrameHeader.length, nameLength: nameLength, objectLength: objectLength,
      payloadLength: payloadLength
    ).store(in: self, at: start)
  }

  package func appendFrame<F: FrameFields>(
    _ fields: F, flags: FrameFlags = [], sender: ConnectionID = .bus, serial: Serial,
    name: String = "", object: String = "", payload: RawSpan
  ) {
    appendHead(
      of: fields, flags: flags, sender: sender, serial: serial, nameLength: name.utf8.count,
      objectLength: object.utf8.count, payloadLength: payload.byteCount)
    append(name)
    append(object)
    append(payload)
  }

  package func appendFrame<F: FrameFields>(
    _ fields: F, flags: FrameFlags = [], sender: ConnectionID = .bus, serial: Serial,
    name: String = "", object: String = "", text: String = ""
  ) {
    appendHead(
      of: fields, flags: flags, sender: sender, serial: serial, nameLength: name.utf8.count,
      objectLength: object.utf8.count, payloadLength: text.utf8.count)
    append(name)
    append(object)
    append(text)
  }

  /// Appends the bytes of the text, without a length before them.
  package func append(_ text: String) {
    if text.isEmpty { return }
    append(text.utf8Bytes)
  }
}

extension Begin {
  /// Query 0 tells the bus that the action began without this bus, before the client connected.
  package var renewal: Begin { Begin(query: QueryID(rawValue: 0), stage: stage) }
}

extension Hold {
  /// Omits `isLast`, because the client sends further frames over its new socket.
  package var renewal: Hold { Hold(expiry: expiry, label: label, holder: holder) }
}
