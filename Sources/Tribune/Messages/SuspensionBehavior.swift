// SPDX-License-Identifier: Apache-2.0

/// What becomes of an observation's notifications while its connection is suspended, as with Cocoa's
/// NSDistributedNotificationCenter.
///
/// When several observations of a connection match a notification, the one that wants most decides:
/// ``deliverImmediately`` before ``hold`` before ``coalesce`` before ``drop``. The raw values are the words
/// that `tribunectl` uses.
public enum SuspensionBehavior: String, Hashable, Sendable, CaseIterable {
  /// The last of each name and object is delivered after resuming, at the place of that last one.
  case coalesce
  /// They are not received, which is no loss.
  case drop
  /// All are delivered after resuming. What the bus has no room for (1 MiB for a connection, a setting) is
  /// dropped, the oldest first, and told with ``Delivery/lost(_:)``.
  case hold
  /// They are delivered all the same, each behind what is held.
  case deliverImmediately = "immediately"
}
