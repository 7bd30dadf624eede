// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// The connections that receive lists: those of privileged users first, then those of other users in turns.
struct ListTurns {
  private var accounts: [UserAccount] = []
  private var sessions: [UInt32: [Session]] = [:]

  var isEmpty: Bool { accounts.isEmpty }

  mutating func append(_ session: Session) {
    if sessions[session.account.uid] == nil { append(session.account) }
    sessions[session.account.uid, default: []].append(session)
  }

  mutating func removeNext() -> Session {
    let account = accounts.removeFirst()
    guard var rest = sessions.removeValue(forKey: account.uid) else {
      preconditionFailure("user \(account.uid) has a turn, and no list")
    }
    let session = rest.removeFirst()
    if !rest.isEmpty {
      sessions[account.uid] = rest
      append(account)
    }
    return session
  }

  private mutating func append(_ account: UserAccount) {
    let unprivileged = account.isPrivileged ? accounts.firstIndex { !$0.isPrivileged } : nil
    accounts.insert(account, at: unprivileged ?? accounts.count)
  }
}
