// SPDX-License-Identifier: Apache-2.0

/// The notifications of an observation.
///
/// **What waits where.** Unread deliveries wait in the sequence, up to the observation's limit, 4,096 by default, and
/// further ones on the bus. The connection tells the bus how many notifications it has room for, so it drops none. The
/// bus slows the posters down for a slow observer, and drops the oldest notifications only if that does not help. It
/// reports their number as ``Delivery/lost(_:)``.
///
/// All sequences of a connection share its room: the bus sends nothing to a connection while one of its sequences is
/// full. A sequence that is created later with a smaller limit may first receive what the bus was allowed to send
/// before.
///
/// **When the connection is interrupted.** The sequence continues over the next connection. It reports missed
/// notifications as ``Delivery/lost(_:)``, or as ``Delivery/interrupted`` if the number is unknown. An observation
/// with retained notifications delivers them again (``Notification/isRetained``), so a reader that keeps the last of
/// each is up to date. Pending acknowledgements are void: for the posters, this connection has gone.
///
/// **When it ends.** It throws when the connection has ended with an error. After ``Connection/close()`` or
/// ``cancel()``, it delivers its buffer and ends without an error. Releasing the last reference to the sequence ends
/// the observation.
public struct Notifications: AsyncSequence, Sendable {
  public typealias Element = Delivery
  public typealias Failure = TribuneError

  let subscription: Subscription<Delivery>

  /// How many retained notifications the bus found for this observation. They come first, less those that are lost.
  /// After a reconnection, it has grown by those that come again. One that matches two patterns counts once, as soon as
  /// its second copy has come.
  public var retainedCount: Int { subscription.stream.retainedCount }

  /// Reads deliveries. If there are several iterators, each delivery goes to one of them.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let subscription: Subscription<Delivery>

    /// Nil after the end, and on cancellation.
    public mutating func next() async throws(TribuneError) -> Delivery? {
      try await subscription.next()
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TribuneError) -> Delivery? { try await subscription.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

  /// Whether an element waits in this process.
  package var hasNext: Bool { subscription.stream.hasNext }

  /// Ends the observation. The sequence delivers its buffer, then ends.
  public func cancel() async { subscription.cancel() }
}
