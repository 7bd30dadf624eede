// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How an observer says that it has done what an awaited notification waits for.
///
/// The poster goes on when everybody it waits for has said so, or at its deadline. The first call counts,
/// later ones change nothing; without any, letting go of the last reference counts as having failed. When
/// several sequences of one connection have received the notification, the bus is told once, when each has
/// said how it went: it has failed if one of them has. A connection that ends first is told to the poster
/// as gone: this does not keep it.
public final class Acknowledgement: Sendable {
  private let notification: AwaitedNotification
  private let isSettled = Atomic(false)

  init(of notification: AwaitedNotification) { self.notification = notification }

  deinit { settle("the acknowledgement was let go") }

  /// Says that it is done. Never waits.
  public func done() { settle(nil) }

  /// Says that it could not be done.
  ///
  /// - Parameter reason: why, which the poster is told; cut at 4,096 bytes.
  public func failed(_ reason: String) { settle(reason) }

  private func settle(_ failure: String?) {
    if isSettled.exchange(true, ordering: .relaxed) { return }
    notification.settle(failure)
  }
}
