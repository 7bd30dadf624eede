// SPDX-License-Identifier: Apache-2.0

/// What a poster wants done with a notification, beyond having it delivered.
package struct PostOptions: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// As with `FrameFlags.none`, what an empty literal is in other modules.
  package static var none: PostOptions { PostOptions(rawValue: 0) }
  /// Is for suspended connections, too, after what they were spared until now.
  package static let immediately = PostOptions(rawValue: 1)
  /// Is kept as the last of its name and object; without userInfo, what was kept is forgotten.
  package static let retain = PostOptions(rawValue: 2)
  /// Takes the place of those of the same name that wait to be delivered.
  package static let coalesceByName = PostOptions(rawValue: 4)
  /// Takes the place of those about the same object. With `coalesceByName`: of the same name and object.
  package static let coalesceByObject = PostOptions(rawValue: 8)
  /// The poster waits until those who observe it so have done their work.
  package static let awaited = PostOptions(rawValue: 16)

  package static let coalescing: PostOptions = [.coalesceByName, .coalesceByObject]
  package static let all: PostOptions = [.immediately, .retain, .coalescing, .awaited]
}

/// When a notification is delivered, as with Cocoa's NSNotificationQueue.
package enum PostingStyle: UInt8, Sendable, CaseIterable {
  case now = 0
  /// At the end of the pass of the run loop that it came in with.
  case asSoonAsPossible = 1
  /// When the run loop has nothing else to do.
  case whenIdle = 2
}

/// A notification. Name, object and userInfo are the frame's tail. Observers receive the frame that
/// the poster sent, byte for byte but for the sender.
///
/// A plain one, which wants nothing in particular, has no fields at all.
package struct Post: FrameFields {
  package static let kind = FrameKind.post
  /// Where the length lies in the fields.
  static let lengthOffset = 6

  package var options: PostOptions
  package var style: PostingStyle
  /// Milliseconds until the poster of an awaited notification goes on anyway; 0 is the bus's own setting.
  package var deadline: UInt32
  /// Bytes of userInfo in the descriptor that came with the frame; 0 without one.
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

/// How many notifications the bus had to drop for this connection at this place in its stream.
package struct Lost: FrameFields {
  package static let kind = FrameKind.lost
  /// Bytes of a whole frame.
  package static let frameLength = FrameHeader.length + 8

  package var count: UInt64

  package init(count: UInt64) { self.count = count }

  package init(from reader: inout FieldReader) throws(WireError) {
    count = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(count)
  }
}

/// What becomes of notifications for a connection that has suspended itself, as with Cocoa's
/// NSDistributedNotificationCenter.
package enum SuspensionBehavior: UInt8, Sendable, CaseIterable {
  /// The last of each name and object is delivered afterwards.
  case coalesce = 0
  /// They are not delivered.
  case drop = 1
  /// All are delivered afterwards, as far as there is room to hold them.
  case hold = 2
  /// They are delivered all the same, after what was held.
  case deliverImmediately = 3
}

package struct ObserveOptions: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// What is retained and matches comes first.
  package static let retained = ObserveOptions(rawValue: 1)
  /// Whoever posts an awaited notification waits for this observer.
  package static let awaited = ObserveOptions(rawValue: 2)

  package static let all: ObserveOptions = [.retained, .awaited]
}

/// An observation. The frame's name is a pattern, its object a filter; either left out is any.
///
/// A plain one has no fields at all.
package struct Observe: FrameFields {
  package static let kind = FrameKind.observe

  package var options: ObserveOptions
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

/// Suspends the sender's notifications, or resumes them.
package struct Suspend: FrameFields {
  package static let kind = FrameKind.suspend

  package var isSuspended: Bool

  package init(isSuspended: Bool) { self.isSuspended = isSuspended }

  package init(from reader: inout FieldReader) throws(WireError) {
    isSuspended = try reader.flag()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(isSuspended)
  }
}

/// A retained notification, for an observation that wanted the snapshot, under whose serial it comes. Its
/// sender is who posted it; name, object and userInfo are the tail.
package struct Retained: FrameFields {
  package static let kind = FrameKind.retained
  /// Where the length lies in the fields.
  static let lengthOffset = 8

  /// Microseconds since it was posted.
  package var age: UInt64
  /// Bytes of userInfo in the descriptor that comes with the frame; 0 without one.
  package var length: UInt32

  package init(age: UInt64, length: UInt32 = 0) {
    self.age = age
    self.length = length
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    age = try reader.integer()
    length = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(age)
    buffer.append(length)
  }
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
