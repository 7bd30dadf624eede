// SPDX-License-Identifier: Apache-2.0

/// An observer has done what an awaited notification wanted done first, or could not.
package struct Done: FrameFields {
  package static let kind = FrameKind.done

  /// The notification: the sender and the serial of its frame.
  package var poster: ConnectionID
  package var post: Serial
  /// It could not; the payload is why.
  package var hasFailed: Bool

  package init(poster: ConnectionID, post: Serial, hasFailed: Bool = false) {
    self.poster = poster
    self.post = post
    self.hasFailed = hasFailed
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    poster = ConnectionID(rawValue: try reader.integer())
    post = try reader.integer()
    hasFailed = try reader.flag()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(poster.rawValue)
    buffer.append(post)
    buffer.append(hasFailed)
  }
}

/// Who was waited for, told to the poster of an awaited notification under its serial.
package struct Awaited: FrameFields {
  package static let kind = FrameKind.awaited

  package enum Failure: UInt8, Sendable, CaseIterable {
    /// It had not done it at the deadline.
    case timedOut = 0
    /// Its connection ended first.
    case gone = 1
    /// It said that it could not.
    case failed = 2
  }

  /// One that had not done it.
  package struct Missing: Equatable, Sendable {
    package var connection: ConnectionID
    package var peer: PeerIdentity
    package var failure: Failure
    /// What it said; else empty.
    package var reason: String
    /// Microseconds from the post to that.
    package var elapsed: UInt64

    package init(
      connection: ConnectionID, peer: PeerIdentity, failure: Failure, reason: String, elapsed: UInt64
    ) {
      self.connection = connection
      self.peer = peer
      self.failure = failure
      self.reason = reason
      self.elapsed = elapsed
    }

    package init(from reader: inout FieldReader) throws(WireError) {
      connection = ConnectionID(rawValue: try reader.integer())
      peer = try PeerIdentity(from: &reader)
      failure = try reader.value()
      reason = try reader.text()
      elapsed = try reader.integer()
    }

    package func append(to buffer: ByteBuffer) {
      buffer.append(connection.rawValue)
      peer.append(to: buffer)
      buffer.append(failure.rawValue)
      buffer.appendField(reason)
      buffer.append(elapsed)
    }
  }

  /// How many have done it.
  package var acknowledged: UInt32
  package var missing: [Missing]

  package init(acknowledged: UInt32, missing: [Missing]) {
    self.acknowledged = acknowledged
    self.missing = missing
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    acknowledged = try reader.integer()
    let count = Int(try reader.integer(UInt32.self))
    missing = []
    for _ in 0..<count {
      var record = try reader.record()
      missing.append(try Missing(from: &record))
    }
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(acknowledged)
    buffer.append(UInt32(missing.count))
    for missing in missing {
      buffer.appendRecord { missing.append(to: $0) }
    }
  }
}
