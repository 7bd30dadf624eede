// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A handle by which an observer reports the result of its work on an awaited notification.
///
/// The poster waits until all awaited observers have reported, or until its deadline. Only the first call of
/// ``done()`` or ``failed(_:)`` counts. Releasing this object without a call reports a failure.
///
/// If several sequences of one connection receive the notification, the library sends one report, after all
/// sequences have reported. This report is a failure if any sequence reported a failure.
///
/// This object does not keep the connection open. If the connection ends before the report, the poster's
/// reply has ``AwaitedReply/Missing/Kind/gone`` for this connection.
public final class Acknowledgement: Sendable {
  private let notification: AwaitedNotification
  private let isFinished = Atomic(false)

  init(of notification: AwaitedNotification) { self.notification = notification }

  deinit { finish("the observer released the notification without an acknowledgement") }

  /// Reports success. Never waits.
  public func done() { finish(nil) }

  /// Reports a failure. Never waits.
  ///
  /// - Parameter reason: the reason that the poster gets, truncated at 4,096 bytes.
  public func failed(_ reason: String) { finish(reason) }

  private func finish(_ failure: String?) {
    if isFinished.exchange(true, ordering: .relaxed) { return }
    notification.finish(failure)
  }
}
