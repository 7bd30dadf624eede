// SPDX-License-Identifier: Apache-2.0

/// A frame on the bus, as a monitor sees it.
public struct TrafficItem: Sendable, CustomStringConvertible {
  public enum Content: Sendable, CustomStringConvertible {
    /// A notification. Each option that the post sets is a short text in `wishes`.
    case post(wishes: [String])
    /// A query for permission. If `deadline` is nil, the bus's default applies. If `override` is nil, the
    /// asker does not override vetoes.
    case ask(
      mode: Mode, deadline: Duration?, fallback: Verdict.Decision, parent: UInt64?, override: String?,
      isDryRun: Bool)
    /// A query for the first value, or for all values. If `deadline` is nil, the bus's default applies.
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
    /// The bus refuses a frame. The code is the wire protocol's name for the error, or an unknown number.
    case refusal(code: String, message: String)
    case loss(Int)
    /// Any other frame, as text. The text is empty if ``TrafficItem/kind`` is enough.
    case other(String)
  }

  /// The time at which the bus saw the frame, in microseconds since 1970, UTC.
  public var time: UInt64
  /// The id of the sender's connection, such as `:7`; nil for the bus itself.
  public var from: String?
  /// The id of the receiver's connection, such as `:7`. Nil for a frame to the bus, and for a post, unless
  /// the bus had buffered the post for a suspended connection.
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
  /// The bytes of the `traffic` frame in which the bus sent this frame to the monitor: header, time, sender,
  /// receiver and number of receivers, then this frame.
  public let capture: [UInt8]
  /// The offset of this frame in `capture`; `payloadStart` is the offset of this frame's payload.
  let frameStart: Int
  let payloadStart: Int

  /// The bytes of this frame, including its header.
  public var bytes: ArraySlice<UInt8> { capture[frameStart...] }

  public var userInfo: UserInfo { UserInfo(capture[payloadStart...]) }
}

/// An element of a monitor's traffic: a frame, or a report of missed frames.
public enum TrafficDelivery: Sendable {
  case item(TrafficItem)
  /// At this position, the bus dropped this many frames, because the client read too slowly.
  case lost(Int)
  /// At this position, the connection was interrupted, and missed an unknown number of frames.
  case interrupted
}

/// The sequence of a monitor's frames.
///
/// The sequence has at most 4,096 unread items. While it is full, the bus sends nothing to any sequence of
/// the connection. Monitoring ends with the connection, or with the last reference to the sequence.
public struct Traffic: AsyncSequence, Sendable {
  public typealias Element = TrafficDelivery
  public typealias Failure = TribuneError

  let subscription: Subscription<TrafficDelivery>

  /// Reads elements. If there are several iterators, each element goes to one of them.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let subscription: Subscription<TrafficDelivery>

    /// Returns the next element. Returns nil after the end of the sequence, or if the task is cancelled.
    public mutating func next() async throws(TribuneError) -> TrafficDelivery? {
      try await subscription.next()
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TribuneError) -> TrafficDelivery? { try await subscription.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

  /// Ends monitoring. The sequence delivers what waits in it, then ends.
  public func cancel() async { subscription.cancel() }
}
