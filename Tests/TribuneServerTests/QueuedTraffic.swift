// SPDX-License-Identifier: Apache-2.0

import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

/// A queue, the frames that go into it, and the reader at its end.
struct QueuedTraffic: ~Copyable {
  /// What a reader has not got whole.
  struct Unread: Equatable {
    var notifications: UInt64
    /// Those of them that it has not been told are lost.
    var lost: UInt64
    var others: UInt64
    var isMidFrame: Bool
  }

  var queue = OutboundQueue()
  /// What the reader has got.
  var sent: [UInt8] = []
  /// Where what is short is copied to, if it is.
  var pool: BufferPool?
  private var buffer = ByteBuffer(capacity: 0)

  mutating func startNewBuffer() { buffer = ByteBuffer(capacity: 0) }

  /// Queues a frame whose serial is `number`: a notification, or a verdict, which must not be dropped.
  mutating func queue(_ kind: FrameKind, _ number: Int, payloadLength: Int = 0) {
    let start = buffer.count
    let payload = ByteBuffer(
      holding: Array(repeating: UInt8(truncatingIfNeeded: number), count: payloadLength))
    if kind == .post {
      buffer.appendFrame(Post(), serial: Serial(number), name: "a", payload: payload.bytes)
    } else {
      let verdict = Verdict(
        query: QueryID(rawValue: 1), verdict: .allowed, isUnanswered: true, outcomes: [])
      buffer.appendFrame(verdict, serial: Serial(number))
    }
    queueSlice(ByteSlice(buffer, start..<buffer.count), isNotification: kind == .post, count: 1)
  }

  /// Queues the hello, which is no frame.
  mutating func queueHello() {
    let start = buffer.count
    Hello().append(to: buffer)
    queue.append(ByteSlice(buffer, start..<buffer.count), isNotification: false)
  }

  /// Queues a frame in two parts, as the bus does with a long one.
  mutating func queueCut(_ number: Int, payloadLength: Int) {
    let whole = ByteBuffer(capacity: 0)
    let payload = ByteBuffer(
      holding: Array(repeating: UInt8(truncatingIfNeeded: number), count: payloadLength))
    whole.appendFrame(
      Verdict(query: QueryID(rawValue: 2), verdict: .allowed, isUnanswered: true, outcomes: []),
      serial: Serial(number), payload: payload.bytes)
    let start = buffer.count
    buffer.append(whole.bytes.extracting(0..<whole.count - payloadLength))
    let rest = ByteBuffer(holding: [0])
    rest.append(payload.bytes)
    queueSlice(ByteSlice(buffer, start..<buffer.count), isNotification: false, count: 0)
    queueSlice(ByteSlice(rest, 1..<rest.count), isNotification: false, count: 1)
  }

  /// Queues so many notifications at once, with serials from `number` on.
  mutating func queueRun(_ number: Int, count: Int) {
    let start = buffer.count
    for serial in number..<number + count { buffer.appendFrame(Post(), serial: Serial(serial), name: "a") }
    queueSlice(ByteSlice(buffer, start..<buffer.count), isNotification: true, count: count)
  }

  private mutating func queueSlice(_ slice: ByteSlice, isNotification: Bool, count: Int) {
    if let pool {
      queue.append(slice, isNotification: isNotification, count: count, copyingInto: pool)
    } else {
      queue.append(slice, isNotification: isNotification, count: count)
    }
  }

  /// Lets the reader have at most `count` bytes.
  mutating func send(_ count: Int) {
    var piece: [UInt8] = []
    queue.forEachUnsent { range, buffer in
      piece += Array(buffer.bytes(in: range)).prefix(count - piece.count)
      return piece.count < count
    }
    sent += piece
    queue.consume(piece.count)
  }

  /// Leaves what the reader has got whole out of `sent`.
  mutating func forgetRead() {
    let stream = ByteBuffer(holding: sent + unsent)
    var position = 0
    while position < sent.count {
      let isHello = stream.bytes.integer(at: position, as: UInt64.self) == Hello.magic
      let length = isHello ? Hello.length : Int(stream.bytes.integer(at: position, as: UInt32.self))
      guard position + length <= sent.count else { break }
      position += length
    }
    sent.removeFirst(position)
  }

  var unsent: [UInt8] {
    var bytes: [UInt8] = []
    queue.forEachUnsent { range, buffer in
      bytes += Array(buffer.bytes(in: range))
      return true
    }
    return bytes
  }

  /// What the reader has not got whole, as its stream has it.
  var unread: Unread {
    let stream = ByteBuffer(holding: sent + unsent)
    var (notifications, lost, others, isMidFrame) = (UInt64(0), UInt64(0), UInt64(0), false)
    var position = 0
    while position < stream.count {
      let start = position
      let isHello = stream.bytes.integer(at: start, as: UInt64.self) == Hello.magic
      position += isHello ? Hello.length : Int(stream.bytes.integer(at: start, as: UInt32.self))
      guard position > sent.count else { continue }
      isMidFrame = isMidFrame || start < sent.count
      let header = isHello ? nil : FrameHeader.peek(stream.bytes, at: start, limits: .fromBus)
      switch header?.kind {
      case .post: notifications += 1
      case .lost: lost += stream.bytes.integer(at: start + FrameHeader.length, as: UInt64.self)
      default: others += 1
      }
    }
    return Unread(notifications: notifications + lost, lost: lost, others: others, isMidFrame: isMidFrame)
  }

  /// Where the frames that wait end, with the beginning of the first.
  var frameEnds: [Int] {
    let stream = ByteBuffer(holding: unsent)
    var ends = [0]
    while let end = ends.last, end < stream.count {
      let isHello = stream.bytes.integer(at: end, as: UInt64.self) == Hello.magic
      ends.append(end + (isHello ? Hello.length : Int(stream.bytes.integer(at: end, as: UInt32.self))))
    }
    return ends
  }

  /// What the queue counts of that.
  var counted: Unread {
    Unread(
      notifications: queue.unsentNotificationCount, lost: queue.untoldLostCount,
      others: queue.unsentOtherCount, isMidFrame: queue.isMidFrame)
  }

  /// Goes on with a queue that has been handed what waits.
  mutating func handOver() throws(WireError) {
    var fresh = OutboundQueue()
    fresh.restore(lostCount: queue.lostCount)
    try queue.forEachWaiting { (part) throws(WireError) in
      // The other process has the bytes alone.
      let copy = ByteBuffer(capacity: part.slice.count)
      copy.append(part.slice.bytes)
      var part = part
      part.slice = ByteSlice(copy, 0..<copy.count)
      try fresh.restore(part)
    }
    queue = fresh
  }

  var pieceCount: Int {
    var count = 0
    queue.forEachUnsent { _, _ in
      count += 1
      return true
    }
    return count
  }

  /// What the reader makes of everything, once it has got what waits: a notification's number, `verdict`
  /// and its number, or `lost` and how many.
  var received: [String] {
    let stream = ByteBuffer(holding: sent + unsent)
    var frames: [String] = []
    var position = 0
    if stream.count >= 8, stream.bytes.integer(at: 0, as: UInt64.self) == Hello.magic {
      frames.append("hello")
      position = Hello.length
    }
    while let header = FrameHeader.peek(stream.bytes, at: position, limits: .fromBus) {
      switch header.kind {
      case .post: frames.append("\(header.serial)")
      case .lost:
        let count = stream.bytes.integer(at: position + FrameHeader.length, as: UInt64.self)
        frames.append("lost \(count)")
      default: frames.append("verdict \(header.serial)")
      }
      position += header.frameLength
    }
    if position != stream.count { frames.append("\(stream.count - position) bytes that are no frame") }
    return frames
  }
}
