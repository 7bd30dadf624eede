// SPDX-License-Identifier: Apache-2.0

/// A frame on the bus, as a monitor sees it.
public struct TrafficItem: Sendable, CustomStringConvertible {
  public enum Content: Sendable, CustomStringConvertible {
    /// A notification, with the options that it sets, as short texts.
    case post(wishes: [String])
    /// A query for permission. If `deadline` is nil, the bus's default applies. If `override` is nil, vetoes count.
    case ask(
      mode: Mode, deadline: Duration?, fallback: Verdict.Decision, parent: UInt64?, override: String?,
      isDryRun: Bool)
    /// A query for a value, or for all values. If `deadline` is nil, the bus's default applies.
    case query(collectsAll: Bool, deadline: Duration?, parent: UInt64?)
    /// A query, as the bus puts it to one delegate.
    case question(
      query: UInt64, delegate: UInt64, timeout: Duration, asker: Asker, isDryRun: Bool, wantsValue: Bool)
    case answer(query: UInt64, delegate: UInt64, Answer)
    case deferral(query: UInt64, delegate: UInt64, by: Duration, status: String)
    /// The bus tells the asker about the query's progress with one delegate.
    case progress(Progress)
    case verdict(Verdict)
    /// The bus tells a delegate how the query ended.
    case concluded(Conclusion, delegate: UInt64)
    /// The bus refuses a frame. The code is the name of the protocol's error, or an unknown number.
    case refusal(code: String, message: String)
    case loss(Int)
    /// Any other frame, as text. The text is empty if the kind says enough.
    case other(String)
  }

  /// The time at which the bus saw the frame, in microseconds since 1970, UTC.
  public var time: UInt64
  /// The id of the sender's connection, such as `:7`; nil for the bus itself.
  public var from: String?
  /// The id of the receiver's connection, such as `:7`; nil unless the frame went to a single connection.
  public var to: String?
  public var receivers: Int
  /// The kind of frame: `post`, `ask`, `question`, `answer`, `defer`, `progress`, `verdict`, `concluded` …
  public var kind: String
  /// The serial that the sender gave to the frame, or the serial of the frame to which this one refers.
  public var serial: UInt64
  /// The name in the frame; may be empty.
  public var name: String
  /// The object in the frame; may be empty.
  public var object: String
  public var content: Content
  /// The `traffic` frame that brought the frame to this monitor, as it was on the wire: header, time, sender and
  /// receiver, then the frame itself.
  public let capture: [UInt8]
  /// The offsets of the frame and of its payload in `capture`.
  let frameStart: Int
  let payloadStart: Int

  /// The frame as it was on the wire, including its header.
  public var bytes: ArraySlice<UInt8> { capture[frameStart...] }

  public var userInfo: UserInfo { UserInfo(capture[payloadStart...]) }
}

/// An element of a monitor's traffic: a frame, or a report of missed ones.
public enum TrafficDelivery: Sendable {
  case item(TrafficItem)
  /// The bus dropped this many frames here, because the connection fell behind.
  case lost(Int)
  /// The connection was interrupted here, and an unknown number of frames was missed.
  case interrupted
}

/// The traffic on the bus.
///
/// Like ``Notifications``, the sequence shares the room of its connection, and ends with the connection or with the
/// last reference to the sequence. At most 4,096 unread items wait in it.
public struct Traffic: AsyncSequence, Sendable {
  public typealias Element = TrafficDelivery
  public typealias Failure = TribuneError

  let subscription: Subscription<TrafficDelivery>

  /// Reads elements. If there are several iterators, each element goes to one of them.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let subscription: Subscription<TrafficDelivery>

    /// Returns the next element; nil after the end, and if the task is cancelled.
    public mutating func next() async throws(TribuneError) -> TrafficDelivery? {
      try await subscription.next()
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TribuneError) -> TrafficDelivery? { try await subscription.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

  /// Ends monitoring. The sequence delivers its buffer, then ends.
  public func cancel() async { subscription.cancel() }
}
