// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneVarlink
import TribuneWire

/// Keeps the starts of frames until the rest comes.
///
/// Most reads of a busy poster end within a frame. A few buffers that have space for any short frame are used again,
/// which saves these posters the three allocations of a new one. Where more connections than that have a partial frame,
/// each gets a buffer of just the bytes that it has.
final class PartialFrames {
  static let messageTooLong = WireError(
    .frameTooLong, "a message is longer than \(VarlinkCall.lengthMax) bytes")

  /// A message, and what one read brings behind it.
  private static let messagesMax = VarlinkCall.lengthMax + 65_536
  /// Longest frame that is short, in bytes.
  static let shortLength = 16_384
  private static let pooledMax = 4

  private var free: [ByteBuffer] = []
  private var lentCount = 0
  private let accounts: Accounts
  var reservedByteCount: Int { accounts.used(.partialFrames) }

  init(_ accounts: Accounts) { self.accounts = accounts }

  /// Whether a partial frame has a buffer for the whole frame, into which the socket is read directly.
  static func isLong(_ partial: ByteBuffer) -> Bool { partial.capacity > shortLength }

  /// Keeps the partial frame that begins at `start`, if any bytes are left there.
  ///
  /// Each user has a share of the bytes that all long partial frames may take, so who begins long frames and never
  /// completes them keeps no other user from sending. The number of connections bounds the short ones.
  ///
  /// - Throws: `outOfMemory`, or an error of the frame's header.
  func keep(_ buffer: ByteBuffer, from start: Int, of session: Session) throws(WireError) {
    let count = buffer.count - start
    if let partial = session.input.partial, partial === buffer {
      // The whole buffer still is the same partial frame.
      if start == 0 { return }
      release(session)
    }
    guard count > 0 else { return release(session) }
    let frameLength = try FrameHeader(buffer.bytes, at: start, limits: session.limits)?.frameLength ?? count
    let reserved = frameLength > Self.shortLength ? frameLength : 0
    if reserved > 0 { try accounts.require(reserved, of: .partialFrames, for: session.account) }
    try copy(buffer.bytes(in: start..<buffer.count), reserving: reserved, for: session)
  }

  /// Keeps the messages of a client that speaks Varlink from `start` on, if there are any: the last one can be incomplete.
  /// Their length is not known before their end, so long ones get twice the space each time.
  ///
  /// - Throws: `outOfMemory`, or `frameTooLong`.
  func keepMessages(_ buffer: ByteBuffer, from start: Int, of session: Session) throws(WireError) {
    let count = buffer.count - start
    let isSame = session.input.partial === buffer
    if isSame, start == 0, count < buffer.capacity { return }
    guard count > 0 else { return release(session) }
    guard count < Self.messagesMax else { throw Self.messageTooLong }
    let reserved = count < Self.shortLength ? 0 : min(Self.messagesMax, 2 * count)
    let before = isSame ? session.input.partialReserved : 0
    if reserved > before {
      try accounts.require(reserved - before, of: .partialFrames, for: session.account)
    }
    try copy(buffer.bytes(in: start..<buffer.count), reserving: reserved, for: session)
  }

  /// - Parameter reserved: bytes that are charged; 0 for what is short.
  private func copy(_ bytes: RawSpan, reserving reserved: Int, for session: Session) throws(WireError) {
    let partial =
      reserved > 0 ? try ProgramHeap.buffer(capacity: reserved) : shortBuffer(for: bytes.byteCount)
    partial.append(bytes)
    release(session)
    session.input.partial = partial
    session.input.partialReserved = reserved
    accounts.charge(reserved, of: .partialFrames, to: session.account)
  }

  func release(_ session: Session) {
    guard let partial = session.input.partial else { return }
    accounts.charge(-session.input.partialReserved, of: .partialFrames, to: session.account)
    session.input.partialReserved = 0
    session.input.partial = nil
    guard partial.capacity == Self.shortLength else { return }
    lentCount -= 1
    partial.truncate(to: 0)
    free.append(partial)
  }

  private func shortBuffer(for count: Int) -> ByteBuffer {
    precondition(
      count < Self.shortLength, "a short frame must have under \(Self.shortLength) bytes, not \(count)")
    guard lentCount < Self.pooledMax else { return ByteBuffer(capacity: count) }
    lentCount += 1
    return free.popLast() ?? ByteBuffer(capacity: Self.shortLength)
  }
}
