// SPDX-License-Identifier: Apache-2.0

extension RawSpan {
  /// A hello, or a whole frame that has been checked, must begin at `offset`.
  package func frameLength(at offset: Int) -> Int {
    let length = integer(at: offset, as: UInt32.self)
    // Read as a length, the magic number's first 4 bytes are 1.2 GB. Frames are shorter: their fields and
    // their payload have at most about 1 GiB each, and no frame has both long fields and a long payload.
    return length == UInt32(truncatingIfNeeded: Hello.magic) ? Hello.length : Int(length)
  }

  package func frameKind(at offset: Int) -> FrameKind? {
    FrameKind(rawValue: integer(at: offset + FrameHeader.kindOffset, as: UInt8.self))
  }

  package func frameSender(at offset: Int) -> ConnectionID {
    ConnectionID(rawValue: integer(at: offset + FrameHeader.senderOffset, as: UInt64.self))
  }

  package func frameSerial(at offset: Int) -> Serial {
    integer(at: offset + FrameHeader.serialOffset, as: Serial.self)
  }

  package func lostCount(at offset: Int) -> UInt64 {
    integer(at: offset + FrameHeader.length, as: UInt64.self)
  }

  package var isIntroduction: Bool {
    byteCount >= FrameHeader.length && !isHello(at: 0) && frameKind(at: 0) == .poster
  }

  package func isHello(at offset: Int) -> Bool {
    byteCount - offset >= Hello.length && integer(at: offset, as: UInt64.self) == Hello.magic
  }
}

extension ByteBuffer {
  package func frameLength(at offset: Int) -> Int { bytes.frameLength(at: offset) }

  package func stamp(_ sender: ConnectionID, frameAt offset: Int) {
    store(sender.rawValue, at: offset + FrameHeader.senderOffset)
  }

  package func setFrameLength(_ length: Int, frameAt offset: Int) { store(UInt32(length), at: offset) }

  package func setLostCount(_ count: UInt64, frameAt offset: Int) {
    store(count, at: offset + FrameHeader.length)
  }

  /// The frame must be an `ask`, or a `post` with fields.
  package func setDeadline(_ deadline: UInt32, frameAt offset: Int) {
    let fields = bytes.frameKind(at: offset) == .ask ? Ask.deadlineOffset : Post.deadlineOffset
    store(deadline, at: offset + FrameHeader.length + fields)
  }

  package func setExpiry(_ expiry: UInt64, ofHoldAt offset: Int) {
    store(expiry, at: offset + FrameHeader.length + Hold.expiryOffset)
  }

  /// Appends a copy of `frame` that announces userInfo in the payload instead of in a file. The caller must
  /// then append the `length` bytes of userInfo. `frame` must be a `post` or a `retained` with fields.
  package func appendInlined(_ frame: RawSpan, userInfoLength length: Int) {
    guard var header = FrameHeader.peek(frame, at: 0, limits: .fromBus) else {
      preconditionFailure("the header of an accepted frame is invalid")
    }
    let lengthOffset: Int
    switch header.kind {
    case .post: lengthOffset = Post.lengthOffset
    case .retained: lengthOffset = Retained.lengthOffset
    default: preconditionFailure("a frame of kind \(header.rawKind) cannot have a file")
    }
    header.flags.remove(.descriptor)
    header.frameLength += length
    let start = count
    header.append(to: self)
    append(frame.extracting(droppingFirst: FrameHeader.length))
    store(UInt32(0), at: start + FrameHeader.length + lengthOffset)
  }
}

extension FrameView {
  package var observeOptions: ObserveOptions? {
    fields.byteCount < 1 ? nil : ObserveOptions(rawValue: fields.integer(at: 0, as: UInt8.self))
  }

  /// The posting style as received, which can be invalid. nil if the fields are too short.
  package var rawPostingStyle: UInt8? { fields.byteCount < 10 ? nil : fields.integer(at: 1, as: UInt8.self) }

  /// Also works if the poster has set options that this version does not know.
  package var isAwaitedPost: Bool {
    guard header.fieldsLength > 0 else { return false }
    return PostOptions(rawValue: fields.integer(at: 0, as: UInt8.self)).contains(.awaited)
  }

  package var wantsReply: Bool {
    header.flags.contains(.acknowledge) || (header.kind == .post && isAwaitedPost)
  }

  /// In milliseconds. 0 if the frame sets no deadline. The frame must have all its fields.
  package var deadline: UInt32 {
    if header.kind == .ask { return fields.integer(at: Ask.deadlineOffset, as: UInt32.self) }
    guard header.kind == .post, header.fieldsLength > 0 else { return 0 }
    return fields.integer(at: Post.deadlineOffset, as: UInt32.self)
  }

  /// In bytes: the length of the payload, or of the file that a `post` has instead of a payload. The frame
  /// must have all its fields.
  package var userInfoLength: Int {
    guard header.kind == .post, header.flags.contains(.descriptor) else { return header.payloadLength }
    return Int(fields.integer(at: Post.lengthOffset, as: UInt32.self))
  }

  /// The serial that a `cancel` refers to. nil for other frames. A `cancel` must have all its fields.
  package var cancelledSerial: Serial? {
    header.kind == .cancel ? fields.integer(at: 0, as: Serial.self) : nil
  }

  /// The query of an `answer` or a `defer`. nil if the fields are too short.
  package var queryID: QueryID? {
    fields.byteCount < 8 ? nil : QueryID(rawValue: fields.integer(at: 0, as: UInt64.self))
  }

  /// The post that a `done` acknowledges. nil if the fields are too short.
  package var donePost: (poster: ConnectionID, serial: Serial)? {
    guard fields.byteCount >= 16 else { return nil }
    return (
      ConnectionID(rawValue: fields.integer(at: 0, as: UInt64.self)), fields.integer(at: 8, as: Serial.self)
    )
  }
}

extension ByteSlice {
  /// The slice must consist of whole, accepted frames.
  package func firstHeader(_ limits: FrameLimits) -> FrameHeader { header(at: range.lowerBound, limits) }

  /// The slice must consist of whole, accepted frames.
  package func forEachFrame(limits: FrameLimits, _ body: (FrameHeader, ByteSlice) -> Void) {
    var position = range.lowerBound
    while position < range.upperBound {
      let header = header(at: position, limits)
      body(header, ByteSlice(buffer, position..<position + header.frameLength))
      position += header.frameLength
    }
  }

  private func header(at position: Int, _ limits: FrameLimits) -> FrameHeader {
    guard let header = FrameHeader.peek(buffer.bytes, at: position, limits: limits) else {
      preconditionFailure("an accepted frame must have a header")
    }
    return header
  }
}
