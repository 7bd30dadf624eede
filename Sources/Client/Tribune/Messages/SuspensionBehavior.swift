// SPDX-License-Identifier: Apache-2.0

/// The treatment of an observation's notifications while its connection is suspended, as with Cocoa's
/// NSDistributedNotificationCenter.
///
/// If several observations of a connection match a notification, the first of these decides: ``deliverImmediately``,
/// ``hold``, ``coalesce``, ``drop``. The raw values are the words of `tribunectl`.
public enum SuspensionBehavior: String, Hashable, Sendable, CaseIterable {
  /// After resuming, the last of each name and object is delivered, in the order of those last ones.
  case coalesce
  /// None is delivered, which is not a loss.
  case drop
  /// All are delivered after resuming. The bus buffers 1 MiB for a connection (a setting); beyond that, it drops the
  /// oldest and reports them as ``Delivery/lost(_:)``.
  case hold
  /// All are delivered at once, each after the buffered ones.
  case deliverImmediately = "immediately"
}
