// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The accounts of all users. The core charges the bytes that it keeps for a user; the server charges the descriptors
/// that the user has passed. Partial frames and queues are not charged.
///
/// An account lasts while anything is charged to it. Empty accounts are removed only when the number of accounts has
/// doubled since the last time, so that looking at all of them costs little.
package final class Accounts {
  private var accounts: [UInt32: UserAccount] = [:]
  /// The number of accounts at which empty ones are removed next.
  private var tidyCount = 64
  /// Bytes retained for all users.
  private var retainedByteCount = 0

  package init() {}

  /// The account of a user, opened if there is none.
  package func account(of uid: UInt32) -> UserAccount {
    if let account = accounts[uid] { return account }
    if accounts.count >= tidyCount {
      accounts = accounts.filter { !$0.value.isEmpty }
      tidyCount = max(64, 2 * accounts.count)
    }
    let account = UserAccount(uid: uid)
    accounts[uid] = account
    return account
  }

  /// Accounts to which anything is charged.
  var open: [UserAccount] { accounts.values.filter { !$0.isEmpty } }

  // MARK: Retained notifications

  /// Charges bytes for a notification to retain.
  ///
  /// - Parameter freed: bytes that will be released when it replaces another one.
  /// - Throws: `limitExceeded`.
  func chargeRetained(
    _ size: Int, to uid: UInt32, freeing freed: (uid: UInt32, size: Int)?, _ limits: BusLimits
  ) throws(WireError) {
    let ownFreed = freed?.uid == uid ? freed?.size ?? 0 : 0
    let account = account(of: uid)
    guard account.charges.retainedByteCount + size - ownFreed <= limits.retainedUserMax else {
      throw WireError(
        limit: "\(limits.retainedUserMax) bytes of retained notifications for user \(uid)",
        setting: "RetainedUserMax=")
    }
    guard retainedByteCount + size - (freed?.size ?? 0) <= limits.retainedMax else {
      throw WireError(
        limit: "\(limits.retainedMax) bytes of retained notifications for all users", setting: "RetainedMax=")
    }
    charge(size, to: account)
  }

  /// Charges bytes for a notification that another bus had retained, even beyond the limits.
  func chargeRestored(_ size: Int, to uid: UInt32) { charge(size, to: account(of: uid)) }

  private func charge(_ size: Int, to account: UserAccount) {
    account.charges.retainedByteCount += size
    retainedByteCount += size
  }

  func releaseRetained(_ size: Int, of uid: UInt32) {
    let account = account(of: uid)
    let left = account.charges.retainedByteCount - size
    precondition(
      left >= 0 && retainedByteCount >= size, "more bytes are released than are charged to user \(uid)")
    account.charges.retainedByteCount = left
    retainedByteCount -= size
  }
}
