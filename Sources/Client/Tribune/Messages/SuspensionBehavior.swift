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
  /// None is delivered, and none is reported as lost.
  case drop
  /// All are delivered after the suspension. The bus buffers at most 1 MiB for a connection, unless configured
  /// otherwise; beyond that, it drops the oldest and reports them as ``Delivery/lost(_:)``.
  case hold
  /// All are delivered at once, each after the notifications that are already buffered.
  case deliverImmediately = "immediately"
}
