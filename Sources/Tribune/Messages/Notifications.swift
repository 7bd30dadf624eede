// SPDX-License-Identifier: Apache-2.0

/// What an observation brings.
///
/// **What it holds.** The connection goes on reading from the bus however slow its readers are, and each
/// sequence holds what was not read: at most as many deliveries as the observation's limit says, 4,096 if
/// it does not, and at most 64 MiB of their userInfo, but the newest in any case. Past either, the oldest
/// are dropped first, and the next element tells how many, as ``Delivery/lost(_:)``: no loss is silent,
/// whether it happened here, on the bus because this process did not read, or while the connection was
/// suspended. One that is dropped and that its poster waits for has failed, because it was not read in
/// time.
///
/// **When the connection is interrupted.** It goes on over the next. What was missed in between is told with
/// ``Delivery/lost(_:)``, or with ``Delivery/interrupted`` if nobody knows how many. An observation with what is
/// retained brings that once more, as it is by then (``Notification/isRetained``): so whoever keeps the last of each
/// is right again. What waits for an acknowledgement does so no longer: to its poster, this connection has gone.
///
/// **When it ends.** By throwing when the connection is lost for good, and cleanly after ``Connection/close()`` or
/// ``cancel()``, behind what it holds. The observation ends when nothing refers to the sequence any more.
public struct Notifications: AsyncSequence, Sendable {
  /// A notification, or a gap.
  public typealias Element = Delivery
  /// Why it ended.
  public typealias Failure = TribuneError

  let subscription: Subscription<Delivery>

  /// Reads deliveries. Several iterators share them: each delivery goes to one of them.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let subscription: Subscription<Delivery>

    /// The next delivery; nil after the end, and when the task is cancelled.
    public mutating func next() async throws(TribuneError) -> Delivery? {
      try await subscription.stream.next()
    }

    /// The next delivery; nil after the end, and when the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TribuneError) -> Delivery? {
      try await subscription.stream.next()
    }
  }

  /// Starts reading.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

  /// Takes the observation back; the sequence ends behind what it already holds.
  public func cancel() async { subscription.cancel() }
}
