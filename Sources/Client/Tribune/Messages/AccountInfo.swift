// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// What a user has, and may have, of something that all users of the bus share.
public struct AccountInfo: Hashable, Sendable {
  /// The user's id.
  public var uid: UInt32
  /// As how many users this one counts (`Share=`), from 1 to 1000.
  public var weight: Int
  /// Whether this is root, or the user that runs the bus: such a user may have all that others leave, and a sixteenth is
  /// kept for them.
  public var isPrivileged: Bool
  /// `connections`, `descriptors`, `partial-frames`, `log`, `retained`, `registrations`, `protocols`, `queues` or
  /// `unread-files`. Later versions can have more.
  public var resource: String
  /// What the user has: bytes of `partial-frames`, `log`, `retained` and `queues`, and a number of the others. It can be
  /// more than the share, which shrinks when others take some.
  public var used: Int
  /// What the user may have at the moment.
  public var share: Int
  /// What all users may have together.
  public var total: Int
}

extension AccountInfo {
  init(_ entry: AccountEntry) {
    self.init(
      uid: entry.uid, weight: Int(entry.weight), isPrivileged: entry.isPrivileged, resource: entry.resource,
      used: Int(clamping: entry.used), share: Int(clamping: entry.share), total: Int(clamping: entry.total))
  }
}
