// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

private final class OpenFile: AttachedFile {
  let number: Int
  let length: Int
  let rawDescriptor: Int32 = -1

  init(_ number: Int, length: Int) {
    self.number = number
    self.length = length
  }
}

struct QueuedTraffic: ~Copyable {
  struct Unread: Equatable {
    var notifications: UInt64
    var lost: UInt64
    var others: UInt64
    var isMidFrame: Bool
  }

  private struct Reference {
    weak var file: OpenFile?
  }

  var queue = OutboundQueue()
  private var files: [Reference] = []
  private var sentFiles: Set<Int> = []
  var sent: [UInt8] = []
  var pool: BufferPool?
  private var buffer = ByteBuffer(capacity: 0)

  init(posts: Int = 0) {
    for number in 0..<posts { queue(.post, number) }
  }

  mutating func startNewBuffer() { buffer = ByteBuffer(capacity: 0) }

  var openCount: Int { files.count { $0.file != nil } }
  var openLength: Int {
    files.reduce(0) { $0 + ($1.file.map { sentFiles.contains($0.number) ? 0 : $0.length } ?? 0) }
  }

  /// `length` is the attached file's. A verdict must not be dropped.
  mutating func queue(_ kind: FrameKind, _ number: Int, payloadLength: Int = 0, attached length: Int? = nil) {
    if let length {
      let file = OpenFile(number, length: length)
      files.append(Reference(file: file))
      buffer = ByteBuffer(capacity: 64, attachment: file)
    }
    let start = buffer.count
    let payload = ByteBuffer(
      holding: Array(repeating: UInt8(truncatingIfNeeded: number), count: payloadLength))
    if kind == .post {
      buffer.appendFrame(Post(), serial: Serial(number), name: "a", payload: payload.bytes)
    } else {
      let verdict = Verdict(query: QueryID(rawValue: 1), verdict: .allowed, isUnanswered: true, outcomes: [])
      buffer.appendFrame(verdict, serial: Serial(number))
    }
    queueSlice(ByteSlice(buffer, start..<buffer.count), isNotification: kind == .post, count: 1)
    if length != nil { startNewBuffer() }
  }

  mutating func queueHello() {
    let start = buffer.count
    Hello().append(to: buffer)
    queue.append(ByteSlice(buffer, start..<buffer.count), isNotification: false)
  }

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

  @discardableResult
  mutating func send(_ count: Int) -> [Int] {
    var piece: [UInt8] = []
    var numbers: [Int] = []
    queue.forEachUnsent { range, buffer in
      if let file = buffer.attachment as? OpenFile, range.lowerBound == 0 {
        #expect(piece.isEmpty, "a file does not begin its send")
        numbers.append(file.number)
      }
      piece += Array(buffer.bytes(in: range)).prefix(count - piece.count)
      return piece.count < count
    }
    sent += piece
    sentFiles.formUnion(numbers)
    queue.consume(piece.count)
    return numbers
  }

  mutating func forgetRead() {
    let (ends, count) = (Self.ends(in: ByteBuffer(holding: sent + unsent)), sent.count)
    sent.removeFirst(ends.last { $0 <= count } ?? 0)
  }

  private static func isHello(_ stream: ByteBuffer, at position: Int) -> Bool {
    stream.bytes.integer(at: position, as: UInt64.self) == Hello.magic
  }

  private static func ends(in stream: ByteBuffer) -> [Int] {
    var ends = [0]
    while let end = ends.last, end < stream.count {
      let length =
        isHello(stream, at: end) ? Hello.length : Int(stream.bytes.integer(at: end, as: UInt32.self))
      ends.append(end + length)
    }
    return ends
  }

  var unsent: [UInt8] {
    var bytes: [UInt8] = []
    queue.forEachUnsent { range, buffer in
      bytes += Array(buffer.bytes(in: range))
      return true
    }
    return bytes
  }

  var unread: Unread {
    let stream = ByteBuffer(holding: sent + unsent)
    var (notifications, lost, others, isMidFrame) = (UInt64(0), UInt64(0), UInt64(0), false)
    let ends = Self.ends(in: stream)
    for (start, end) in zip(ends, ends.dropFirst()) where end > sent.count {
      isMidFrame = isMidFrame || start < sent.count
      let isHello = Self.isHello(stream, at: start)
      let header = isHello ? nil : FrameHeader.peek(stream.bytes, at: start, limits: .fromBus)
      switch header?.kind {
      case .post: notifications += 1
      case .lost: lost += stream.bytes.integer(at: start + FrameHeader.length, as: UInt64.self)
      default: others += 1
      }
    }
    return Unread(notifications: notifications + lost, lost: lost, others: others, isMidFrame: isMidFrame)
  }

  var counted: Unread {
    Unread(
      notifications: queue.unsentNotificationCount, lost: queue.unreportedLostCount,
      others: queue.unsentControlCount, isMidFrame: queue.isMidFrame)
  }

  mutating func handOver() throws(WireError) {
    var fresh = OutboundQueue()
    fresh.lostCount = queue.lostCount - queue.unreportedLostCount
    try queue.forEachWaiting { (part) throws(WireError) in
      // The other process gets only the bytes.
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

  /// For each frame: a notification's number, `verdict` and its number, or `lost` and a count.
  var received: [String] {
    let stream = ByteBuffer(holding: sent + unsent)
    var frames: [String] = []
    var position = 0
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
