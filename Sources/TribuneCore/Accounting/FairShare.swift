// SPDX-License-Identifier: Apache-2.0

/// How much of something limited each user has, and may have.
///
/// A user may have as much as the total leaves beside all other users, divided by the number of users and one more. So
/// something is left whatever the others take: of users that take all they may, the first has a half of the total, the
/// second a sixth, and the kth one kth of one (k + 1)th. This is the formula of dbus-broker's accounts.
///
/// A privileged user may have all that is left. A sixteenth of the total is for privileged users alone.
package struct FairShare: Sendable {
  /// Why a user has too much.
  package enum Excess: Equatable, Sendable {
    /// All users together have more than the total.
    case total
    /// The user has more than its share.
    case share(Int)
  }

  /// By the user's id. No entry is zero.
  private var uses: [UInt32: Int] = [:]
  private var used = 0

  package init() {}

  package func use(of user: UInt32) -> Int { uses[user] ?? 0 }

  /// The user that has most, and how much; nil if nobody has any.
  package var largest: (user: UInt32, use: Int)? {
    // Of users that have as much, the same one each time.
    uses.max { ($0.value, $1.key) < ($1.value, $0.key) }.map { ($0.key, $0.value) }
  }

  /// What all users have together.
  package var total: Int { used }

  package mutating func charge(_ amount: Int = 1, to user: UInt32) {
    guard amount > 0 else { return }
    uses[user, default: 0] += amount
    used += amount
  }

  package mutating func release(_ amount: Int = 1, of user: UInt32) {
    guard amount > 0 else { return }
    let left = use(of: user) - amount
    precondition(left >= 0, "more is released than is charged to user \(user)")
    uses[user] = left == 0 ? nil : left
    used -= amount
  }

  /// Whether a user has too much, after a charge; nil if it has not.
  package func excess(of user: UInt32, total: Int, isPrivileged: Bool) -> Excess? {
    guard used <= total else { return .total }
    guard !isPrivileged else { return nil }
    let use = use(of: user)
    let share = (total - total / 16 - (used - use)) / (uses.count + 1)
    return use <= share ? nil : .share(max(0, share))
  }
}
