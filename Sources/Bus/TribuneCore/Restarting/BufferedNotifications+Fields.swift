// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension BufferedNotifications {
  /// Appends the notifications to `buffer`. Returns their files in order.
  func append(to buffer: ByteBuffer) -> [any AttachedFile] {
    var files: [any AttachedFile] = []
    buffer.append(lostCount)
    buffer.append(UInt32(runs.count))
    runs.visit { run, keys in
      buffer.append(!keys.isEmpty)
      buffer.append(run.slice.buffer.attachment != nil)
      if let file = run.slice.buffer.attachment { files.append(file) }
      buffer.appendBytesField(run.slice.bytes)
    }
    buffer.append(coalescedCount)
    return files
  }

  mutating func restore(_ restored: RestoredBuffer) {
    for run in restored.runs {
      append(Run(slice: run.slice, count: run.count), under: run.isCoalescing ? run.slice.coalescingKey : nil)
    }
    lostCount += restored.lostCount
    coalescedCount += restored.coalescedCount
  }
}

struct RestoredBuffer {
  private(set) var lostCount: UInt64
  private(set) var coalescedCount: UInt64
  private(set) var runs: [(slice: ByteSlice, count: UInt64, isCoalescing: Bool)] = []

  /// Each run must consist of whole posts. A run that has a file or can be replaced must have only one post.
  init(from reader: inout FieldReader, attachments: [any AttachedFile]) throws(WireError) {
    lostCount = try reader.integer()
    guard lostCount <= BusCounters.most else {
      throw WireError(.invalidValue, "a number of \(lostCount) dropped notifications is out of range")
    }
    var files = attachments[...]
    for _ in 0..<Int(try reader.integer(UInt32.self)) {
      let isCoalescing = try reader.flag()
      let hasFile = try reader.flag()
      let bytes = try reader.bytesField()
      let count = try Self.countPosts(in: bytes)
      guard !hasFile || !files.isEmpty else {
        throw WireError(.missingDescriptor, "the file of a buffered notification is missing")
      }
      guard count == 1 || !hasFile && !isCoalescing else {
        throw WireError(.invalidValue, "a run of \(count) notifications has a file, or can be replaced")
      }
      let own = ByteBuffer(holding: bytes, attachment: hasFile ? files.removeFirst() : nil)
      runs.append((ByteSlice(own, 0..<own.count), count, isCoalescing))
    }
    coalescedCount = try reader.integer()
    guard coalescedCount <= BusCounters.most else {
      throw WireError(.invalidValue, "a number of \(coalescedCount) coalesced notifications is out of range")
    }
    guard files.isEmpty else {
      throw WireError(.unexpectedDescriptors, "\(files.count) files belong to no buffered notification")
    }
  }

  private static func countPosts(in bytes: RawSpan) throws(WireError) -> UInt64 {
    var (position, count) = (0, UInt64(0))
    repeat {
      guard let header = try FrameHeader(bytes, at: position, limits: .fromBus), header.kind == .post,
        header.frameLength <= bytes.byteCount - position
      else { throw WireError(.malformedFrame, "a buffered notification is not a whole post") }
      let frame = bytes.extracting(position..<position + header.frameLength)
      try frame.extracting(header.nameStart..<header.objectStart).requireName()
      try frame.extracting(header.objectStart..<header.payloadStart).requireObject()
      position += header.frameLength
      count += 1
    } while position < bytes.byteCount
    return count
  }
}

extension ByteSlice {
  /// The name and the object, joined by NUL, which neither of them contains.
  var coalescingKey: ExactText {
    let header = firstHeader
    let name = String(repairing: bytes.extracting(header.nameStart..<header.objectStart))
    let object = String(repairing: bytes.extracting(header.objectStart..<header.payloadStart))
    return ExactText("\(name)\0\(object)")
  }
}
