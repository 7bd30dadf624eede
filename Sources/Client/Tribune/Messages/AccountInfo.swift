// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A user's use and quota of a resource that all users of the bus share.
public struct AccountInfo: Hashable, Sendable {
  public var uid: UInt32
  /// The user's weight (`Share=`), from 1 to 1000.
  public var weight: Int
  /// True for root and the user that runs the bus. Such a user may use everything that others leave, and at least a
  /// sixteenth of `total`, which the bus reserves.
  public var isPrivileged: Bool
  /// The resource: `connections`, `descriptors`, `partial-frames`, `log`, `retained`, `registrations`, `protocols`,
  /// `queues` or `unread-files`. Later versions may add resources.
  public var resource: String
  /// How much the user uses: bytes of `partial-frames`, `log`, `retained` and `queues`, a number of other resources.
  /// The use can exceed `share`, which shrinks when other users take more.
  public var used: Int
  /// How much the user may use at the moment, in the same unit.
  public var share: Int
  /// How much all users together may use, in the same unit.
  public var total: Int
}

extension AccountInfo {
  init(_ entry: AccountEntry) {
    self.init(
      uid: entry.uid, weight: Int(entry.weight), isPrivileged: entry.isPrivileged, resource: entry.resource,
      used: Int(clamping: entry.used), share: Int(clamping: entry.share), total: Int(clamping: entry.total))
  }
}
