// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Reports the result of an observer's work on an awaited notification.
///
/// The poster continues when all its awaited observers have reported, or at its deadline. Only the first call of
/// ``done()`` or ``failed(_:)`` counts. Releasing the last reference without a call reports a failure.
///
/// If several sequences of a connection receive the notification, the poster gets one report, once all of them have
/// reported. That report is a failure if any sequence failed.
///
/// This object does not keep the connection open. If the connection ends first, the poster's reply has
/// ``AwaitedReply/Missing/Kind/gone`` for this connection.
public final class Acknowledgement: Sendable {
  private let notification: AwaitedNotification
  private let isFinished = Atomic(false)

  init(of notification: AwaitedNotification) { self.notification = notification }

  deinit { finish("the observer released the notification without an acknowledgement") }

  /// Reports success. Never waits.
  public func done() { finish(nil) }

  /// Reports a failure. Never waits.
  ///
  /// - Parameter reason: the reason for the poster, truncated at 4,096 bytes.
  public func failed(_ reason: String) { finish(reason) }

  private func finish(_ failure: String?) {
    if isFinished.exchange(true, ordering: .relaxed) { return }
    notification.finish(failure)
  }
}
