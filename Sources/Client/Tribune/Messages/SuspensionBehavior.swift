// SPDX-License-Identifier: Apache-2.0

/// The treatment of an observation's notifications while its connection is suspended, as in Cocoa's
/// NSDistributedNotificationCenter.
///
/// If several observations of a connection match a notification, the observation whose behavior comes first
/// in this list decides: ``deliverImmediately``, ``hold``, ``coalesce``, ``drop``. The raw values are the
/// words that `tribunectl` accepts.
public enum SuspensionBehavior: String, Hashable, Sendable, CaseIterable {
  /// After the suspension, the bus delivers only the last notification of each name and object, in the order
  /// of posting.
  case coalesce
  /// The bus drops all notifications, and does not report them as lost.
  case drop
  /// The bus delivers all notifications after the suspension. It buffers at most `BufferMax=` (1 MiB) for a
  /// connection, drops the oldest beyond this limit, and reports them as ``Delivery/lost(_:)``.
  case hold
  /// The bus delivers each notification at once, after those that it has buffered for the connection.
  case deliverImmediately = "immediately"
}
