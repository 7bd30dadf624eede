// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

/// Options of a post beyond plain delivery.
package struct PostOptions: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// In another module, an empty literal takes about 1,000 instructions, because the compiler does not see the
  /// set's implementation there.
  package static var none: PostOptions { PostOptions(rawValue: 0) }
  /// Suspended connections also receive it, after their buffered notifications.
  package static let immediately = PostOptions(rawValue: 1)
  /// Kept as the last of its name and object. Without userInfo, it removes the kept one.
  package static let retain = PostOptions(rawValue: 2)
  /// Replaces waiting notifications of the same name.
  package static let coalesceByName = PostOptions(rawValue: 4)
  /// Replaces waiting notifications about the same object; with `coalesceByName`, of the same name and object.
  package static let coalesceByObject = PostOptions(rawValue: 8)
  /// The poster waits until the awaited observers have acknowledged.
  package static let awaited = PostOptions(rawValue: 16)
  /// With *retain* and the style *now*: removed when the poster's connection has ended for good.
  package static let bound = PostOptions(rawValue: 32)

  package static let all: PostOptions = [
    .immediately, .retain, .coalesceByName, .coalesceByObject, .awaited, .bound,
  ]

  /// Other modules would call the standard library's implementation through witness tables.
  @inlinable package func contains(_ member: PostOptions) -> Bool {
    rawValue & member.rawValue == member.rawValue
  }
}

/// When the bus delivers a notification, as in Cocoa's NSNotificationQueue.
package enum PostingStyle: UInt8, Sendable, CaseIterable {
  case now = 0
  /// At the end of the bus's loop iteration in which it arrived.
  case asSoonAsPossible = 1
  /// When the bus has read all input, or after one second.
  case whenIdle = 2
}

/// A notification.
package struct Post: FrameFields {
  package static let kind = FrameKind.post
  /// Where the field deadline is.
  static let deadlineOffset = 2
  /// Where the field length is.
  static let lengthOffset = 6

  package var options: PostOptions
  package var style: PostingStyle
  /// If *awaited*: milliseconds until the answer; 0 for `deadlineDefault`.
  package var deadline: UInt32
  /// Bytes of userInfo in the descriptor; must be 0 without one (`invalidValue`).
  package var length: UInt32

  package init(
    options: PostOptions = [], style: PostingStyle = .now, deadline: UInt32 = 0, length: UInt32 = 0
  ) {
    self.options = options
    self.style = style
    self.deadline = deadline
    self.length = length
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    self.init()
    if reader.isAtEnd { return }
    options = try reader.options(PostOptions.all)
    style = try reader.value()
    deadline = try reader.integer()
    length = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    if self == Post() { return }
    buffer.append(options.rawValue)
    buffer.append(style.rawValue)
    buffer.append(deadline)
    buffer.append(length)
  }
}

/// The bus has dropped notifications.
package struct Lost: FrameFields {
  package static let kind = FrameKind.lost

  /// Notifications dropped at this place in the stream.
  package var count: UInt64

  package init(count: UInt64) {
    self.count = count
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    count = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(count)
  }
}

/// Options of an observation.
package struct ObserveOptions: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// In another module, an empty literal takes about 1,000 instructions, because the compiler does not see the
  /// set's implementation there.
  package static var none: ObserveOptions { ObserveOptions(rawValue: 0) }
  /// Matching retained notifications are delivered first.
  package static let retained = ObserveOptions(rawValue: 1)
  /// Posters of awaited notifications wait for this observer.
  package static let awaited = ObserveOptions(rawValue: 2)

  package static let all: ObserveOptions = [.retained, .awaited]

  /// Other modules would call the standard library's implementation through witness tables.
  @inlinable package func contains(_ member: ObserveOptions) -> Bool {
    rawValue & member.rawValue == member.rawValue
  }
}

/// How notifications are handled while a connection is suspended, as in Cocoa's NSDistributedNotificationCenter.
package enum SuspensionBehavior: UInt8, Sendable, CaseIterable {
  /// The last of each name and object is delivered on resumption.
  case coalesce = 0
  /// They are dropped.
  case drop = 1
  /// All that fit in the buffer are delivered on resumption.
  case hold = 2
  /// They are delivered at once, after the buffered ones.
  case deliverImmediately = 3
}

/// An observation.
package struct Observe: FrameFields {
  package static let kind = FrameKind.observe

  package var options: ObserveOptions
  /// Applies while the connection is suspended.
  package var suspension: SuspensionBehavior

  package init(options: ObserveOptions = [], suspension: SuspensionBehavior = .coalesce) {
    self.options = options
    self.suspension = suspension
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    self.init()
    if reader.isAtEnd { return }
    options = try reader.options(ObserveOptions.all)
    suspension = try reader.value()
  }

  package func append(to buffer: ByteBuffer) {
    if self == Observe() { return }
    buffer.append(options.rawValue)
    buffer.append(suspension.rawValue)
  }
}

/// How many notifications the client accepts.
package struct Room: FrameFields {
  package static let kind = FrameKind.room

  /// The total of notifications that the bus may send, counted as in `succeed`; in the bus's frame: 0.
  package var limit: UInt64

  package init(limit: UInt64) {
    self.limit = limit
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    limit = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(limit)
  }
}

/// How long this connection's posts may wait for slow observers.
package struct Pace: FrameFields {
  package static let kind = FrameKind.pace

  /// Milliseconds; 0 for the bus's setting, 65,535 for no limit.
  package var limit: UInt16

  package init(limit: UInt16) {
    self.limit = limit
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    limit = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(limit)
  }
}

/// Suspends or resumes notifications.
package struct Suspend: FrameFields {
  package static let kind = FrameKind.suspend

  package var isSuspended: Bool

  package init(isSuspended: Bool) {
    self.isSuspended = isSuspended
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    isSuspended = try reader.flag()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(isSuspended)
  }
}

/// A retained notification.
package struct Retained: FrameFields {
  package static let kind = FrameKind.retained
  /// Where the field length is.
  static let lengthOffset = 8

  /// Microseconds since it was posted.
  package var age: UInt64
  /// Bytes of userInfo in the descriptor; 0 without one.
  package var length: UInt32

  package init(age: UInt64, length: UInt32 = 0) {
    self.age = age
    self.length = length
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(age: reader.integer(), length: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(age)
    buffer.append(length)
  }
}

/// Acknowledges an awaited notification.
package struct Done: FrameFields {
  package static let kind = FrameKind.done

  /// The sender of the notification.
  package var poster: ConnectionID
  /// The notification's serial.
  package var post: UInt64
  package var hasFailed: Bool

  package init(poster: ConnectionID, post: UInt64, hasFailed: Bool = false) {
    self.poster = poster
    self.post = post
    self.hasFailed = hasFailed
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      poster: ConnectionID(rawValue: reader.integer()), post: reader.integer(), hasFailed: reader.flag())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(poster.rawValue)
    buffer.append(post)
    buffer.append(hasFailed)
  }
}

/// Why an observer has not acknowledged.
package enum ObserverFailure: UInt8, Sendable, CaseIterable {
  /// It had not acknowledged at the deadline.
  case timedOut = 0
  /// It disconnected, or stopped observing before it got the notification.
  case gone = 1
  /// It reported a failure.
  case failed = 2
}

/// An observer that has not acknowledged.
package struct MissingObserver: Equatable, Sendable {
  package var connection: ConnectionID
  package var peer: PeerIdentity
  /// Gone: it disconnected, or stopped observing before it got the notification.
  package var failure: ObserverFailure
  /// Of *failed*; else empty.
  package var reason: String
  /// Microseconds from the post to this failure.
  package var elapsed: UInt64

  package init(
    connection: ConnectionID, peer: PeerIdentity, failure: ObserverFailure, reason: String, elapsed: UInt64
  ) {
    self.connection = connection
    self.peer = peer
    self.failure = failure
    self.reason = reason
    self.elapsed = elapsed
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      connection: ConnectionID(rawValue: reader.integer()), peer: PeerIdentity(from: &reader),
      failure: reader.value(), reason: reader.text(), elapsed: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    peer.append(to: buffer)
    buffer.append(failure.rawValue)
    buffer.appendField(reason)
    buffer.append(elapsed)
  }
}

/// Which observers have handled an awaited notification.
package struct Awaited: FrameFields {
  package static let kind = FrameKind.awaited

  /// Number of connections that have sent `done`.
  package var acknowledged: UInt32
  /// The other connections.
  package var missing: [MissingObserver]

  package init(acknowledged: UInt32, missing: [MissingObserver]) {
    self.acknowledged = acknowledged
    self.missing = missing
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    acknowledged = try reader.integer()
    missing = []
    for _ in 0..<(try reader.integer(UInt32.self)) {
      var record = try reader.record()
      missing.append(try MissingObserver(from: &record))
    }
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(acknowledged)
    buffer.append(UInt32(missing.count))
    // A span lends its elements; an array would copy them.
    let missing = missing.span
    for index in missing.indices {
      buffer.appendRecord { buffer in missing[index].append(to: buffer) }
    }
  }
}

/// The identity of a poster.
package struct PosterFacts: FrameFields {
  package static let kind = FrameKind.poster

  /// The sender.
  package var connection: ConnectionID
  /// Where to remember the sender, until another gets the slot.
  package var slot: UInt32
  /// Its process; pid 0, uid and gid 4,294,967,295, and empty texts mean unknown.
  package var peer: PeerIdentity

  package init(connection: ConnectionID, slot: UInt32, peer: PeerIdentity) {
    self.connection = connection
    self.slot = slot
    self.peer = peer
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      connection: ConnectionID(rawValue: reader.integer()), slot: reader.integer(),
      peer: PeerIdentity(from: &reader))
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    buffer.append(slot)
    peer.append(to: buffer)
  }
}

/// Asks for copies of frames from and to clients.
package struct Monitor: FrameFields {
  package static let kind = FrameKind.monitor

  package init() {
  }

  package init(from reader: inout FieldReader) throws(WireError) {
  }

  package func append(to buffer: ByteBuffer) {
  }
}

/// A frame that passed over the bus.
package struct Traffic: FrameFields {
  package static let kind = FrameKind.traffic

  /// Microseconds since 1970, UTC.
  package var time: UInt64
  /// The sending connection; 0 for the bus.
  package var from: ConnectionID
  /// The receiving connection; 0 for a delivered `post` and for a frame to the bus.
  package var to: ConnectionID
  /// Number of receivers; 0 for a frame to the bus alone.
  package var receivers: UInt32

  package init(time: UInt64, from: ConnectionID, to: ConnectionID, receivers: UInt32) {
    self.time = time
    self.from = from
    self.to = to
    self.receivers = receivers
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      time: reader.integer(), from: ConnectionID(rawValue: reader.integer()),
      to: ConnectionID(rawValue: reader.integer()), receivers: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(time)
    buffer.append(from.rawValue)
    buffer.append(to.rawValue)
    buffer.append(receivers)
  }
}
