// SPDX-License-Identifier: Apache-2.0

/// A notification. Name, object and userInfo are the frame's tail. Observers receive the frame that
/// the poster sent, byte for byte but for the sender.
package struct Post: FrameFields {
  package static let kind = FrameKind.post

  package init() {}
  package init(from reader: inout FieldReader) throws(WireError) {}
  package func append(to buffer: ByteBuffer) {}
}

/// How many notifications the bus had to drop for this connection at this place in its stream.
package struct Lost: FrameFields {
  package static let kind = FrameKind.lost

  package var count: UInt64

  package init(count: UInt64) { self.count = count }

  package init(from reader: inout FieldReader) throws(WireError) {
    count = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(count)
  }
}

/// An observation. The frame's name is a pattern, its object a filter; either left out is any.
package struct Observe: FrameFields {
  package static let kind = FrameKind.observe

  package init() {}
  package init(from reader: inout FieldReader) throws(WireError) {}
  package func append(to buffer: ByteBuffer) {}
}

/// Asks for a copy of all that passes under the frame's name, a pattern; left out is any.
package struct Monitor: FrameFields {
  package static let kind = FrameKind.monitor

  package init() {}
  package init(from reader: inout FieldReader) throws(WireError) {}
  package func append(to buffer: ByteBuffer) {}
}

/// One frame that passed, for a monitor. The frame is the payload, whole.
package struct Traffic: FrameFields {
  package static let kind = FrameKind.traffic

  /// Microseconds since 1970, UTC.
  package var time: UInt64
  package var from: ConnectionID
  /// Whom it went to; the bus, when it went to no single connection.
  package var to: ConnectionID
  /// How many received it.
  package var receivers: UInt32

  package init(time: UInt64, from: ConnectionID, to: ConnectionID, receivers: UInt32) {
    self.time = time
    self.from = from
    self.to = to
    self.receivers = receivers
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    time = try reader.integer()
    from = ConnectionID(rawValue: try reader.integer())
    to = ConnectionID(rawValue: try reader.integer())
    receivers = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(time)
    buffer.append(from.rawValue)
    buffer.append(to.rawValue)
    buffer.append(receivers)
  }
}
