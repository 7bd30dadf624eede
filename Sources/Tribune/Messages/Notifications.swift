// SPDX-License-Identifier: Apache-2.0

/// What an observation brings.
///
/// Holds at most as many deliveries that were not read as the observation's limit says, and at most 64 MiB of
/// their userInfo; the oldest are dropped first, which the next element tells as ``Delivery/lost(_:)``. Ends by throwing when the
/// connection is lost, and cleanly after ``Connection/close()`` or ``cancel()``. The observation ends when
/// nothing refers to the sequence any more.
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
