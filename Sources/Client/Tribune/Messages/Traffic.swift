// SPDX-License-Identifier: Apache-2.0

/// One frame that passed over the bus, as a monitor sees it.
public struct TrafficItem: Sendable, CustomStringConvertible {
  /// The content of the frame besides its name, object and userInfo.
  public enum Content: Sendable, CustomStringConvertible {
    /// A notification, with its options beyond plain delivery, as short texts.
    case post(wishes: [String])
    /// A query for permission; a nil deadline is the bus's default; with a nil override, vetoes count.
    case ask(
      mode: Mode, deadline: Duration?, fallback: Verdict.Decision, parent: UInt64?, override: String?,
      isDryRun: Bool)
    /// A query for a value, or for all values; a nil deadline is the bus's default.
    case query(collectsAll: Bool, deadline: Duration?, parent: UInt64?)
    /// A query, as it is put to one delegate.
    case question(
      query: UInt64, delegate: UInt64, timeout: Duration, asker: Asker, isDryRun: Bool, wantsValue: Bool)
    case answer(query: UInt64, delegate: UInt64, Answer)
    /// A delegate asks for more time.
    case deferral(query: UInt64, delegate: UInt64, by: Duration, status: String)
    /// A report to the asker of the query's progress with one delegate.
    case progress(Progress)
    case verdict(Verdict)
    /// A report to a delegate of how a query has ended.
    case concluded(Conclusion, delegate: UInt64)
    /// The bus refuses a frame; the code is the protocol's, by its name or, if it has none, its number.
    case refusal(code: String, message: String)
    /// This many notifications to the receiver were dropped.
    case loss(Int)
    /// Any other frame, as text; empty if the kind says all.
    case other(String)
  }

  /// Microseconds since 1970, UTC.
  public var time: UInt64
  /// The sender, `:N`; nil for the bus itself.
  public var from: String?
  /// The receiver, `:N`; nil when it went to no single connection.
  public var to: String?
  public var receivers: Int
  /// The kind of frame: `post`, `ask`, `question`, `answer`, `defer`, `progress`, `verdict`, `concluded` …
  public var kind: String
  /// The sender's serial of the frame, or of what it refers to.
  public var serial: UInt64
  /// The name that it carries; empty if none.
  public var name: String
  /// The object that it carries; empty if none.
  public var object: String
  public var content: Content
  /// The `traffic` frame in which the bus showed it, as it was on the wire: the header, the time, sender and
  /// receiver, and then the frame itself.
  public let capture: [UInt8]
  /// The offsets of the frame and of its payload in `capture`.
  let frameStart: Int
  let payloadStart: Int

  /// The frame as it was on the wire, header included.
  public var bytes: ArraySlice<UInt8> { capture[frameStart...] }

  /// The payload that it carries.
  public var userInfo: UserInfo { UserInfo(capture[payloadStart...]) }
}

/// An element of a monitor's traffic: a frame, or a report of missed ones.
public enum TrafficDelivery: Sendable {
  /// A frame that passed.
  case item(TrafficItem)
  /// This many frames were dropped at this place in the stream because they were not read in time.
  case lost(Int)
  /// The connection was interrupted at this place in the stream, and an unknown number of frames was missed.
  case interrupted
}

/// The traffic on the bus.
///
/// Buffers at most 4,096 unread items, of 64 MiB together; beyond that, the oldest are dropped, which the next
/// element reports as ``TrafficDelivery/lost(_:)``. Throws when the connection is lost for good, and ends without an
/// error after ``Connection/close()`` or `cancel()`. Monitoring ends when nothing refers to the sequence any more.
public struct Traffic: AsyncSequence, Sendable {
  public typealias Element = TrafficDelivery
  public typealias Failure = TribuneError

  let subscription: Subscription<TrafficDelivery>

  /// Reads elements. Several iterators share them: each element goes to one of them.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let subscription: Subscription<TrafficDelivery>

    /// The next element; nil after the end, and when the task is cancelled.
    public mutating func next() async throws(TribuneError) -> TrafficDelivery? {
      try await subscription.stream.next()
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TribuneError) -> TrafficDelivery? { try await subscription.stream.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

  /// Ends monitoring; the sequence ends after what it has buffered.
  public func cancel() async { subscription.cancel() }
}
