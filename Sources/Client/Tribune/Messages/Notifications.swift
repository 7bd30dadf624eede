// SPDX-License-Identifier: Apache-2.0

/// The notifications of an observation.
///
/// **Where deliveries wait.** Unread deliveries wait in the sequence, up to the observation's limit, 4,096 by default.
/// Further ones wait on the bus. The connection tells the bus how many notifications it has room for, so the connection
/// drops no notifications. The bus slows the posters down for a slow observer. If that does not help, the bus drops the
/// oldest notifications and reports their number as ``Delivery/lost(_:)``.
///
/// All sequences of a connection share its room: the bus sends nothing to a connection while one of its sequences is
/// full. If you create another sequence later, with a smaller limit, it may at first exceed this limit: the bus may
/// still send as many notifications as the old sequences had room for.
///
/// **When the connection is interrupted.** The sequence continues over the next connection. It reports missed
/// notifications as ``Delivery/lost(_:)``, or as ``Delivery/interrupted`` if the number is unknown. An observation with
/// retained notifications delivers these again (``Notification/isRetained``), so a reader that keeps the last
/// notification of each name and object is up to date. Acknowledgements of earlier notifications have no effect: the
/// posters already learned ``AwaitedReply/Missing/Kind/gone`` for this connection.
///
/// **When the sequence ends.** If the connection ends with an error, the sequence throws it. After
/// ``Connection/close()`` or ``cancel()``, the sequence delivers its buffer and ends without an error. Releasing the
/// last reference to the sequence ends the observation.
public struct Notifications: AsyncSequence, Sendable {
  public typealias Element = Delivery
  public typealias Failure = TribuneError

  let subscription: Subscription<Delivery>

  /// The number of retained notifications that the bus found for this observation. They come first, except lost ones.
  ///
  /// After a reconnection, the number also includes the retained notifications that come again. A notification that
  /// matches two patterns counts twice until its second copy has come, and then once.
  public var retainedCount: Int { subscription.stream.retainedCount }

  /// Reads deliveries. If there are several iterators, each delivery goes to one of them.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let subscription: Subscription<Delivery>

    /// Returns the next delivery; nil after the end, and if the task is cancelled.
    public mutating func next() async throws(TribuneError) -> Delivery? {
      try await subscription.next()
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TribuneError) -> Delivery? { try await subscription.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

  /// True if an element waits in this process.
  package var hasNext: Bool { subscription.stream.hasNext }

  /// Ends the observation. The sequence delivers its buffer, then ends.
  public func cancel() async { subscription.cancel() }
}
