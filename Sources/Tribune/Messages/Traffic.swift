// SPDX-License-Identifier: Apache-2.0

/// One frame that passed over the bus, as a monitor sees it.
public struct TrafficItem: Sendable, CustomStringConvertible {
  /// What the frame says, besides its name, object and userInfo.
  public enum Content: Sendable, CustomStringConvertible {
    /// A notification; what its poster wants done with it besides having it delivered, a word or a few for each.
    case post(wishes: [String])
    /// A query for leave; a nil deadline is the bus's default, a nil override that vetoes count.
    case ask(
      mode: Mode, deadline: Duration?, fallback: Verdict.Decision, parent: UInt64?, override: String?,
      isDryRun: Bool)
    /// A query for a value, or for all values there are; a nil deadline is the bus's default.
    case query(collectsAll: Bool, deadline: Duration?, parent: UInt64?)
    /// A query, as it is put to one delegate.
    case question(
      query: UInt64, delegate: UInt64, timeout: Duration, asker: Asker, isDryRun: Bool, wantsValue: Bool)
    /// What a delegate says.
    case answer(query: UInt64, delegate: UInt64, Answer)
    /// A delegate asks for more time.
    case deferral(query: UInt64, delegate: UInt64, by: Duration, status: String)
    /// The asker is told how the query goes on with one delegate.
    case progress(Progress)
    /// What came of a query.
    case verdict(Verdict)
    /// A delegate is told how a query has ended.
    case concluded(Conclusion, delegate: UInt64)
    /// The bus refuses a frame; the code is that of the protocol, by its name or else its number.
    case refusal(code: String, message: String)
    /// So many notifications were dropped for the one that it is sent to.
    case loss(Int)
    /// Anything else, in words; empty if its kind says all.
    case other(String)
  }

  /// Microseconds since 1970, UTC.
  public var time: UInt64
  /// Who sent it, `:N`; nil for the bus itself.
  public var from: String?
  /// Whom it went to, `:N`; nil when it went to no single connection.
  public var to: String?
  /// How many received it.
  public var receivers: Int
  /// The kind of frame: `post`, `ask`, `question`, `answer`, `defer`, `progress`, `verdict`, `concluded` …
  public var kind: String
  /// The sender's own number for the frame, or for what it refers to.
  public var serial: UInt64
  /// The name that it carries; empty if none.
  public var name: String
  /// The object that it carries; empty if none.
  public var object: String
  /// What it says.
  public var content: Content
  /// The `traffic` frame with which the bus showed it, as it was on the wire: the header, when it passed, who sent
  /// it to whom, and behind that the frame itself.
  public let capture: [UInt8]
  /// Where the frame begins in `capture`, and its payload.
  let frameStart: Int
  let payloadStart: Int

  /// The frame as it was on the wire, header included.
  public var bytes: ArraySlice<UInt8> { capture[frameStart...] }

  /// The payload that it carries.
  public var userInfo: UserInfo { UserInfo(capture[payloadStart...]) }
}

/// What a monitor receives next: something that passed, or the news that it has missed some.
public enum TrafficDelivery: Sendable {
  /// A frame that passed.
  case item(TrafficItem)
  /// So much was dropped at this place in the stream because it was not read in time.
  case lost(Int)
  /// The connection was interrupted at this place in the stream, and how much was missed nobody knows.
  case interrupted
}

/// What passes over the bus.
///
/// Holds at most 4,096 items that were not read, of 64 MiB together; the oldest are dropped first, which
/// the next element tells as ``TrafficDelivery/lost(_:)``. Ends by throwing when the connection is lost,
/// and cleanly after ``Connection/close()`` or `cancel()`. Monitoring ends when nothing refers to the
/// sequence any more.
public struct Traffic: AsyncSequence, Sendable {
  /// What passes, or a gap in it.
  public typealias Element = TrafficDelivery
  /// Why it ended.
  public typealias Failure = TribuneError

  let subscription: Subscription<TrafficDelivery>

  /// Reads what passes. Several iterators share it: each element goes to one of them.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let subscription: Subscription<TrafficDelivery>

    /// The next that passes; nil after the end, and when the task is cancelled.
    public mutating func next() async throws(TribuneError) -> TrafficDelivery? {
      try await subscription.stream.next()
    }

    /// The next that passes; nil after the end, and when the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TribuneError) -> TrafficDelivery? {
      try await subscription.stream.next()
    }
  }

  /// Starts reading.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

  /// Ends monitoring; the sequence ends behind what it already holds.
  public func cancel() async { subscription.cancel() }
}
