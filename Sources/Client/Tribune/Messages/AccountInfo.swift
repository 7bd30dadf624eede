// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A user's use and quota of a resource that all users of the bus share.
public struct AccountInfo: Hashable, Sendable {
  public var uid: UInt32
  /// The user's weight (`Share=`), from 1 to 1000.
  public var weight: Int
  /// True for root and the user that runs the bus: such a user may use everything that others leave, and at least a
  /// reserved sixteenth.
  public var isPrivileged: Bool
  /// `connections`, `descriptors`, `partial-frames`, `log`, `retained`, `registrations`, `protocols`, `queues` or
  /// `unread-files`. Later versions may add resources.
  public var resource: String
  /// Bytes of `partial-frames`, `log`, `retained` and `queues`; a number of the others. It can exceed the share,
  /// which shrinks when others take some.
  public var used: Int
  /// How much the user may have at the moment.
  public var share: Int
  /// Of all users together.
  public var total: Int
}

extension AccountInfo {
  init(_ entry: AccountEntry) {
    self.init(
      uid: entry.uid, weight: Int(entry.weight), isPrivileged: entry.isPrivileged, resource: entry.resource,
      used: Int(clamping: entry.used), share: Int(clamping: entry.share), total: Int(clamping: entry.total))
  }
}
