// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The accounts of all users. An account has the user's charges for each shared resource. `share` computes
/// the user's share.
///
/// A user's share is the part of the total that the other users leave, divided by n + 1. Here, n is the
/// number of users with charges, including this user. So a part of the total always remains for a further
/// user. If users take their whole shares one after another, the kth user gets 1/(k(k + 1)) of the total, as
/// in dbus-broker. A user of weight w counts as w users.
///
/// A sixteenth of each total is reserved for privileged users: root and the user that runs the bus.
/// Privileged users can also use all that the other users leave. If a share shrinks, the user keeps existing
/// allocations, and the bus refuses only new ones.
package final class Accounts {
  private struct Sums {
    var totals = Amounts(each: .max >> 16)
    var used = Amounts()
    var weights = Amounts()
  }

  private let sums = Cell(Sums())
  private var accounts: [UInt32: UserAccount] = [:]
  private var weights: [UInt32: Int] = [:]
  private let privileged: Set<UInt32>
  private var closingAccounts: [UserAccount] = []
  private var tidyCount = 64

  package init(privileged: Set<UInt32> = []) { self.privileged = privileged }

  package func account(of uid: UInt32) -> UserAccount {
    if let account = accounts[uid] { return account }
    if accounts.count >= tidyCount {
      accounts = accounts.filter { !$0.value.isEmpty }
      tidyCount = max(64, 2 * accounts.count)
    }
    let account = UserAccount(
      uid: uid, weight: weights[uid] ?? 1, isPrivileged: privileged.contains(uid))
    accounts[uid] = account
    return account
  }

  package var nonEmpty: [UserAccount] {
    accounts.values.filter { !$0.isEmpty }.sorted { $0.uid < $1.uid }
  }

  func apply(_ limits: BusLimits) {
    sums.value.totals = limits.totals
    guard weights != limits.weights else { return }
    weights = limits.weights
    sums.value.weights = Amounts()
    for account in accounts.values {
      account.weight = weights[account.uid] ?? 1
      for resource in SharedResource.allCases where account.uses[resource] > 0 {
        sums.value.weights[resource] += account.weight
      }
    }
  }

  // MARK: Charges

  package func total(of resource: SharedResource) -> Int { sums.value.totals[resource] }
  package func used(_ resource: SharedResource) -> Int { sums.value.used[resource] }

  package func usedByPrivileged(_ resource: SharedResource) -> Int {
    privileged.reduce(0) { $0 + (accounts[$1]?.uses[resource] ?? 0) }
  }

  /// The total without the sixteenth that is reserved for privileged users.
  package func unreservedTotal(of resource: SharedResource) -> Int {
    total(of: resource) - total(of: resource) / 16
  }

  package var usedResourceCount: Int {
    SharedResource.allCases.count { $0 != .retained && sums.value.used[$0] > 0 }
  }

  /// Charges the amount, even beyond the share. A negative amount releases a charge.
  @inline(__always) package func charge(
    _ amount: Int, of resource: SharedResource, to account: UserAccount
  ) {
    let before = account.uses[resource]
    let after = before + amount
    precondition(after >= 0, "more is released than is charged to a user")
    account.uses[resource] = after
    sums.value.used[resource] += amount
    if (before == 0) != (after == 0) {
      sums.value.weights[resource] += before == 0 ? account.weight : -account.weight
    }
  }

  package func charge(_ amount: Int, of resource: SharedResource, to user: UInt32) {
    charge(amount, of: resource, to: account(of: user))
  }

  package func share(of resource: SharedResource, for account: UserAccount) -> Int {
    let use = account.uses[resource]
    let total = sums.value.totals[resource]
    let others = sums.value.used[resource] - use
    guard !account.isPrivileged else { return max(0, total - others) }
    let othersWeight = sums.value.weights[resource] - (use > 0 ? account.weight : 0)
    let left = unreservedTotal(of: resource) - others
    return max(0, left * account.weight / (othersWeight + account.weight + 1))
  }

  /// The share that the user would have if other users had no charges.
  package func loneShare(of resource: SharedResource, for account: UserAccount) -> Int {
    guard !account.isPrivileged else { return total(of: resource) }
    return unreservedTotal(of: resource) * account.weight / (account.weight + 1)
  }

  /// Throws if the amount does not fit in the share. Ignores the charges of detached connections
  /// (`Bus.markDetached`).
  ///
  /// - Parameter uncounted: further charges of the user to ignore.
  package func require(
    _ amount: Int, of resource: SharedResource, for account: UserAccount, leavingOut uncounted: Int = 0
  ) throws(WireError) {
    let use = account.uses[resource] - account.charges.detached[resource] - uncounted
    // The comparison with the share ignores `uncounted`, but these charges still use a part of the total. So
    // after this charge, a sixteenth of the total must stay free, besides the sixteenth that is reserved for
    // privileged users. Privileged users need not leave it.
    let hasRoom = uncounted == 0 || account.isPrivileged || leaves(16, amount, of: resource)
    if hasRoom, use + amount <= share(of: resource, for: account) { return }
    throw refusal(
      of: amount, resource, to: account, having: hasRoom ? use : account.uses[resource], hasRoom: hasRoom)
  }

  private func refusal(
    of amount: Int, _ resource: SharedResource, to account: UserAccount, having use: Int, hasRoom: Bool
  ) -> WireError {
    let total = "\(total(of: resource)) \(resource.unit)\(resource.remedy)"
    let bound =
      hasRoom
      ? "its share is \(share(of: resource, for: account)) of \(total)"
      : "\(used(resource)) of \(total) are in use; the rest is kept for others"
    let more = amount > 1 ? " and wants \(amount) more" : ""
    let users = accounts.values.filter { $0.uses[resource] > 0 }
    let most = users.max { ($0.uses[resource], $1.uid) < ($1.uses[resource], $0.uid) }
    let largest = most.map { "; user \($0.uid) has most, \($0.uses[resource])" } ?? ""
    return WireError(
      resource.refusalCode,
      "user \(account.uid) has \(use)\(more), and \(bound)\(largest)")
  }

  /// True if a charge of this amount leaves an eighth of the total free, besides the sixteenth for privileged
  /// users.
  func leavesEnough(_ amount: Int, of resource: SharedResource) -> Bool { leaves(8, amount, of: resource) }

  private func leaves(_ part: Int, _ amount: Int, of resource: SharedResource) -> Bool {
    used(resource) + amount <= unreservedTotal(of: resource) - total(of: resource) / part
  }

  /// True if the user has more than its share. A share shrinks when other users take more.
  package func isOverShare(of resource: SharedResource, _ account: UserAccount) -> Bool {
    account.uses[resource] > share(of: resource, for: account)
  }

  // MARK: Connections

  /// Charges an ended connection whose socket is not closed yet. After the socket is closed, usually by
  /// another thread, `countConnections` releases the charge.
  package func chargeUnclosedConnection(to account: UserAccount) {
    if account.charges.closingCount == 0 { closingAccounts.append(account) }
    account.charges.closingCount += 1
    account.descriptors.unclosedConnections.change(by: 1)
    charge(1, of: .connections, to: account)
  }

  package func countConnections() {
    guard !closingAccounts.isEmpty else { return }
    closingAccounts.removeAll { account in
      let count = account.descriptors.unclosedConnections.current
      charge(count - account.charges.closingCount, of: .connections, to: account)
      account.charges.closingCount = count
      return count == 0
    }
  }

  // MARK: Descriptors

  /// Updates the charges for descriptors. Other threads release descriptors, but do not change the accounts.
  package func countDescriptors() {
    for account in accounts.values {
      charge(account.descriptors.held.current - account.uses[.descriptors], of: .descriptors, to: account)
    }
  }

  package func requireDescriptors(_ amount: Int, of user: UserAccount) throws(WireError) {
    countDescriptors()
    try require(amount, of: .descriptors, for: user)
  }
}
