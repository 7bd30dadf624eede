// SPDX-License-Identifier: Apache-2.0

/// Options of a post beyond plain delivery.
package struct PostOptions: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Cheaper than an empty literal, as `FrameFlags.none` is.
  package static var none: PostOptions { PostOptions(rawValue: 0) }
  /// Delivered to suspended connections too, after what is buffered for them.
  package static let immediately = PostOptions(rawValue: 1)
  /// Kept as the last of its name and object. Without userInfo, the kept one is removed.
  package static let retain = PostOptions(rawValue: 2)
  /// Replaces waiting notifications of the same name.
  package static let coalesceByName = PostOptions(rawValue: 4)
  /// Replaces waiting notifications about the same object; with `coalesceByName`, of the same name and object.
  package static let coalesceByObject = PostOptions(rawValue: 8)
  /// The poster waits until the awaited observers have acknowledged.
  package static let awaited = PostOptions(rawValue: 16)

  package static let coalescing: PostOptions = [.coalesceByName, .coalesceByObject]
  package static let all: PostOptions = [.immediately, .retain, .coalescing, .awaited]
}

/// When a notification is delivered; the styles of Cocoa's NSNotificationQueue.
package enum PostingStyle: UInt8, Sendable, CaseIterable {
  case now = 0
  /// At the end of the bus's loop iteration in which it arrived.
  case asSoonAsPossible = 1
  /// When the bus has nothing else to do.
  case whenIdle = 2
}

/// A notification. Name, object and userInfo are the frame's tail. Observers receive the poster's frame, byte for
/// byte except for the sender.
///
/// A post without options has no fields at all.
package struct Post: FrameFields {
  package static let kind = FrameKind.post
  /// The offsets of the deadline and of the length in the fields.
  static let deadlineOffset = 2
  static let lengthOffset = 6

  package var options: PostOptions
  package var style: PostingStyle
  /// Milliseconds until the poster of an awaited notification gets a reply; 0 selects the bus's default.
  package var deadline: UInt32
  /// Bytes of userInfo in the descriptor that came with the frame; 0 without a descriptor.
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

/// How many notifications the bus has dropped for this connection at this point of its stream.
package struct Lost: FrameFields {
  package static let kind = FrameKind.lost
  /// Bytes of a whole frame.
  package static let frameLength = FrameHeader.length + 8

  package var count: UInt64

  package init(count: UInt64) { self.count = count }

  package init(from reader: inout FieldReader) throws(WireError) { count = try reader.integer() }

  package func append(to buffer: ByteBuffer) { buffer.append(count) }
}

/// The handling of notifications while a connection is suspended; the behaviours of Cocoa's
/// NSDistributedNotificationCenter.
package enum SuspensionBehavior: UInt8, Sendable, CaseIterable {
  /// The last of each name and object is delivered on resumption.
  case coalesce = 0
  /// They are dropped.
  case drop = 1
  /// All are delivered on resumption, as far as the buffer holds them.
  case hold = 2
  /// They are delivered at once, after what is buffered.
  case deliverImmediately = 3
}

package struct ObserveOptions: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Matching retained notifications are delivered first.
  package static let retained = ObserveOptions(rawValue: 1)
  /// Posters of awaited notifications wait for this observer.
  package static let awaited = ObserveOptions(rawValue: 2)

  package static let all: ObserveOptions = [.retained, .awaited]
}

/// An observation. The frame's name is a pattern and its object a filter; either may be left out, which means any.
///
/// A plain observation has no fields at all.
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

/// Suspends or resumes the delivery of notifications to the sender.
package struct Suspend: FrameFields {
  package static let kind = FrameKind.suspend

  package var isSuspended: Bool

  package init(isSuspended: Bool) { self.isSuspended = isSuspended }

  package init(from reader: inout FieldReader) throws(WireError) { isSuspended = try reader.flag() }

  package func append(to buffer: ByteBuffer) { buffer.append(isSuspended) }
}

/// A retained notification, for an observation that asked for retained ones. It has that observation's serial, and
/// the poster as its sender. Name, object and userInfo are the frame's tail.
package struct Retained: FrameFields {
  package static let kind = FrameKind.retained
  /// The offset of the length in the fields.
  static let lengthOffset = 8

  /// Microseconds since it was posted.
  package var age: UInt64
  /// Bytes of userInfo in the descriptor that comes with the frame; 0 without a descriptor.
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

/// Requests a copy of all traffic under the frame's name, which is a pattern; without a name, of all traffic.
package struct Monitor: FrameFields {
  package static let kind = FrameKind.monitor

  package init() {}
  package init(from reader: inout FieldReader) throws(WireError) {}
  package func append(to buffer: ByteBuffer) {}
}

/// A copy of one frame, for a monitor. The payload is the whole frame.
package struct Traffic: FrameFields {
  package static let kind = FrameKind.traffic

  /// Microseconds since 1970, UTC.
  package var time: UInt64
  package var from: ConnectionID
  /// The receiver; the bus if there was no single receiver.
  package var to: ConnectionID
  /// The number of receivers.
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
