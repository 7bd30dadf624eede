// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneVarlink
import TribuneWire

/// Keeps partial frames until the rest arrives.
///
/// Most reads from a busy poster end within a frame. For each such frame, a pooled buffer saves three
/// allocations. If all pooled buffers are in use, a short partial frame gets a new buffer, just long enough
/// for its bytes so far.
final class PartialFrames {
  static let messageTooLong = WireError(
    .frameTooLong, "a message is longer than \(VarlinkCall.lengthMax) bytes")

  /// The most unhandled bytes of a Varlink client: the longest message, and one further read.
  private static let messagesMax = VarlinkCall.lengthMax + 65_536
  /// The greatest length of a short frame, in bytes.
  static let shortLength = 16_384
  private static let pooledMax = 4

  private var free: [ByteBuffer] = []
  private var lentCount = 0
  private let accounts: Accounts
  var reservedByteCount: Int { accounts.used(.partialFrames) }

  init(_ accounts: Accounts) { self.accounts = accounts }

  /// True if the frame is long. `FrameReader` then reads the socket directly into the frame's buffer.
  static func isLong(_ partial: ByteBuffer) -> Bool { partial.capacity > shortLength }

  /// Each user has a share of the bytes for long partial frames: a user that never completes its frames must
  /// not keep others from sending. The limit on connections also limits short partial frames.
  func keep(_ buffer: ByteBuffer, from start: Int, of session: Session) throws(WireError) {
    let count = buffer.count - start
    if let partial = session.input.partial, partial === buffer {
      if start == 0 { return }
      release(session)
    }
    guard count > 0 else { return release(session) }
    let frameLength = try FrameHeader(buffer.bytes, at: start, limits: session.limits)?.frameLength ?? count
    let reserved = frameLength > Self.shortLength ? frameLength : 0
    if reserved > 0 { try accounts.require(reserved, of: .partialFrames, for: session.account) }
    try copy(buffer.bytes(in: start..<buffer.count), reserving: reserved, for: session)
  }

  /// A message's length is unknown until its end arrives, so a long message's buffer doubles when it is full.
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
