// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Reports the result of an observer's work on an awaited notification.
///
/// The poster continues when all its awaited observers have reported, or at its deadline. Only the first call counts;
/// releasing the last reference without a call reports a failure. If several sequences of a connection receive it, the
/// poster gets one report after the last of them: a failure if any failed. This object does not keep the connection
/// open, whose end is reported as ``AwaitedReply/Missing/Kind/gone``.
public final class Acknowledgement: Sendable {
  private let notification: AwaitedNotification
  private let isFinished = Atomic(false)

  init(of notification: AwaitedNotification) { self.notification = notification }

  deinit { finish("the observer released the notification without an acknowledgement") }

  /// Never waits.
  public func done() { finish(nil) }

  /// - Parameter reason: for the poster; truncated at 4,096 bytes.
  public func failed(_ reason: String) { finish(reason) }

  private func finish(_ failure: String?) {
    if isFinished.exchange(true, ordering: .relaxed) { return }
    notification.finish(failure)
  }
}
