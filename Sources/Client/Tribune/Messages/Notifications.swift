// SPDX-License-Identifier: Apache-2.0

/// The notifications of an observation.
///
/// **Its buffer.** The connection reads from the bus even if its readers are slow. Each sequence buffers unread
/// deliveries: at most the observation's limit, 4,096 by default, and at most 64 MiB of userInfo, but always the
/// newest delivery. Beyond either limit, the oldest are dropped, and the next element reports their number as
/// ``Delivery/lost(_:)``. Losses on the bus are also reported. A dropped awaited notification has failed.
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

  /// Reads deliveries. If there are several iterators, each delivery goes to one of them.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let subscription: Subscription<Delivery>

    /// Nil after the end, and on cancellation.
    public mutating func next() async throws(TribuneError) -> Delivery? {
      try await subscription.stream.next()
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TribuneError) -> Delivery? { try await subscription.stream.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

  /// Ends the observation. The sequence delivers its buffer, then ends.
  public func cancel() async { subscription.cancel() }
}
