// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The use and the quota of one user, for a resource that all users of the bus share.
public struct AccountInfo: Hashable, Sendable {
  public var uid: UInt32
  /// The user's weight (`Share=`), from 1 to 1000.
  public var weight: Int
  /// True for root and the user that runs the bus. Such a user may use everything that other users leave. The
  /// bus reserves a sixteenth of `total` for these users.
  public var isPrivileged: Bool
  /// The resource: `connections`, `descriptors`, `partial-frames`, `log`, `retained`, `registrations`,
  /// `protocols`, `queues` or `unread-files`. Later versions may add resources.
  public var resource: String
  /// The user's use: bytes for `partial-frames`, `log`, `retained` and `queues`, a count for other resources.
  /// The use can exceed `share`, because `share` shrinks when other users take more.
  public var used: Int
  /// The current limit of `used`.
  public var share: Int
  /// The limit for all users together, in the unit of `used`.
  public var total: Int
}

extension AccountInfo {
  init(_ entry: AccountEntry) {
    self.init(
      uid: entry.uid, weight: Int(entry.weight), isPrivileged: entry.isPrivileged, resource: entry.resource,
      used: Int(clamping: entry.used), share: Int(clamping: entry.share), total: Int(clamping: entry.total))
  }
}
