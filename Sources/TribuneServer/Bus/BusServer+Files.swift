// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// userInfo that comes as a sealed file in memory, and goes on as the same file to whoever takes one.
///
/// The bus never maps such a file: what it reads of one, for those who take no files and for the check of objects
/// that have a protocol, it copies. A frame with a file lies in a buffer of its own, so that what it came in with is
/// not kept for its sake.
extension BusServer {
  /// After which an observer is looked at again that has not taken the files that it was sent. One that is lossy
  /// may never.
  private static let passNanoseconds: UInt64 = 10_000_000
  private static let passLossyNanoseconds: UInt64 = 250_000_000

  // MARK: Closing

  /// Closes what is left of a socket that is shut, whatever its peer has sent that nobody has read: that is let go of
  /// with it, descriptors too.
  func closeUnread(_ connection: Connection) {
    do throws(Errno) {
      guard try UnixSocket.hasUnread(connection.descriptor) else { return }
      let socket = try connection.descriptor.duplicate()
      // The connection goes on having a descriptor, of which it does not matter when it is closed.
      try connection.descriptor.replace(by: try FileDescriptor.duplicate(of: alarm.rawValue))
      descriptorQuota.close(socket, of: connection.peer.uid)
    } catch {
      log.debug("what connection \(connection.id) has sent is let go of here: \(error)")
    }
  }

  // MARK: Frames

  /// Takes a frame whose userInfo came in a descriptor.
  ///
  /// - Throws: what ends the connection.
  func takeWithFile(
    _ header: FrameHeader, of connection: Connection, in buffer: ByteBuffer, at start: Int
  ) throws(WireError) {
    guard header.kind == .post else {
      throw WireError(.unexpectedDescriptors, "no frame of kind \(header.rawKind) comes with a descriptor")
    }
    guard let passed = connection.descriptors.popFirst() else {
      throw WireError(.missingDescriptor, "a frame came without the descriptor that it speaks of")
    }
    buffer.store(connection.id.rawValue, at: start + FrameHeader.senderOffset)
    let bytes = buffer.bytes(in: start..<start + header.frameLength)
    do throws(WireError) {
      let own = try frameBuffer(
        for: FrameView(header, bytes), with: passed, of: connection.peer.uid, limit: connection.limits.payload
      )
      own.append(bytes)
      let slice = ByteSlice(own, 0..<own.count)
      let frame = FrameView(header, own.bytes)
      if bus.isDeclared(frame.object) { try check(slice) }
      try take(frame, in: slice, of: connection)
    } catch {
      guard !error.code.closesConnection else { throw error }
      refuse(connection, serial: header.serial, error)
      try descriptorQuota.requireClosed(of: connection.peer.uid)
    }
  }

  /// A buffer for a frame, with the file that came with it.
  ///
  /// - Throws: `invalidDescriptor`, `invalidValue`, `limitExceeded`, with which the descriptor is closed.
  private func frameBuffer(
    for frame: FrameView, with passed: consuming PassedDescriptors.Passed, of user: UInt32, limit: Int
  ) throws(WireError) -> ByteBuffer {
    let descriptor: FileDescriptor
    switch consume passed {
    case .descriptor(let passed): descriptor = passed
    case .lost: throw WireError(.limitExceeded, "the bus could have no more descriptors when one came")
    case .foreign: throw WireError(.invalidDescriptor, "\(MemoryFile.Flaw.notInMemory)")
    }
    let held = descriptorQuota.files(of: user)
    let length: Int
    do throws(WireError) {
      length = try checkedLength(of: descriptor.rawValue, for: frame, held, of: user, limit: limit)
    } catch {
      descriptorQuota.close(descriptor, of: user)
      throw error
    }
    return iteration.fileFrames.make(
      with: descriptor, length: length, countedIn: (descriptorQuota.files, held), of: user)
  }

  /// How long a file is that came with a frame, and can be taken.
  private func checkedLength(
    of descriptor: CInt, for frame: FrameView, _ held: InFlightFile.Count, of user: UInt32, limit: Int
  ) throws(WireError) -> Int {
    let length = Int(try frame.decode(Post.self).length)
    guard frame.header.payloadLength == 0 else {
      throw WireError(.invalidValue, "userInfo came in a descriptor and as payload")
    }
    guard length >= WireLimits.descriptorPayloadLength else {
      throw WireError(
        .invalidDescriptor,
        "userInfo in a descriptor has \(WireLimits.descriptorPayloadLength) bytes or more, not \(length)")
    }
    guard length <= limit else {
      throw WireError(.invalidValue, "userInfo of \(length) bytes is over the limit of \(limit)")
    }
    try descriptorQuota.requireFileQuota(of: user, having: held)
    do throws(MemoryFile.Flaw) {
      try MemoryFile.check(descriptor, length: length)
    } catch {
      throw WireError(.invalidDescriptor, "userInfo of \(length) bytes is not in a sealed file: \(error)")
    }
    return length
  }

  /// Holds what a file holds against the protocol of the post's object.
  private func check(_ slice: ByteSlice) throws(WireError) {
    guard let inline = inlined(slice),
      let header = FrameHeader.peek(inline.bytes, at: 0, limits: .fromBus)
    else { throw WireError(.invalidDescriptor, "what came in the descriptor cannot be read") }
    try bus.check(post: FrameView(header, inline.bytes))
  }

  // MARK: Going out

  /// The same frame with its userInfo as payload, for those who take no files: made once for all of them.
  ///
  /// - Returns: nil when the file cannot be read.
  func inlined(_ slice: ByteSlice) -> ByteSlice? {
    if let inlined = iteration.inlined, inlined.original === slice.buffer { return inlined.copy }
    guard let file = slice.buffer.attachment as? InFlightFile,
      var header = FrameHeader.peek(slice.bytes, at: 0, limits: .fromBus)
    else { preconditionFailure("what is to be sent inline is no frame with a file") }
    let lengthOffset: Int
    switch header.kind {
    case .post: lengthOffset = Post.lengthOffset
    case .retained: lengthOffset = Retained.lengthOffset
    default: preconditionFailure("a frame of kind \(header.rawKind) has a file")
    }
    let copy: ByteBuffer
    do throws(WireError) {
      copy = try ProgramHeap.buffer(capacity: header.frameLength + file.length)
    } catch {
      log.warning("a file of \(file.length) bytes cannot be read: \(error.message)")
      return nil
    }
    header.flags.remove(.descriptor)
    header.frameLength += file.length
    header.append(to: copy)
    copy.append(slice.bytes.extracting(droppingFirst: FrameHeader.length))
    copy.store(UInt32(0), at: FrameHeader.length + lengthOffset)
    do throws(Errno) {
      try MemoryFile.append(file, to: copy)
    } catch {
      log.warning("a file of \(file.length) bytes cannot be read: \(error)")
      return nil
    }
    let inline = ByteSlice(copy, 0..<copy.count)
    iteration.inlined = (slice.buffer, inline)
    return inline
  }

  /// Whether a file can be sent to an observer now.
  ///
  /// What it has been sent and has not taken counts in no queue, and is the memory of whoever posted it; the kernel
  /// would let hundreds of files wait for an observer that never reads.
  func canPass(_ file: any AttachedFile, to connection: Connection) -> Bool {
    guard connection.passedByteCount > 0,
      connection.passedByteCount + file.length > configuration.hardLimitBytes
    else { return true }
    do throws(Errno) {
      guard try UnixSocket.isDrained(connection.descriptor) else { return false }
    } catch {
      preconditionFailure("a socket does not say what has been read of it: \(error)")
    }
    connection.passedByteCount = 0
    return true
  }

  /// Has an observer looked at again that cannot be sent a file now: no event tells when it can.
  func watchForRoomToPass(_ connection: Connection) {
    guard !connection.isWatchedForRoomToPass else { return }
    connection.isWatchedForRoomToPass = true
    // One that is lossy is looked at less often.
    let interval = connection.flow == .lossy ? Self.passLossyNanoseconds : Self.passNanoseconds
    timeouts.insert(.pass, connection.token, due: now.advanced(byNanoseconds: interval))
  }

  func checkRoomToPass(of connection: Connection) {
    connection.isWatchedForRoomToPass = false
    scheduleFlush(connection)
  }
}
