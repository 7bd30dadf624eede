// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// What monitors see: each frame that passes, wrapped in one that says who sent it to whom.
///
/// A monitor is an observer like any other: what it does not read in time is dropped, and told.
extension BusServer {
  /// Shows a run of posts.
  func monitorPosts(_ run: ByteSlice, receivers: Int, from poster: Connection) {
    var position = run.range.lowerBound
    while position < run.range.upperBound {
      guard let header = FrameHeader.peek(run.buffer.bytes, at: position, limits: poster.limits) else {
        preconditionFailure("a frame that was taken has no header")
      }
      let frame = ByteSlice(run.buffer, position..<position + header.frameLength)
      let name = run.buffer.bytes(in: position + header.nameStart..<position + header.objectStart)
      show([frame], under: name, from: poster.id, to: .bus, receivers: receivers)
      position += header.frameLength
    }
  }

  /// Shows a post that wanted more than to be handed on, when it is.
  func monitorPost(_ slice: ByteSlice, receivers: Int, from poster: ConnectionID) {
    guard let header = FrameHeader.peek(slice.bytes, at: 0, limits: .fromBus) else {
      preconditionFailure("a frame that was taken has no header")
    }
    let name = slice.bytes.extracting(header.nameStart..<header.objectStart)
    show([slice], under: name, from: poster, to: .bus, receivers: receivers)
  }

  /// Shows a frame that a client sent to the bus itself.
  func monitorFrame(_ frame: FrameView, _ slice: ByteSlice, from connection: Connection) {
    switch frame.header.kind {
    case .ask: show([slice], under: frame.name, from: connection.id, to: .bus, receivers: 0)
    case .answer, .defer:
      // Both begin with the query's id; what is wrong with them is told by whoever takes them.
      guard frame.fields.byteCount >= 8 else { return }
      let query = QueryID(rawValue: frame.fields.integer(at: 0, as: UInt64.self))
      guard let tail = bus.tail(of: query) else { return }
      let name = tail.slice.bytes.extracting(first: tail.nameLength)
      show([slice], under: name, from: connection.id, to: .bus, receivers: 0)
    default: return
    }
  }

  /// - Parameter rest: what follows `slice` in the same frame.
  func monitorQuestion(
    _ slice: ByteSlice, _ rest: ByteSlice?, _ tail: QueryTail, from asker: ConnectionID,
    to delegate: ConnectionID
  ) {
    let name = tail.slice.bytes.extracting(first: tail.nameLength)
    show([slice] + (rest.map { [$0] } ?? []), under: name, from: asker, to: delegate, receivers: 1)
  }

  func monitorVerdict(_ verdict: ByteSlice, _ tail: QueryTail, to asker: ConnectionID) {
    let name = tail.slice.bytes.extracting(first: tail.nameLength)
    show([verdict], under: name, from: .bus, to: asker, receivers: 1)
  }

  /// Shows what the bus itself posts.
  ///
  /// - Parameter isTold: whether others are told of a monitor that does not keep up with it.
  func monitorAnnouncement(_ slice: ByteSlice, name: String, receivers: Int, isTold: Bool) {
    show([slice], under: name.utf8Bytes, from: .bus, to: .bus, receivers: receivers, isTold: isTold)
  }

  /// - Parameter parts: the frame, in one piece or in two.
  private func show(
    _ parts: [ByteSlice], under name: RawSpan, from: ConnectionID, to: ConnectionID, receivers: Int,
    isTold: Bool = true
  ) {
    let monitors: [Receiver]
    do throws(WireError) {
      monitors = try bus.monitors(of: name)
    } catch {
      // The frame is refused for its name, and nobody monitors what is no name.
      return
    }
    guard !monitors.isEmpty else { return }
    let traffic = Traffic(
      time: SystemClock.wallMicroseconds, from: from, to: to, receivers: UInt32(clamping: receivers))
    let buffer = bufferToEncode()
    let start = buffer.count
    buffer.appendHead(
      of: traffic, serial: 0, payloadLength: parts.reduce(0) { $0 + $1.count })
    for part in parts { buffer.append(part.bytes) }
    let slice = ByteSlice(buffer, start..<buffer.count)
    for receiver in monitors {
      guard let monitor = connections[receiver.slot.index] else {
        preconditionFailure("a monitor has no connection")
      }
      deliverWithoutPacing(slice, to: monitor, isTold: isTold)
    }
  }
}
