// SPDX-License-Identifier: Apache-2.0

/// An observer has finished its work for an awaited notification, or has failed.
package struct Done: FrameFields {
  package static let kind = FrameKind.done

  /// The notification, identified by the sender and the serial of its frame.
  package var poster: ConnectionID
  package var post: Serial
  /// Whether the observer failed; the payload then has the reason.
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

/// The reply to the poster of an awaited notification, with the serial of the post.
package struct Awaited: FrameFields {
  package static let kind = FrameKind.awaited

  package enum Failure: UInt8, Sendable, CaseIterable {
    /// It had not acknowledged at the deadline.
    case timedOut = 0
    /// Its connection ended before it acknowledged.
    case gone = 1
    /// It reported a failure.
    case failed = 2
  }

  /// An observer that has not acknowledged.
  package struct Missing: Equatable, Sendable {
    package var connection: ConnectionID
    package var peer: PeerIdentity
    package var failure: Failure
    /// The reason that it gave; empty if none.
    package var reason: String
    /// Microseconds from the post to the failure.
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

  /// How many observers have acknowledged.
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
