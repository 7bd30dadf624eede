// SPDX-License-Identifier: Apache-2.0

/// What happens to an observation's notifications while its connection is suspended, as in Cocoa's
/// NSDistributedNotificationCenter.
///
/// If several observations of a connection match a notification, the observation whose behavior comes first in this
/// list decides: ``deliverImmediately``, ``hold``, ``coalesce``, ``drop``. The raw values are the words of
/// `tribunectl`.
public enum SuspensionBehavior: String, Hashable, Sendable, CaseIterable {
  /// After the suspension, only the last notification of each name and object is delivered, in the order of these
  /// posts.
  case coalesce
  /// None is delivered, which is not a loss.
  case drop
  /// All are delivered after resuming. The bus buffers 1 MiB for a connection (a setting); beyond that, it drops the
  /// oldest and reports them as ``Delivery/lost(_:)``.
  case hold
  /// All are delivered at once, each after the buffered ones.
  case deliverImmediately = "immediately"
}
