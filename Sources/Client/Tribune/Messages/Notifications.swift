// SPDX-License-Identifier: Apache-2.0

/// The notifications of an observation.
///
/// **What it buffers.** The connection reads from the bus however slow its readers are, and each sequence buffers
/// what was not read: at most as many deliveries as the observation's limit, 4,096 by default, and at most 64 MiB of
/// their userInfo, but always the newest delivery. Beyond either limit, the oldest are dropped, and the next element
/// reports their number as ``Delivery/lost(_:)``. No loss is silent, whether it happened here, on the bus because
/// this process did not read, or while the connection was suspended. An awaited notification that is dropped has
/// failed, because it was not read in time.
///
/// **When the connection is interrupted.** The sequence continues over the next connection. It reports what was
/// missed as ``Delivery/lost(_:)``, or as ``Delivery/interrupted`` if the number is unknown. An observation with
/// retained notifications delivers them again, as they are by then (``Notification/isRetained``), so a reader that
/// keeps the last of each is up to date. Pending acknowledgements are void: to the posters, this connection has gone.
///
/// **When it ends.** It throws when the connection is lost for good, and ends without an error after
/// ``Connection/close()`` or ``cancel()``, after what it has buffered. The observation ends when nothing refers to
/// the sequence any more.
public struct Notifications: AsyncSequence, Sendable {
  public typealias Element = Delivery
  public typealias Failure = TribuneError

  let subscription: Subscription<Delivery>

  /// Reads deliveries. Several iterators share them: each delivery goes to one of them.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let subscription: Subscription<Delivery>

    /// The next delivery; nil after the end, and when the task is cancelled.
    public mutating func next() async throws(TribuneError) -> Delivery? {
      try await subscription.stream.next()
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TribuneError) -> Delivery? { try await subscription.stream.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

  /// Takes the observation back; the sequence ends after what it has buffered.
  public func cancel() async { subscription.cancel() }
}
