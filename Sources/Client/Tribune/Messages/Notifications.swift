// SPDX-License-Identifier: Apache-2.0

/// The sequence of an observation's notifications.
///
/// **Where deliveries wait.** Unread deliveries wait in the sequence, up to the observation's limit (4,096 by
/// default). Further deliveries wait on the bus: the library tells the bus how many notifications the
/// sequence still has room for. If the observer is slow, the bus slows the posters down. If this does not
/// help, the bus drops the oldest notifications and reports their number as ``Delivery/lost(_:)``.
///
/// The bus sends notifications to a connection only while all sequences of the connection have room. If a new
/// sequence has a smaller limit than the older ones, it can exceed this limit at first: the bus may already
/// send as many notifications as the older sequences have room for.
///
/// **When the connection is interrupted.** After the library has reconnected, the sequence continues. It
/// reports missed notifications as ``Delivery/lost(_:)``, or as ``Delivery/interrupted`` if the number is
/// unknown. If the observation includes retained notifications, they come again
/// (``Notification/isRetained``). A reader that keeps the last notification of each name and object is then
/// up to date. Acknowledgements of notifications from before the interruption have no effect: for their
/// posters, this connection is ``AwaitedReply/Missing/Kind/gone``.
///
/// **When the sequence ends.** If the connection ends with an error, the sequence delivers what waits in it,
/// then throws the error. After ``Connection/close()`` or ``cancel()``, the sequence delivers what waits in
/// it, and ends without an error. Releasing the last reference to the sequence ends the observation.
public struct Notifications: AsyncSequence, Sendable {
  public typealias Element = Delivery
  public typealias Failure = TribuneError

  let subscription: Subscription<Delivery>

  /// The number of retained notifications that the bus found for this observation. If the observation has one
  /// pattern, they come before all other notifications. Some of them can be lost.
  ///
  /// After a reconnection, the number also includes the retained notifications that come again. If the
  /// observation has several patterns, a retained notification counts once for each pattern that it matches.
  /// The library delivers the notification once. When an extra copy arrives, the library subtracts the copy
  /// from this number.
  public var retainedCount: Int { subscription.stream.retainedCount }

  /// Reads deliveries. If there are several iterators, each delivery goes to one of them.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let subscription: Subscription<Delivery>

    /// Returns the next delivery. Returns nil after the end of the sequence, or if the task is cancelled.
    public mutating func next() async throws(TribuneError) -> Delivery? {
      try await subscription.next()
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TribuneError) -> Delivery? { try await subscription.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

  /// True if a delivery waits in this process.
  package var hasNext: Bool { subscription.stream.hasNext }

  /// The next delivery if one waits in this process, else nil. Costs less than a suspension of the task.
  package func nextWaiting() -> Delivery? { subscription.nextWaiting() }

  /// Ends the observation. The sequence delivers what waits in it, then ends.
  public func cancel() async { subscription.cancel() }
}
