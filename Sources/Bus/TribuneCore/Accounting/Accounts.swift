// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The accounts of all users: how much of each shared resource a user has, and may have.
///
/// A user may have as much as the total leaves beside all other users, divided by the number of users who have some, and
/// one more. So something is left whatever the others take: of users who take all they may, the first has a half, the
/// second a sixth, and the kth one kth of one (k + 1)th. This is the formula of dbus-broker's accounts. A user with a
/// weight counts as that many users.
///
/// A sixteenth of each total is for privileged users alone, who may have all that is left. What a user has is never taken
/// away again: more is refused.
///
/// An account lasts while anything is charged to it. Empty accounts are removed only when the number of accounts has
/// doubled since the last time, so that looking at all of them costs little.
package final class Accounts {
  /// Of all users together.
  private struct Sums {
    var totals = Amounts(each: .max >> 16)
    var used = Amounts()
    /// The weights of the users who have some.
    var weights = Amounts()
  }

  private let sums = Cell(Sums())
  private var accounts: [UInt32: UserAccount] = [:]
  /// The weights of users that count as more than one.
  private var weights: [UInt32: Int] = [:]
  private let privileged: Set<UInt32>
  /// The accounts with connections that have ended and are still charged.
  private var closingAccounts: [UserAccount] = []
  /// The number of accounts at which empty ones are removed next.
  private var tidyCount = 64

  package init(privileged: Set<UInt32> = []) { self.privileged = privileged }

  /// The account of a user, opened if there is none.
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

  /// Accounts to which anything is charged, in the order of their users.
  package var nonEmpty: [UserAccount] {
    accounts.values.filter { !$0.isEmpty }.sorted { $0.uid < $1.uid }
  }

  /// Applies the totals and weights of `limits`.
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

  /// What all users together may have of a resource, and what they have.
  package func total(of resource: SharedResource) -> Int { sums.value.totals[resource] }
  package func used(_ resource: SharedResource) -> Int { sums.value.used[resource] }

  /// What privileged users have.
  package func usedByPrivileged(_ resource: SharedResource) -> Int {
    privileged.reduce(0) { $0 + (accounts[$1]?.uses[resource] ?? 0) }
  }

  /// What all users but privileged ones may have together of a resource: the last sixteenth is root's.
  package func totalBesideRoot(of resource: SharedResource) -> Int {
    total(of: resource) - total(of: resource) / 16
  }

  /// How many resources anything is used of, without what clients leave behind when they go.
  package var usedResourceCount: Int {
    SharedResource.allCases.count { $0 != .retained && sums.value.used[$0] > 0 }
  }

  /// Charges an amount, even if it is more than the account's share.
  ///
  /// - Parameter amount: negative to release what was charged.
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

  /// How much of a resource a user may have in all.
  package func share(of resource: SharedResource, for account: UserAccount) -> Int {
    let use = account.uses[resource]
    let total = sums.value.totals[resource]
    let others = sums.value.used[resource] - use
    guard !account.isPrivileged else { return max(0, total - others) }
    let othersWeight = sums.value.weights[resource] - (use > 0 ? account.weight : 0)
    let left = totalBesideRoot(of: resource) - others
    return max(0, left * account.weight / (othersWeight + account.weight + 1))
  }

  /// How much of a resource a user may have while no other has any.
  package func loneShare(of resource: SharedResource, for account: UserAccount) -> Int {
    guard !account.isPrivileged else { return total(of: resource) }
    return totalBesideRoot(of: resource) * account.weight / (account.weight + 1)
  }

  /// What detached connections have does not count here.
  ///
  /// - Parameters:
  ///   - amount: to be charged next.
  ///   - uncounted: of what is charged to the account, how much does not count here.
  /// - Throws: `limitExceeded`, `tooManyConnections` or `outOfMemory`, as the resource requires, if the account would have
  ///   more than its share.
  package func require(
    _ amount: Int, of resource: SharedResource, for account: UserAccount, leavingOut uncounted: Int = 0
  ) throws(WireError) {
    let use = account.uses[resource] - account.charges.detached[resource] - uncounted
    // What does not count in the share takes room all the same.
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

  /// Whether a user may have that much more than its share: root keeps its sixteenth, and the other users an eighth.
  func leavesEnough(_ amount: Int, of resource: SharedResource) -> Bool { leaves(8, amount, of: resource) }

  /// Whether that much more leaves root its sixteenth, and the other users `part` of all.
  private func leaves(_ part: Int, _ amount: Int, of resource: SharedResource) -> Bool {
    used(resource) + amount <= totalBesideRoot(of: resource) - total(of: resource) / part
  }

  /// Whether a user has more than its share of a resource: others have taken some since.
  package func isOverShare(of resource: SharedResource, _ account: UserAccount) -> Bool {
    account.uses[resource] > share(of: resource, for: account)
  }

  // MARK: Connections

  /// Charges a connection that has ended until its socket is closed: any thread may close it, and then changes
  /// `unclosedConnections`.
  package func chargeUnclosedConnection(to account: UserAccount) {
    if account.charges.closingCount == 0 { closingAccounts.append(account) }
    account.charges.closingCount += 1
    account.descriptors.unclosedConnections.change(by: 1)
    charge(1, of: .connections, to: account)
  }

  /// Releases the charges of connections that are closed by now. Looks at no account that has none.
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

  /// Charges the descriptors under way, which any thread may release.
  package func countDescriptors() {
    for account in accounts.values {
      charge(account.descriptors.held.current - account.uses[.descriptors], of: .descriptors, to: account)
    }
  }

  /// - Throws: `limitExceeded` if a user may not have `amount` more descriptors under way.
  package func requireDescriptors(_ amount: Int, of user: UserAccount) throws(WireError) {
    countDescriptors()
    try require(amount, of: .descriptors, for: user)
  }
}
